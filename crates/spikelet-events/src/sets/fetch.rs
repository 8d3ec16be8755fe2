//! What a program does to get a data set: download the archives, then unpack each.

use std::path::Path;

use super::{Checksum, Download, EventSet};
use crate::error::{Error, ErrorKind, Result};
use crate::{Unpacked, unpack};

impl EventSet {
    /// The archives that have all recordings, each with an address. After each was downloaded, [`Self::unpack`] checks and
    /// unpacks it.
    ///
    /// ```
    /// use spikelet_events::EventSet;
    ///
    /// let set = EventSet::find("n-mnist").expect("a known set");
    /// let files: Vec<&str> = set.archives()?.iter().map(|archive| archive.file).collect();
    /// assert_eq!(files, ["Train.zip", "Test.zip"]);
    /// # Ok::<(), spikelet_events::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NoAddress`] if one can only be got with a browser.
    pub fn archives(&self) -> Result<Vec<&'static Download>> {
        let needed = || self.downloads.iter().filter(|download| download.is_needed);
        match needed().find(|download| download.url.is_none()) {
            None => Ok(needed().collect()),
            Some(download) => Err(ErrorKind::NoAddress {
                set: self.title,
                file: download.file,
                page: self.page,
            }
            .into()),
        }
    }

    /// Unpacks an archive of the set into a folder, with [`unpack()`]. If the file has the name of one of
    /// [`downloads`](Self::downloads), its checksum is compared before.
    ///
    /// `progress` is called with the bytes that were read, and all of them: twice those of the archive.
    ///
    /// # Errors
    /// [`ErrorKind::Checksum`]; those of [`unpack()`].
    pub fn unpack(
        &self,
        archive: impl AsRef<Path>,
        folder: impl AsRef<Path>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Unpacked> {
        let archive = archive.as_ref();
        let mut downloads = self.downloads.iter();
        let own = |download: &&Download| archive.file_name().is_some_and(|n| n == download.file);
        let mut before = 0;
        if let Some(download) = downloads.find(own).filter(|own| own.md5.is_some()) {
            let checksum = download.check(archive, &mut |done, all| {
                before = all;
                progress(done, 2 * all);
            })?;
            if let Checksum::Wrong { found, expected } = checksum {
                return Err(Error::from(ErrorKind::Checksum { found, expected }).in_file(archive));
            }
        }
        unpack(archive, folder, &mut |done, all| {
            progress(before + done, before + all);
        })
    }
}
