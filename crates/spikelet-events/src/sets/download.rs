//! The archives of data sets.

use std::path::Path;

use crate::checksum::md5_of;
use crate::error::Result;

/// An archive of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Download {
    /// The name of the file.
    pub file: &'static str,
    /// The address of the file, if programs may get it; otherwise see [`EventSet::page`](super::EventSet::page).
    pub url: Option<&'static str>,
    /// The MD5 checksum; `None` if it is not published.
    pub md5: Option<&'static str>,
    /// Whether the recordings are only complete with it: false for annotations, and for another form of the recordings of
    /// the other archives.
    pub is_needed: bool,
}

/// The checksum of a file, and the published one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// The published one.
    Right,
    /// Another one than the published.
    Wrong {
        /// The checksum of the file.
        found: String,
        /// The published one.
        expected: &'static str,
    },
    /// None is published.
    NotPublished {
        /// The checksum of the file.
        found: String,
    },
}

impl Download {
    pub(super) const fn new(file: &'static str, md5: &'static str) -> Self {
        Self {
            md5: Some(md5),
            ..Self::without_checksum(file)
        }
    }

    pub(super) const fn without_checksum(file: &'static str) -> Self {
        Self {
            file,
            url: None,
            md5: None,
            is_needed: true,
        }
    }

    /// At an address.
    pub(super) const fn at(self, url: &'static str) -> Self {
        Self {
            url: Some(url),
            ..self
        }
    }

    /// Not needed for the recordings.
    pub(super) const fn optional(self) -> Self {
        Self {
            is_needed: false,
            ..self
        }
    }

    /// Compares the checksum of a file with the published one. `progress` is called with the bytes that were read, and all of
    /// them.
    ///
    /// ```
    /// use spikelet_events::{Checksum, EventSet};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("Train.zip");
    /// std::fs::write(&path, "an error page")?;
    /// let set = EventSet::find("n-mnist").expect("a known set");
    /// let checksum = set.downloads[0].check(&path, &mut |_, _| {})?;
    /// assert!(matches!(checksum, Checksum::Wrong { .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Open`](crate::ErrorKind::Open), [`ErrorKind::Read`](crate::ErrorKind::Read).
    pub fn check(
        &self,
        path: impl AsRef<Path>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Checksum> {
        let found = md5_of(path.as_ref(), progress)?;
        Ok(match self.md5 {
            Some(expected) if found == expected => Checksum::Right,
            Some(expected) => Checksum::Wrong { found, expected },
            None => Checksum::NotPublished { found },
        })
    }
}
