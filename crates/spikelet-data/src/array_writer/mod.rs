//! Arrays written to `.npz` and safetensors files in pieces.

mod npz;
mod safetensors;

use spikelet_schema::Schema;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// A format of files of named arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrayFormat {
    /// `.npz` of NumPy, not compressed.
    Npz,
    /// safetensors.
    Safetensors,
}

impl ArrayFormat {
    /// The format of a path that ends with `.npz` or `.safetensors`; otherwise `None`.
    ///
    /// ```
    /// use spikelet_data::ArrayFormat;
    /// assert_eq!(ArrayFormat::of_path("spikes.npz"), Some(ArrayFormat::Npz));
    /// assert_eq!(ArrayFormat::of_path("spikes.safetensors"), Some(ArrayFormat::Safetensors));
    /// assert_eq!(ArrayFormat::of_path("spikes.mat"), None);
    /// ```
    #[must_use]
    pub fn of_path(path: impl AsRef<Path>) -> Option<Self> {
        let ending = path.as_ref().extension()?.to_str()?;
        match ending.to_ascii_lowercase().as_str() {
            "npz" => Some(Self::Npz),
            "safetensors" => Some(Self::Safetensors),
            _ => None,
        }
    }
}

/// The type of the elements of a written array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Schema)]
pub enum ArrayType {
    /// Bytes.
    U8,
    /// 64-bit integers.
    I64,
    /// 32-bit floating point.
    F32,
}

impl ArrayType {
    /// The bytes of an element.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::F32 => 4,
            Self::I64 => 8,
        }
    }
}

/// The description of an array in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArraySpec {
    /// Its name, which no other array of the file has.
    pub name: String,
    /// The type of its elements.
    pub element: ArrayType,
    /// The size of each axis; row-major.
    pub shape: Vec<usize>,
}

impl ArraySpec {
    /// The bytes of its elements.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let sizes = self.shape.iter().map(|size| *size as u64);
        sizes.fold(self.element.bytes(), u64::saturating_mul)
    }
}

/// Writes arrays whose shapes are known to a file, each in any number of pieces and in any order, so that they need
/// not fit into memory. Elements that are not written are 0.
///
/// ```
/// use spikelet_data::{ArrayFiles, ArrayFormat, ArraySpec, ArrayType, ArrayWriter, Dataset};
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("some.npz");
/// let spec = ArraySpec { name: "x".to_string(), element: ArrayType::U8, shape: vec![2, 3] };
/// let file = std::fs::File::options().read(true).write(true).create_new(true).open(&path)?;
/// let mut writer = ArrayWriter::new(file, ArrayFormat::Npz, vec![spec])?;
/// writer.write(0, 3, &[4, 5, 6])?; // the second row
/// writer.write(0, 0, &[1, 2, 3])?;
/// writer.finish()?;
/// let data = ArrayFiles::npz(&path, &["x"]).expect("an .npz file");
/// assert_eq!(data.sample(1).expect("a row").require("x").expect("an array").as_u8(), Some(&[4, 5, 6][..]));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ArrayWriter<F = File> {
    file: F,
    format: ArrayFormat,
    arrays: Vec<Placed>,
}

/// An array and its place in the file.
#[derive(Debug)]
struct Placed {
    spec: ArraySpec,
    /// The offset of its header, which an `.npz` file has.
    header: u64,
    /// The offset of its first element.
    data: u64,
}

impl<F: io::Read + Write + Seek> ArrayWriter<F> {
    /// Writes the headers of the arrays to an empty file that is open for reading and writing.
    ///
    /// # Errors
    /// When the file cannot be written; [`io::ErrorKind::InvalidInput`] for two arrays of a name.
    pub fn new(mut file: F, format: ArrayFormat, arrays: Vec<ArraySpec>) -> io::Result<Self> {
        for (k, array) in arrays.iter().enumerate() {
            if arrays[..k].iter().any(|other| other.name == array.name) {
                let problem = format!("two arrays have the name `{}`", array.name);
                return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
            }
        }
        let arrays = match format {
            ArrayFormat::Npz => npz::begin(&mut file, arrays)?,
            ArrayFormat::Safetensors => safetensors::begin(&mut file, arrays)?,
        };
        Ok(Self {
            file,
            format,
            arrays,
        })
    }

    /// Writes elements of array number `array` from element `first` on, as little-endian bytes.
    ///
    /// # Errors
    /// When the file cannot be written; [`io::ErrorKind::InvalidInput`] if there is no such array or it ends before.
    pub fn write(&mut self, array: usize, first: u64, bytes: &[u8]) -> io::Result<()> {
        let outside = || {
            let problem = format!(
                "{} bytes from element {first} of array {array}",
                bytes.len()
            );
            io::Error::new(io::ErrorKind::InvalidInput, problem)
        };
        let placed = self.arrays.get(array).ok_or_else(outside)?;
        let offset = first.checked_mul(placed.spec.element.bytes());
        let end = offset.and_then(|offset| offset.checked_add(bytes.len() as u64));
        match (offset, end) {
            (Some(offset), Some(end)) if end <= placed.spec.bytes() => {
                self.file.seek(SeekFrom::Start(placed.data + offset))?;
                self.file.write_all(bytes)
            }
            _ => Err(outside()),
        }
    }

    /// Completes the file. It is not synchronized with the disk.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn finish(mut self) -> io::Result<F> {
        match self.format {
            ArrayFormat::Npz => npz::finish(&mut self.file, &self.arrays)?,
            ArrayFormat::Safetensors => safetensors::finish(&mut self.file, &self.arrays)?,
        }
        self.file.flush()?;
        Ok(self.file)
    }
}

/// Makes the file end at `end`, with zeros where nothing is written.
fn extend(file: &mut (impl Write + Seek), end: u64) -> io::Result<()> {
    let len = file.seek(SeekFrom::End(0))?;
    if len < end {
        file.seek(SeekFrom::Start(end - 1))?;
        file.write_all(&[0])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
