//! The errors of downloads.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::lines::lines;

/// A file that could not be downloaded from any mirror.
#[derive(Debug)]
#[non_exhaustive]
pub struct DownloadError {
    /// The file.
    pub file: String,
    /// The failure of each mirror, in the order of the attempts.
    pub attempts: Vec<Attempt>,
    /// The files to get by other means: this one and those that would have been downloaded after it.
    pub wanted: Vec<String>,
    /// The folder of these files.
    pub folder: PathBuf,
    /// Whether the file is an archive, to be unpacked in the folder.
    pub archive: bool,
}

/// The failure of one mirror.
#[derive(Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// The requested URL; the name itself for [`Failure::Name`].
    pub url: String,
    /// The failure.
    pub failure: Failure,
}

/// The reason why a download from a mirror failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The name is not that of a file in the folder, for example `../a`.
    #[error("this is not a file name without a folder")]
    Name,
    /// The server answered with an error such as 404.
    #[error("the server answered with status {status}")]
    Status {
        /// The HTTP status code.
        status: u16,
    },
    /// No connection, no answer in time, or an invalid answer.
    #[error("{0}")]
    Request(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The transfer was interrupted, or the data cannot be decompressed.
    #[error("the transfer was interrupted after {received} bytes: {source}")]
    Transfer {
        /// The number of received bytes.
        received: u64,
        /// The error of the reader.
        source: io::Error,
    },
    /// The content has the wrong length.
    #[error("{found} bytes of content{}, expected {expected}", if found > expected { " or more" } else { "" })]
    Length {
        /// The length found. Reading stops at the first excess byte.
        found: u64,
        /// The expected length.
        expected: u64,
    },
    /// The content has the wrong checksum.
    #[error("the content has the SHA-256 {found}, expected {expected}")]
    Checksum {
        /// The checksum of the received content.
        found: String,
        /// The expected checksum.
        expected: String,
    },
    /// The archive was received completely and cannot be unpacked.
    #[error("the archive cannot be unpacked: {0}")]
    Unpack(#[source] io::Error),
    /// The archive does not contain all files of the data set.
    #[error("the archive does not contain {}", missing.join(", "))]
    NotInArchive {
        /// The missing files.
        missing: Vec<String>,
    },
    /// The file cannot be written.
    #[error("cannot be written to {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl fmt::Display for DownloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempts = self
            .attempts
            .iter()
            .map(|attempt| format!("{}: {}", attempt.url, attempt.failure));
        write!(
            f,
            "`{}` could not be downloaded:\n{}",
            self.file,
            lines(attempts)
        )?;
        let folder = self.folder.display();
        if self.archive {
            return write!(
                f,
                "  help: get {} by other means and put the files in it, unpacked, into {folder}",
                self.wanted.join(", "),
            );
        }
        let wanted = self.wanted.iter().map(|name| format!("{name}.gz"));
        write!(
            f,
            "  help: get these files by other means and put them (compressed or not) into \
             {folder}\n{}",
            lines(wanted).trim_end_matches('\n'),
        )
    }
}

impl std::error::Error for DownloadError {}
