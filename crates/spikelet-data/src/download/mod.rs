//! Downloads a file from the first mirror that has it.
//!
//! A compressed file is decompressed while it is received. The content must have the known length and
//! SHA-256. It is written to a temporary file in the same folder, which is renamed when it is complete and
//! on the disk: a file under its final name is always complete, even if another process downloads it at the
//! same time or a download is interrupted. An archive is unpacked after it has been checked.

mod archive;
mod hub;
mod large;

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use ureq::http::Response;
use ureq::typestate::WithoutBody;
use ureq::{Body, RequestBuilder};

use crate::gz::Plain;
use crate::progress::Progress;
use crate::remote_file::{RemoteFile, hex};
use crate::temporary::temporary_in;

pub use crate::download_error::{Attempt, DownloadError, Failure};
pub use archive::fetch_archive;
#[doc(hidden)]
pub use archive::unpack_archive;
pub use hub::{HUB_SCHEME, Hub, HubError};
pub use large::fetch_large;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// The maximal number of bytes by which a transfer may be longer than the content: gzip makes
/// incompressible data slightly longer.
const TRANSFER_MARGIN: u64 = 1 << 16;

/// The encoding of a transferred file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transfer {
    /// Compressed; decompressed while it is received.
    Compressed,
    /// Not compressed, or not to be decompressed.
    AsIs,
}

/// Downloads `file` from the first of `mirrors` that has it, and writes it, decompressed, to `folder`, which
/// is created if it does not exist. Returns the path of the file.
///
/// A mirror is a URL to which the file's name and `.gz` are appended.
///
/// # Errors
/// [`DownloadError`] with the failure of each mirror if none of them has the file, or with
/// [`Failure::Name`] if its name is not that of a file in the folder.
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

/// Checks that names are those of files in a folder, not of files in other folders.
fn check_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), Vec<Attempt>> {
    let plain = |name: &str| {
        let mut parts = Path::new(name).components();
        let first = parts.next();
        // Compared with the full name: `a/` and `a/.` are refused too.
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

/// The result of `fetch` for the first mirror of `name` with which it succeeds.
fn from_mirrors<T>(
    mirrors: &[String],
    name: &str,
    fetch: impl Fn(&str) -> Result<T, Failure>,
) -> Result<T, Vec<Attempt>> {
    let url = |mirror: &String| {
        let slash = if mirror.ends_with('/') { "" } else { "/" };
        format!("{mirror}{slash}{name}")
    };
    let urls: Vec<String> = mirrors.iter().map(url).collect();
    from_urls(&urls, fetch)
}

/// The result of `fetch` for the first URL with which it succeeds.
fn from_urls<T>(
    urls: &[String],
    fetch: impl Fn(&str) -> Result<T, Failure>,
) -> Result<T, Vec<Attempt>> {
    let mut attempts = Vec::new();
    for url in urls {
        match fetch(url) {
            Ok(fetched) => return Ok(fetched),
            Err(failure) => {
                // Another mirror does not help if the disk is full.
                let local = matches!(failure, Failure::Write { .. });
                let url = url.clone();
                attempts.push(Attempt { url, failure });
                if local {
                    break;
                }
            }
        }
    }
    Err(attempts)
}

/// The checked content of `url` in a temporary file in `folder`.
fn receive_from(
    url: &str,
    file: &RemoteFile,
    transfer: Transfer,
    folder: &Path,
    progress: Progress,
) -> Result<NamedTempFile, Failure> {
    fs::create_dir_all(folder).map_err(|error| write_failed(folder, error))?;
    let mut partial =
        temporary_in(folder, ".download-").map_err(|error| write_failed(folder, error))?;

    let mut request = agent(url, Some(TOTAL_TIMEOUT)).get(url);
    if transfer == Transfer::AsIs {
        // Otherwise a server may declare the compression of the archive as that of the transfer.
        request = request.header("Accept-Encoding", "identity");
    }
    let response = answer_to(request)?;
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

/// The answer to a request.
fn answer_to(request: RequestBuilder<WithoutBody>) -> Result<Response<Body>, Failure> {
    request.call().map_err(|error| match error {
        ureq::Error::StatusCode(status) => Failure::Status { status },
        error => Failure::Request(Box::new(error)),
    })
}

/// Renames a complete file to its name in `folder`, after it is on the disk.
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

/// Copies `reader` to `partial`, decompressed if the transfer is compressed, and checks the content.
fn receive(
    reader: impl BufRead,
    transfer: Transfer,
    file: &RemoteFile,
    partial: &mut NamedTempFile,
    received: impl Fn() -> u64,
) -> Result<(), Failure> {
    let interrupted = |source| Failure::Transfer {
        received: received(),
        source,
    };
    let content = match transfer {
        Transfer::AsIs => Plain::raw(reader),
        // A server may declare the compression as that of the transfer: then the client decompresses it.
        Transfer::Compressed => Plain::new(reader).map_err(interrupted)?,
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
            Err(error) => return Err(interrupted(error)),
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

/// A client that waits for an answer, and for bytes, only so long, and in all at most `total`.
fn agent(url: &str, total: Option<Duration>) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .user_agent(concat!("spikelet/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(CONNECT_TIMEOUT))
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_recv_response(Some(SILENCE_TIMEOUT))
        .timeout_per_read(Some(SILENCE_TIMEOUT))
        .timeout_global(total);
    // A proxy from the environment cannot reach servers of this machine.
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
