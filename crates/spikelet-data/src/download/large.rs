//! Downloads of large archives, whose checksum is compared afterwards.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::{DownloadError, Failure, agent, bar, check_names, from_urls, put, write_failed};
use crate::progress::Progress;
use crate::temporary::temporary_in;

/// The largest archive: 1 TiB.
const MAX_BYTES: u64 = 1 << 40;

/// Downloads a file of any size from the first of `urls` that has it, and writes it to `folder`, which is created if it does
/// not exist. A file that is there is not downloaded again. Returns its path.
///
/// Its content is not known before: compare its checksum afterwards. A transfer that is interrupted leaves no file.
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
    let mut partial =
        temporary_in(folder, ".download-").map_err(|error| write_failed(folder, error))?;
    // Gigabytes take hours on slow lines: only silence ends the transfer.
    let agent = agent(url, None);
    let request = agent.get(url).header("Accept-Encoding", "identity");
    let response = request.call().map_err(|error| match error {
        ureq::Error::StatusCode(status) => Failure::Status { status },
        error => Failure::Request(Box::new(error)),
    })?;
    let body = response.into_body();
    let expected = body.content_length();
    let bar = bar(name, expected, progress);
    let mut reader = bar.wrap_read(body.into_reader()).take(MAX_BYTES);
    let mut buffer = vec![0; 1 << 18];
    let mut found = 0;
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
        if let Err(source) = partial.write_all(&buffer[..count]) {
            break Err(write_failed(partial.path(), source));
        }
        found += count as u64;
    };
    bar.finish_and_clear();
    result?;
    if let Some(expected) = expected.filter(|&expected| expected != found) {
        return Err(Failure::Length { found, expected });
    }
    put(partial, folder, name)
}
