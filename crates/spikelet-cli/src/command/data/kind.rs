//! The kind of a file with recordings, by content.

use spikelet_events::pack::Pack;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The kinds of content that `spikelet data` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A recording, or something that cannot be opened.
    Recording,
    /// A pack of `spikelet data pack`.
    Pack,
    /// An HDF5 file of spiking audio.
    Audio,
    /// A folder.
    Folder,
}

impl Kind {
    /// The kind at a path. A pipe, which can be read only once, is a recording.
    pub fn of(path: &Path) -> Self {
        let found = path.metadata();
        match found {
            Ok(found) if found.is_dir() => return Self::Folder,
            Ok(found) if !found.is_file() => return Self::Recording,
            _ => {}
        }
        let extension = path.extension().and_then(|extension| extension.to_str());
        let mut start = vec![];
        // A file that cannot be read is an error of its reader.
        let _ = File::open(path).and_then(|file| file.take(8).read_to_end(&mut start));
        match extension {
            _ if Pack::is_start(&start) => Self::Pack,
            _ if start.starts_with(b"\x89HDF\r\n\x1a\n") => Self::Audio,
            Some("h5" | "hdf5") => Self::Audio,
            _ => Self::Recording,
        }
    }
}
