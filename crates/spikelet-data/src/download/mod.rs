//! Fetching a file from the first mirror that has it whole.
//!
//! A file arrives compressed, is decompressed on the way and must have exactly the known length
//! and SHA-256. It is written beside its place and moved there when it is complete and on the
//! disk, so that a file under its own name is always a good one, whoever else downloads or is
//! interrupted meanwhile. Of an archive nothing is unpacked before all of it has been checked.

mod archive;
mod error;

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::gz::Plain;
use crate::source::{RemoteFile, hex};

pub use archive::fetch_archive;
#[doc(hidden)]
pub use archive::unpack_archive;
pub use error::{Attempt, DownloadError, Failure};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// A transfer may be this much longer than the content: gzip adds a little to what it cannot
/// compress.
const TRANSFER_MARGIN: u64 = 1 << 16;

/// What to show while downloading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// Nothing.
    Quiet,
    /// A bar for each file on the standard error stream, if that is a terminal.
    #[default]
    Bar,
}

/// How a file that is fetched travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transfer {
    /// Compressed, and is decompressed on the way.
    Compressed,
    /// As it is.
    AsIs,
}

/// Fetches `file` from the first of `mirrors` that has it and puts it, uncompressed, into
/// `folder`, which is made if it is not there. Returns the path of the file.
///
/// A mirror is a URL to which the file's name and `.gz` are appended.
///
/// # Errors
/// [`DownloadError`] with each mirror's failure if none of them had the file, or with
/// [`Failure::Name`] if its name leads out of the folder.
pub fn fetch(
    file: &RemoteFile,
    mirrors: &[String],
    folder: &Path,
    progress: Progress,
) -> Result<PathBuf, DownloadError> {
    let checked = check_names([file.name.as_str()]);
    let result = checked.and_then(|()| {
        from_mirrors(mirrors, &format!("{}.gz", file.name), |url| {
            let arrived = receive_from(url, file, Transfer::Compressed, folder, progress)?;
            put(arrived, folder, &file.name)
        })
    });
    result.map_err(|attempts| DownloadError {
        file: file.name.clone(),
        attempts,
        wanted: vec![file.name.clone()],
        folder: folder.to_owned(),
        archive: false,
    })
}

/// Checks that names are those of files in a folder: they lead neither out of it nor below it.
fn check_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), Vec<Attempt>> {
    let plain = |name: &str| {
        let mut parts = Path::new(name).components();
        let first = parts.next();
        // The whole of it, so that `a/` and `a/.` are none either.
        matches!(first, Some(Component::Normal(part)) if part == name) && parts.next().is_none()
    };
    match names.into_iter().find(|name| !plain(name)) {
        None => Ok(()),
        Some(name) => Err(vec![Attempt {
            url: name.to_owned(),
            failure: Failure::Name,
        }]),
    }
}

/// What `fetch` makes of the first mirror of `name` with which it succeeds.
fn from_mirrors<T>(
    mirrors: &[String],
    name: &str,
    fetch: impl Fn(&str) -> Result<T, Failure>,
) -> Result<T, Vec<Attempt>> {
    let mut attempts = Vec::new();
    for mirror in mirrors {
        let slash = if mirror.ends_with('/') { "" } else { "/" };
        let url = format!("{mirror}{slash}{name}");
        match fetch(&url) {
            Ok(fetched) => return Ok(fetched),
            Err(failure) => {
                // Another mirror does not help a full disk.
                let hopeless = matches!(failure, Failure::Write { .. });
                attempts.push(Attempt { url, failure });
                if hopeless {
                    break;
                }
            }
        }
    }
    Err(attempts)
}

/// The checked content of `url` in a file without a name of its own yet, in `folder`.
fn receive_from(
    url: &str,
    file: &RemoteFile,
    transfer: Transfer,
    folder: &Path,
    progress: Progress,
) -> Result<NamedTempFile, Failure> {
    fs::create_dir_all(folder).map_err(|error| write_failed(folder, error))?;
    let mut partial = temporary_in(folder).map_err(|error| write_failed(folder, error))?;

    let mut request = agent(url).get(url);
    if transfer == Transfer::AsIs {
        // Else a server may take the archive's own compression for one that the transfer needs.
        request = request.header("Accept-Encoding", "identity");
    }
    let response = request
        .call()
        .map_err(|error| Failure::Request(Box::new(error)))?;
    let body = response.into_body();
    let bar = bar(&file.name, body.content_length(), progress);
    let received = bar.clone();
    let limited = bar
        .wrap_read(body.into_reader())
        .take(file.bytes.saturating_add(TRANSFER_MARGIN));
    let reader = BufReader::with_capacity(1 << 16, limited);
    let result = receive(reader, transfer, file, &mut partial, || received.position());
    bar.finish_and_clear();
    result?;
    Ok(partial)
}

/// Moves a complete file to its place in `folder`, once it is on the disk.
fn put(complete: NamedTempFile, folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    complete
        .as_file()
        .sync_all()
        .map_err(|error| write_failed(complete.path(), error))?;
    let path = folder.join(name);
    complete
        .persist(&path)
        .map_err(|error| write_failed(&path, error.error))?;
    Ok(path)
}

fn write_failed(path: &Path, source: io::Error) -> Failure {
    Failure::Write {
        path: path.to_owned(),
        source,
    }
}

/// Copies `reader` into `partial`, decompressed if it travels compressed, and checks what comes out.
fn receive(
    reader: impl BufRead,
    transfer: Transfer,
    file: &RemoteFile,
    partial: &mut NamedTempFile,
    received: impl Fn() -> u64,
) -> Result<(), Failure> {
    let broke_off = |source| Failure::Transfer {
        received: received(),
        source,
    };
    let content = match transfer {
        Transfer::AsIs => Plain::raw(reader),
        // A server may mark the file as compressed for the transfer only; then it arrives plain.
        Transfer::Compressed => Plain::new(reader).map_err(broke_off)?,
    };
    let mut content = content.take(file.bytes.saturating_add(1));
    let mut digest = Sha256::new();
    let mut found = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = match content.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(broke_off(error)),
        };
        found += count as u64;
        digest.update(&buffer[..count]);
        partial
            .write_all(&buffer[..count])
            .map_err(|source| write_failed(partial.path(), source))?;
    }
    if found != file.bytes {
        return Err(Failure::Length {
            found,
            expected: file.bytes,
        });
    }
    let sha256 = hex(&digest.finalize());
    if sha256 != file.sha256 {
        return Err(Failure::Checksum {
            found: sha256,
            expected: file.sha256.clone(),
        });
    }
    Ok(())
}

fn agent(url: &str) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .user_agent(concat!("spikelet/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(CONNECT_TIMEOUT))
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_recv_response(Some(SILENCE_TIMEOUT))
        .timeout_per_read(Some(SILENCE_TIMEOUT))
        .timeout_global(Some(TOTAL_TIMEOUT));
    // A proxy from the environment leads out; it does not know this machine's own servers.
    let config = if is_local(url) {
        config.proxy(None)
    } else {
        config
    };
    config.build().into()
}

fn is_local(url: &str) -> bool {
    let uri = url.parse::<ureq::http::Uri>();
    let host = uri.as_ref().ok().and_then(|uri| uri.host());
    matches!(host, Some("localhost" | "127.0.0.1" | "[::1]"))
}

fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".download-").suffix(".part");
    // Temporary files are private by default; a data set may be shared.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

fn bar(name: &str, bytes: Option<u64>, progress: Progress) -> ProgressBar {
    if progress == Progress::Quiet {
        return ProgressBar::hidden();
    }
    let (bar, template) = match bytes {
        Some(bytes) => (
            ProgressBar::new(bytes),
            "{msg}  {wide_bar} {bytes}/{total_bytes}  {bytes_per_sec}",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{msg}  {spinner} {bytes}  {bytes_per_sec}",
        ),
    };
    let style = ProgressStyle::with_template(template).expect("the templates above are valid");
    bar.with_style(style).with_message(name.to_owned())
}
