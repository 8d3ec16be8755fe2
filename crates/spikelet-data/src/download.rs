//! Fetching a file from the first mirror that has it whole.
//!
//! A file arrives compressed, is decompressed on the way and must have exactly the known length
//! and SHA-256. It is written beside its place and moved there when it is complete and on the
//! disk, so that a file under its own name is always a good one, whoever else downloads or is
//! interrupted meanwhile.

use std::fmt;
use std::fs;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::error::lines;
use crate::gz::Plain;

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

/// A file as it must be once it is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFile {
    /// Name of the uncompressed file; mirrors have it with `.gz` behind.
    pub name: String,
    /// Length of the uncompressed content, in bytes.
    pub bytes: u64,
    /// SHA-256 of the uncompressed content, in lower-case hexadecimal.
    pub sha256: String,
}

/// No mirror had a file.
#[derive(Debug)]
pub struct DownloadError {
    /// The file.
    pub file: String,
    /// What went wrong at each mirror, in the order in which they were tried.
    pub attempts: Vec<Attempt>,
    /// The files to get by other means: this one and those that would have been fetched after it.
    pub wanted: Vec<String>,
    /// The folder to put them into.
    pub folder: PathBuf,
}

/// One mirror's failure.
#[derive(Debug)]
pub struct Attempt {
    /// What was asked for.
    pub url: String,
    /// Why it is not here.
    pub failure: Failure,
}

/// Why a file could not be had from a mirror.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// No connection, no answer in time, or an answer such as 404.
    #[error("{0}")]
    Request(#[source] Box<ureq::Error>),
    /// The transfer broke off, or the data does not decompress.
    #[error("the transfer broke off after {received} bytes: {source}")]
    Transfer {
        /// Bytes that arrived.
        received: u64,
        /// What the reader said.
        source: io::Error,
    },
    /// The content is shorter or longer than the file is.
    #[error("{found} bytes of content{}, expected {expected}", if found > expected { " or more" } else { "" })]
    Length {
        /// Length found; reading stops at the first byte too many.
        found: u64,
        /// Length expected.
        expected: u64,
    },
    /// The content is not the file's.
    #[error("the content has the SHA-256 {found}, expected {expected}")]
    Checksum {
        /// Checksum of what arrived.
        found: String,
        /// Checksum expected.
        expected: String,
    },
    /// It could not be written.
    #[error("cannot be written to {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for DownloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempts = self
            .attempts
            .iter()
            .map(|attempt| format!("{}: {}", attempt.url, attempt.failure));
        let wanted = self.wanted.iter().map(|name| format!("{name}.gz"));
        write!(
            f,
            "`{}` could not be downloaded:\n{}  help: get these files by other means and put \
             them (compressed or not) into {}\n{}",
            self.file,
            lines(attempts),
            self.folder.display(),
            lines(wanted).trim_end_matches('\n'),
        )
    }
}

impl std::error::Error for DownloadError {}

/// Fetches `file` from the first of `mirrors` that has it and puts it, uncompressed, into
/// `folder`, which is made if it is not there. Returns the path of the file.
///
/// A mirror is a URL to which the file's name and `.gz` are appended.
///
/// # Errors
/// [`DownloadError`] with each mirror's failure if none of them had the file.
pub fn fetch(
    file: &RemoteFile,
    mirrors: &[String],
    folder: &Path,
    progress: Progress,
) -> Result<PathBuf, DownloadError> {
    let mut attempts = Vec::new();
    for mirror in mirrors {
        let slash = if mirror.ends_with('/') { "" } else { "/" };
        let url = format!("{mirror}{slash}{}.gz", file.name);
        match fetch_from(&url, file, folder, progress) {
            Ok(path) => return Ok(path),
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
    Err(DownloadError {
        file: file.name.clone(),
        attempts,
        wanted: vec![file.name.clone()],
        folder: folder.to_owned(),
    })
}

fn fetch_from(
    url: &str,
    file: &RemoteFile,
    folder: &Path,
    progress: Progress,
) -> Result<PathBuf, Failure> {
    let write_failed = |path: &Path, source| Failure::Write {
        path: path.to_owned(),
        source,
    };
    fs::create_dir_all(folder).map_err(|error| write_failed(folder, error))?;
    let mut partial = temporary_in(folder).map_err(|error| write_failed(folder, error))?;

    let response = agent(url)
        .get(url)
        .call()
        .map_err(|error| Failure::Request(Box::new(error)))?;
    let body = response.into_body();
    let bar = bar(&file.name, body.content_length(), progress);
    let received = bar.clone();
    let transfer = bar
        .wrap_read(body.into_reader())
        .take(file.bytes.saturating_add(TRANSFER_MARGIN));
    let result = receive(transfer, file, &mut partial, || received.position());
    bar.finish_and_clear();
    result?;

    partial
        .as_file()
        .sync_all()
        .map_err(|error| write_failed(partial.path(), error))?;
    let path = folder.join(&file.name);
    partial
        .persist(&path)
        .map_err(|error| write_failed(&path, error.error))?;
    Ok(path)
}

/// Copies and decompresses `transfer` into `partial` and checks what comes out.
fn receive(
    transfer: impl Read,
    file: &RemoteFile,
    partial: &mut NamedTempFile,
    received: impl Fn() -> u64,
) -> Result<(), Failure> {
    let broke_off = |source| Failure::Transfer {
        received: received(),
        source,
    };
    // A server may mark the file as compressed for the transfer only; then it arrives plain.
    let plain = Plain::new(BufReader::with_capacity(1 << 16, transfer)).map_err(broke_off)?;
    let mut plain = plain.take(file.bytes.saturating_add(1));
    let mut digest = Sha256::new();
    let mut found = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = match plain.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(broke_off(error)),
        };
        found += count as u64;
        digest.update(&buffer[..count]);
        partial
            .write_all(&buffer[..count])
            .map_err(|source| Failure::Write {
                path: partial.path().to_owned(),
                source,
            })?;
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

/// SHA-256 of `bytes` in lower-case hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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
