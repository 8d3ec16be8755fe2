//! Downloads of large archives, whose checksum is compared afterwards.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use ureq::Body;
use ureq::http::Response;

use super::{DownloadError, Failure, agent, answer_to, bar, check_names, from_urls, write_failed};
use crate::progress::Progress;
use crate::remote_file::sha256;
use crate::temporary::temporary_in;

/// The largest archive: 1 TiB.
const MAX_BYTES: u64 = 1 << 40;

/// Downloads a file of any size from the first of `urls` that has it, and writes it to `folder`, which is created if it does
/// not exist. A file that is there is not downloaded again. Returns its path.
///
/// Its content is not known before: compare its checksum afterwards. A transfer that is interrupted is continued by the next
/// one, if the server gives parts of files and names their versions; otherwise it leaves no file.
///
/// # Errors
/// [`DownloadError`] with the failure of each URL.
pub fn fetch_large(
    name: &str,
    urls: &[String],
    folder: &Path,
    progress: Progress,
) -> Result<PathBuf, DownloadError> {
    let failed = |attempts| DownloadError {
        file: name.to_owned(),
        attempts,
        wanted: vec![name.to_owned()],
        folder: folder.to_owned(),
        archive: true,
    };
    check_names([name]).map_err(failed)?;
    let path = folder.join(name);
    if path.is_file() {
        return Ok(path);
    }
    from_urls(urls, |url| receive(url, name, folder, progress)).map_err(failed)
}

fn receive(url: &str, name: &str, folder: &Path, progress: Progress) -> Result<PathBuf, Failure> {
    fs::create_dir_all(folder).map_err(|error| write_failed(folder, error))?;
    let mut response = request(url, None)?;
    let expected = response.body().content_length();
    let mut partial = Partial::create(folder, name, version(url, &response))?;
    let mut found = 0;
    if let (Some(version), true) = (&partial.version, partial.bytes > 0) {
        let rest = request(url, Some((partial.bytes, &version.tag)))?;
        if rest.status() == 206 && starts_at(&rest, partial.bytes) {
            (response, found) = (rest, partial.bytes);
        }
    }
    partial.cut(found)?;
    let bar = bar(name, expected, progress);
    bar.inc(found);
    let mut reader = bar
        .wrap_read(response.into_body().into_reader())
        .take(MAX_BYTES);
    let mut buffer = vec![0; 1 << 18];
    let result = loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(source) => {
                break Err(Failure::Transfer {
                    received: found,
                    source,
                });
            }
        };
        if let Err(source) = partial.file.write_all(&buffer[..count]) {
            break Err(write_failed(&partial.path, source));
        }
        found += count as u64;
    };
    bar.finish_and_clear();
    result?;
    if let Some(expected) = expected.filter(|&expected| expected != found) {
        return Err(Failure::Length { found, expected });
    }
    partial.put(&folder.join(name))
}

/// The answer for a file, or for its bytes from a position on if the server still has this version of it.
fn request(url: &str, rest: Option<(u64, &str)>) -> Result<Response<Body>, Failure> {
    // Gigabytes take hours on slow lines: only silence ends the transfer.
    let mut request = agent(url, None)
        .get(url)
        .header("Accept-Encoding", "identity");
    if let Some((from, tag)) = rest {
        request = request
            .header("Range", format!("bytes={from}-"))
            .header("If-Range", tag);
    }
    answer_to(request)
}

/// A version of a file on a server that gives parts of it.
struct Version {
    /// The server's name for the version.
    tag: String,
    /// A part of the name of the partial file: it belongs to this version of this address.
    digest: String,
}

/// The version of an answer; `None` if the server gives no parts, or does not name versions.
fn version(url: &str, response: &Response<Body>) -> Option<Version> {
    let header = |name: &str| response.headers().get(name)?.to_str().ok();
    let tag = header("ETag").filter(|tag| !tag.starts_with("W/"));
    let tag = tag.or_else(|| header("Last-Modified"))?.to_string();
    let length = response.body().content_length()?;
    (header("Accept-Ranges") == Some("bytes")).then_some(())?;
    let digest = sha256(format!("{url} {tag} {length}").as_bytes());
    let digest = digest[..16].to_string();
    Some(Version { tag, digest })
}

/// Whether an answer has the bytes from a position on.
fn starts_at(response: &Response<Body>, from: u64) -> bool {
    let range = response.headers().get("Content-Range");
    let range = range.and_then(|range| range.to_str().ok()?.strip_prefix("bytes "));
    range.and_then(|range| range.split('-').next()?.parse().ok()) == Some(from)
}

/// A file that is received. If the server gives parts of it, it stays for the next attempt when the transfer ends early.
struct Partial {
    file: File,
    path: PathBuf,
    /// The bytes that an earlier attempt received.
    bytes: u64,
    version: Option<Version>,
    is_whole: bool,
}

impl Partial {
    fn create(folder: &Path, name: &str, version: Option<Version>) -> Result<Self, Failure> {
        let failed = |error| write_failed(folder, error);
        let own = version
            .as_ref()
            .map(|version| format!(".{name}.{}.part", version.digest));
        remove_others(folder, name, own.as_deref());
        if let (Some(own), Some(version)) = (own, version) {
            let path = folder.join(own);
            let mut options = OpenOptions::new();
            let file = options
                .create(true)
                .append(true)
                .open(&path)
                .map_err(failed)?;
            // Another process may be receiving the same file.
            if file.try_lock().is_ok() {
                return Ok(Self {
                    bytes: file.metadata().map_err(failed)?.len(),
                    file,
                    path,
                    version: Some(version),
                    is_whole: false,
                });
            }
        }
        let (file, path) = temporary_in(folder, ".download-")
            .map_err(failed)?
            .into_parts();
        Ok(Self {
            file,
            path: path.keep().map_err(|error| failed(error.error))?,
            bytes: 0,
            version: None,
            is_whole: false,
        })
    }

    /// Removes the bytes behind a position.
    fn cut(&mut self, bytes: u64) -> Result<(), Failure> {
        let cut = self.file.set_len(bytes);
        cut.map_err(|error| write_failed(&self.path, error))
    }

    /// Renames the complete file, after it is on the disk.
    fn put(mut self, path: &Path) -> Result<PathBuf, Failure> {
        let synced = self.file.sync_all();
        synced.map_err(|error| write_failed(&self.path, error))?;
        fs::rename(&self.path, path).map_err(|error| write_failed(path, error))?;
        self.is_whole = true;
        Ok(path.to_owned())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_whole && self.version.is_none() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes what was received of other versions of a file, unless a process is receiving it.
fn remove_others(folder: &Path, name: &str, own: Option<&str>) {
    let prefix = format!(".{name}.");
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let file = entry.file_name();
        let is_other = file.to_str().is_some_and(|file| {
            file.starts_with(&prefix) && file.ends_with(".part") && Some(file) != own
        });
        let path = entry.path();
        if is_other && File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(path);
        }
    }
}
