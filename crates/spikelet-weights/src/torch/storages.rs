//! The elements of tensors, which are outside of the pickle.

use std::collections::{BTreeMap, HashMap};

use crate::arrays::Source as _;
use crate::arrays::zip::Entry;

use super::pickle::{StorageRef, TensorRef};
use crate::dtype::Dtype;
use crate::error::{ErrorKind, Result};
use crate::limits::Budget;
use crate::record::record;
use crate::source::FileSource;
use crate::strided::gather;
use crate::tensor::{Tensor, swap_bytes};

/// Where the storages of a file are.
pub(super) enum Storages<'a> {
    /// Records of a zip archive, by name.
    Records {
        source: &'a FileSource,
        entries: &'a HashMap<String, Entry>,
        /// What is in front of the key.
        prefix: String,
        big_endian: bool,
    },
    /// Ranges of a file, by key: the start, and the number of bytes.
    Ranges {
        source: &'a FileSource,
        ranges: HashMap<String, (u64, u64)>,
    },
}

impl Storages<'_> {
    /// The tensors, each contiguous, in their order. Each storage is read once.
    pub fn tensors(
        &self,
        tensors: &[(String, &TensorRef)],
        budget: &mut Budget,
        stored: &mut Budget,
    ) -> Result<Vec<(String, Tensor)>> {
        let mut by_key: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, (name, tensor)) in tensors.iter().enumerate() {
            by_key.entry(&tensor.storage.key).or_default().push(place);
            let bytes = (tensor.shape.iter().product::<usize>() * tensor.dtype.bytes()) as u64;
            budget.take(bytes).map_err(|limit| ErrorKind::TooLarge {
                of: format!("the tensor `{name}`"),
                bytes,
                limit,
            })?;
        }
        let mut read: Vec<Option<Tensor>> = vec![None; tensors.len()];
        for places in by_key.into_values() {
            let (name, first) = &tensors[places[0]];
            let error = |problem: String| -> crate::Error {
                ErrorKind::Tensor {
                    tensor: name.clone(),
                    problem,
                    help: "the file is damaged; get it again, or save it again with torch.save",
                }
                .into()
            };
            if let Some(&place) = places
                .iter()
                .find(|&&place| !is_same(&tensors[place].1.storage, &first.storage))
            {
                let other = &tensors[place].0;
                return Err(error(format!(
                    "its storage has another type or length for `{other}`"
                )));
            }
            let bytes =
                self.bytes(&first.storage, first.dtype, stored)
                    .map_err(|found| match found {
                        Found::Error(error) => error,
                        Found::Problem(problem) => error(problem),
                    })?;
            if let [place] = places[..]
                && is_whole(tensors[place].1)
            {
                let tensor = tensors[place].1;
                read[place] = Some(Tensor::new(tensor.dtype, tensor.shape.clone(), bytes)?);
                continue;
            }
            for place in places {
                let tensor = tensors[place].1;
                let element = tensor.dtype.bytes();
                let offset = tensor.storage.offset + tensor.offset;
                let own = gather(&bytes, element, offset, &tensor.shape, &tensor.strides);
                read[place] = Some(Tensor::new(tensor.dtype, tensor.shape.clone(), own)?);
            }
        }
        let names = tensors.iter().map(|(name, _)| name.clone());
        Ok(names.zip(read.into_iter().flatten()).collect())
    }

    /// The bytes of a storage, little-endian.
    fn bytes(
        &self,
        storage: &StorageRef,
        dtype: Dtype,
        stored: &mut Budget,
    ) -> Result<Vec<u8>, Found> {
        let element = storage.dtype.map_or(1, Dtype::bytes) as u64;
        let key = &storage.key;
        let len = match self {
            Self::Records {
                entries, prefix, ..
            } => {
                let entry = entries.get(&format!("{prefix}{key}"));
                entry.map(|entry| entry.uncompressed)
            }
            Self::Ranges { ranges, .. } => ranges.get(key).map(|&(_, len)| len),
        };
        let shown: String = key.chars().take(80).collect();
        let len =
            len.ok_or_else(|| Found::Problem(format!("its storage `{shown}` is not in the file")))?;
        // A storage may be a view of one that is longer.
        let end = storage
            .offset
            .saturating_add(storage.len)
            .checked_mul(element);
        let fits = match storage.offset {
            0 => end == Some(len),
            _ => end.is_some_and(|end| end <= len),
        };
        if !fits {
            return Err(Found::Problem(format!(
                "its storage `{shown}` has {len} bytes in the file; {} elements of {element} bytes are expected",
                storage.len
            )));
        }
        stored.take(len).map_err(|limit| {
            let of = format!("the storage `{shown}`");
            Found::Error(
                ErrorKind::TooLarge {
                    of,
                    bytes: len,
                    limit,
                }
                .into(),
            )
        })?;
        match self {
            Self::Records {
                source,
                entries,
                prefix,
                big_endian,
            } => {
                let mut bytes = record(source, &entries[&format!("{prefix}{key}")])?;
                if *big_endian {
                    swap_bytes(&mut bytes, dtype.bytes());
                }
                Ok(bytes)
            }
            Self::Ranges { source, ranges } => Ok(source.read(ranges[key].0, len as usize)?),
        }
    }
}

/// Whether a tensor is all of its storage, in C order.
fn is_whole(tensor: &TensorRef) -> bool {
    let mut stride = 1;
    let axes = tensor.shape.iter().zip(&tensor.strides).rev();
    let in_order = axes.fold(true, |in_order, (&size, &own)| {
        let fits = size == 1 || own == stride;
        stride *= size as u64;
        in_order && fits
    });
    let bytes = stride * tensor.dtype.bytes() as u64;
    let stored = tensor.storage.len * tensor.storage.dtype.map_or(1, Dtype::bytes) as u64;
    in_order && tensor.offset == 0 && tensor.storage.offset == 0 && bytes == stored
}

/// Why a storage is not read.
enum Found {
    Error(crate::Error),
    Problem(String),
}

impl From<crate::Error> for Found {
    fn from(error: crate::Error) -> Self {
        Self::Error(error)
    }
}

/// Whether two descriptions of a storage agree. Views have other offsets and lengths.
fn is_same(a: &StorageRef, b: &StorageRef) -> bool {
    a.dtype == b.dtype && (a.len == b.len || a.offset != b.offset)
}
