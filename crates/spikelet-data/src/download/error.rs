//! Why a file did not arrive.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::error::lines;

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
    /// Whether the file is an archive that is to be unpacked there.
    pub archive: bool,
}

/// One mirror's failure.
#[derive(Debug)]
pub struct Attempt {
    /// What was asked for; the name itself for [`Failure::Name`].
    pub url: String,
    /// Why it is not here.
    pub failure: Failure,
}

/// Why a file could not be had from a mirror.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// What was asked for is not the name of a file in the folder, such as `../a`.
    #[error("this is not the plain name of a file")]
    Name,
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
    /// The archive came whole, but cannot be unpacked.
    #[error("it arrived, but cannot be unpacked: {0}")]
    Unpack(#[source] io::Error),
    /// The archive came whole, but files that belong in it are not there.
    #[error("it arrived, but has no {}", missing.join(", "))]
    NotInArchive {
        /// The files.
        missing: Vec<String>,
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
