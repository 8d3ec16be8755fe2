//! Formats of files, by content.

use std::fmt;
use std::path::Path;

use crate::arrays::zip;

use crate::error::{Error, ErrorKind, Result};
use crate::source::FileSource;

const EXPECTED: &str = "a NIR graph (HDF5), a PyTorch checkpoint, safetensors, .npz or .npy";

/// The bytes that tell a format: a record of tar.
const START: usize = 512;

/// The first bytes of an HDF5 file.
const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";

/// The first bytes of a NumPy array.
const NPY: &[u8] = b"\x93NUMPY";

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// NIR: an HDF5 file.
    Nir,
    /// `torch.save` since PyTorch 1.6: a zip archive with a pickle and storages.
    TorchZip,
    /// `torch.save` before PyTorch 1.6: pickles and storages one after the other.
    TorchStream,
    /// `torch.save` of PyTorch 0.1: a tar archive.
    TorchTar,
    /// Safetensors.
    Safetensors,
    /// NumPy's archive of arrays.
    Npz,
    /// A single array of NumPy.
    Npy,
}

impl Format {
    /// The format of a file. Its name does not matter.
    ///
    /// # Errors
    /// [`ErrorKind::Open`]; [`ErrorKind::Format`] if the content is of none of these formats.
    ///
    /// ```
    /// use spikelet_weights::Format;
    ///
    /// let file = tempfile::NamedTempFile::new()?;
    /// std::fs::write(file.path(), b"\x02\0\0\0\0\0\0\0{}")?;
    /// assert_eq!(Format::detect(file.path())?, Format::Safetensors);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detect(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let open = || Self::of(&FileSource::open(path)?);
        open().map_err(|error: Error| error.in_file(path))
    }

    /// The format of the bytes of a file.
    ///
    /// # Errors
    /// As [`Format::detect`].
    pub fn of(source: &FileSource) -> Result<Self> {
        let start = source.start(0, START)?;
        if start.is_empty() {
            return Err(unknown("an empty file"));
        }
        if is_hdf5(source)? {
            return Ok(Self::Nir);
        }
        if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
            let entries = zip::entries(source)?;
            let has = |ending: &str| entries.iter().any(|entry| entry.name.ends_with(ending));
            return Ok(match !has("/data.pkl") && has(".npy") {
                true => Self::Npz,
                false => Self::TorchZip,
            });
        }
        if start.get(257..262) == Some(b"ustar") {
            return Ok(Self::TorchTar);
        }
        if start.starts_with(NPY) {
            return Ok(Self::Npy);
        }
        // A pickle of protocol 2 or later; `{` follows the length of the header of safetensors.
        if start[0] == 0x80
            && start.get(1).is_some_and(|&protocol| protocol < 16)
            && start.get(8) != Some(&b'{')
        {
            return Ok(Self::TorchStream);
        }
        if start.get(8) == Some(&b'{') {
            return Ok(Self::Safetensors);
        }
        let known: [(&[u8], &str); 4] = [
            (b"\x7fELF", "a program (ELF)"),
            (b"\x1f\x8b", "compressed with gzip"),
            (b"{", "text (JSON)"),
            (b"<", "text (HTML or XML)"),
        ];
        let own = known.iter().find(|(magic, _)| start.starts_with(magic));
        Err(unknown(
            own.map_or("a file of an unknown format", |(_, name)| name),
        ))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nir => "an HDF5 file (NIR)",
            Self::TorchZip | Self::TorchStream | Self::TorchTar => "a PyTorch checkpoint",
            Self::Safetensors => "safetensors",
            Self::Npz => "an archive of NumPy arrays (.npz)",
            Self::Npy => "a single NumPy array (.npy)",
        })
    }
}

fn unknown(found: &str) -> Error {
    ErrorKind::Format {
        found: found.into(),
        expected: EXPECTED,
        help: "unpack or export it to one of these formats",
    }
    .into()
}

/// Whether the signature is at the start, or behind a user block of 512 bytes and more.
fn is_hdf5(source: &FileSource) -> Result<bool> {
    let mut offset = 0;
    while offset < source.len() {
        if source.start(offset, HDF5.len())? == HDF5 {
            return Ok(true);
        }
        offset = if offset == 0 { 512 } else { 2 * offset };
    }
    Ok(false)
}
