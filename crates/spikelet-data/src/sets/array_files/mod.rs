//! Arrays in files: `.npy`, `.npz` and safetensors.

mod array;
mod complete;
mod npy;
mod safetensors;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::collate::check_fields;
use crate::dataset::{Dataset, check_index};
use crate::digest::Parts;
use crate::error::{Error, Result};
use crate::field::Field;
use crate::sample::Sample;
use array::Array;
pub(crate) use complete::read_arrays;

/// The memory for compressed arrays of an `.npz` file if none is given.
const COMPRESSED_BYTES: usize = 1 << 30;

/// The largest number of arrays of a file that are read without their names.
const MAX_ARRAYS: usize = 4096;

/// A data set of arrays in files, whose axis 0 are the samples: `.npy`, `.npz` of NumPy, and safetensors.
///
/// Files may be larger than memory: a sample is read from its place in the file when it is asked for. Only arrays in
/// a compressed `.npz` are decompressed into memory.
///
/// | type in the file | type of the field |
/// |---|---|
/// | `u8`, `bool` | u8 |
/// | `i8`, `i16`, `i32`, `i64`, `u16`, `u32`, `u64` | i64 |
/// | `f16`, `bf16`, `f32`, `f64` | f32, rounded |
///
/// ```
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("x.npy");
/// # let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 1), }";
/// # let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
/// # file.extend(format!("{header:<117}\n").into_bytes());
/// # file.extend([0.5_f32, 1.0, 1.5, 2.0, 2.5, 3.0].iter().flat_map(|v| v.to_le_bytes()));
/// # std::fs::write(&path, file).expect("a file");
/// use spikelet_data::{ArrayFiles, Dataset, Field};
///
/// // numpy.save("x.npy", …), two sequences of three steps and one channel
/// let data = ArrayFiles::npy("waves", [("x", &path)])?.describe("x", Field::sequence)?;
/// assert_eq!(data.fields()[0].to_string(), "x: f32[3, 1], a sequence");
/// assert_eq!(data.sample(1)?.require("x")?.as_f32(), Some(&[2.0, 2.5, 3.0][..]));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Debug)]
pub struct ArrayFiles {
    name: String,
    len: usize,
    fields: Vec<Field>,
    arrays: Vec<Array>,
    class_names: BTreeMap<String, Vec<String>>,
}

impl ArrayFiles {
    /// Arrays in `.npy` files, one file for each field.
    ///
    /// # Errors
    /// [`Error::Open`], [`Error::Read`], or [`Error::Format`] if a file is not a C-ordered array of a type in the table,
    /// its samples have no elements, or it is not complete; [`Error::ArrayLengths`] if the arrays have different numbers of samples.
    pub fn npy<N: Into<String>, P: AsRef<Path>>(
        name: impl Into<String>,
        files: impl IntoIterator<Item = (N, P)>,
    ) -> Result<Self> {
        let open = |(field, path): (N, P)| Ok((field.into(), npy::open(path.as_ref())?));
        let arrays = files.into_iter().map(open).collect::<Result<_>>()?;
        Self::new(name.into(), arrays)
    }

    /// The arrays `names` in an `.npz` file; all, at most 4096, if `names` is empty. An array of a file that `numpy.savez` has written
    /// is read from its place; those of `numpy.savez_compressed` are decompressed into memory, at most 1 GiB.
    ///
    /// # Errors
    /// As [`Self::npy`], and [`Error::Format`] if an array is missing or damaged.
    pub fn npz(path: impl AsRef<Path>, names: &[&str]) -> Result<Self> {
        Self::npz_within(path, names, COMPRESSED_BYTES)
    }

    /// As [`Self::npz`], with at most `memory` bytes for compressed arrays.
    ///
    /// # Errors
    /// As [`Self::npz`].
    pub fn npz_within(path: impl AsRef<Path>, names: &[&str], memory: usize) -> Result<Self> {
        let path = path.as_ref();
        Self::new(file_name(path), npy::open_npz(path, names, memory)?)
    }

    /// The tensors `names` in a safetensors file; all, sorted by name and at most 4096, if `names` is empty.
    ///
    /// # Errors
    /// As [`Self::npy`], and [`Error::Format`] if a tensor is missing.
    pub fn safetensors(path: impl AsRef<Path>, names: &[&str]) -> Result<Self> {
        let path = path.as_ref();
        Self::new(file_name(path), safetensors::open(path, names)?)
    }

    fn new(name: String, arrays: Vec<(String, Array)>) -> Result<Self> {
        let len = arrays.first().map_or(0, |(_, array)| array.len());
        if arrays.iter().any(|(_, array)| array.len() != len) {
            let lengths = arrays
                .iter()
                .map(|(name, array)| format!("{name}: {}", array.len()));
            return Err(Error::ArrayLengths {
                dataset: name,
                lengths: lengths.collect(),
            });
        }
        let field = |(name, array): &(String, Array)| array.field(name);
        let fields: Vec<Field> = arrays.iter().map(field).collect();
        check_fields(&name, &fields)?;
        Ok(Self {
            name,
            len,
            fields,
            arrays: arrays.into_iter().map(|(_, array)| array).collect(),
            class_names: BTreeMap::new(),
        })
    }

    /// Changes the description of a field: its name, and whether it is a sequence, padded, or an image.
    ///
    /// # Errors
    /// [`TensorError::Missing`](crate::TensorError::Missing) if there is no such field; [`Error::Field`] if the type or
    /// the shape are changed or the field cannot be collated.
    pub fn describe(mut self, name: &str, change: impl FnOnce(Field) -> Field) -> Result<Self> {
        let Some(at) = self.fields.iter().position(|field| field.name == name) else {
            let names = self.fields.iter().map(|field| field.name.clone());
            return Err(crate::TensorError::Missing {
                name: name.into(),
                names: names.collect(),
            }
            .into());
        };
        let old = self.fields[at].clone();
        let new = change(old.clone());
        if new.tensor_dtype() != old.tensor_dtype() || new.shape != old.shape {
            return Err(Error::Field {
                dataset: self.name,
                field: new.to_string(),
                problem: "its type and shape are those of the file; change samples with `Map`",
            });
        }
        self.fields[at] = new;
        check_fields(&self.name, &self.fields)?;
        Ok(self)
    }

    /// Sets the names of the classes of a field of labels.
    #[must_use]
    pub fn classes(mut self, field: impl Into<String>, names: Vec<String>) -> Self {
        self.class_names.insert(field.into(), names);
        self
    }
}

/// The name of a data set in one file.
fn file_name(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Checks the number of arrays in a file of which none is named: that of fields of a sample.
fn check_count(path: &Path, arrays: usize) -> Result<()> {
    if arrays <= MAX_ARRAYS {
        return Ok(());
    }
    let problem = format!("{arrays} arrays, more than {MAX_ARRAYS}");
    let help = "give the names of those that are needed";
    Err(format_error(path, 0, problem, help))
}

/// An error in the contents of a file.
fn format_error(path: &Path, offset: u64, problem: impl Into<String>, help: &'static str) -> Error {
    Error::Format {
        path: PathBuf::from(path),
        offset,
        problem: problem.into(),
        help,
    }
}

impl Dataset for ArrayFiles {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> usize {
        self.len
    }

    fn fields(&self) -> Vec<Field> {
        self.fields.clone()
    }

    fn sample(&self, index: usize) -> Result<Sample<'_>> {
        check_index(self, index)?;
        let mut sample = Sample::new();
        for (field, array) in self.fields.iter().zip(&self.arrays) {
            sample.insert(field.name.as_str(), array.read(index)?);
        }
        Ok(sample)
    }

    /// The digest of names, shapes and types, and of the contents: of all bytes of an array up to 1 MiB, otherwise of 256
    /// blocks of 4 KiB that are evenly spaced.
    fn digest(&self) -> Result<[u8; 32]> {
        let mut digest = Parts::of("arrays");
        for (field, array) in self.fields.iter().zip(&self.arrays) {
            digest = array.digest_into(digest.part(field.to_string().as_bytes()))?;
        }
        Ok(digest.number(self.len).finish())
    }

    fn class_names(&self, field: &str) -> &[String] {
        self.class_names.get(field).map_or(&[], Vec::as_slice)
    }
}
