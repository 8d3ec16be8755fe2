//! Weights: tensors by name, from checkpoints of PyTorch, safetensors and `.npz`.

mod names;

use std::collections::HashMap;
use std::path::Path;

use crate::atomic;
use crate::error::{Error, ErrorKind, Result};
use crate::format::Format;
use crate::limits::{Budget, Limits};
use crate::source::FileSource;
use crate::tensor::Tensor;
use crate::{npz, safetensors, torch};

pub use names::{Expected, NameMap, NameMatch};

/// The prefix of names in state dicts of `DataParallel` and `DistributedDataParallel`.
const DATA_PARALLEL: &str = "module.";

/// Tensors by name, in the order of the file.
///
/// ```
/// use spikelet_weights::{Tensor, Weights};
///
/// let mut weights = Weights::default();
/// weights.insert("fc.weight", Tensor::from_f32(&[1, 2], &[0.5, -1.0])?)?;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("weights.pt");
/// weights.write_torch(&path)?;
/// let read = Weights::read(&path)?;
/// assert_eq!(read.get("fc.weight"), weights.get("fc.weight"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    tensors: Vec<(String, Tensor)>,
    places: HashMap<String, usize>,
    skipped: Vec<String>,
}

/// How weights are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WeightOptions {
    /// The most memory that tensors may take.
    pub limits: Limits,
    /// The key of the state dict in a checkpoint, as `model` or `models.generator`; `None` looks for it.
    pub state_dict: Option<String>,
}

impl Weights {
    /// Reads weights of any format, by content: checkpoints of PyTorch, safetensors, `.npz`.
    ///
    /// The state dict of a checkpoint may be under `model`, `state_dict` and the like; dictionaries in dictionaries get
    /// names with dots. Nothing that a pickle names is imported or called.
    ///
    /// # Errors
    /// [`ErrorKind::Open`]; [`ErrorKind::Format`], [`ErrorKind::Damaged`], [`ErrorKind::Tensor`],
    /// [`ErrorKind::TooLarge`] for files that are something else or not complete; [`ErrorKind::ForbiddenGlobal`] for
    /// pickles of more than tensors and containers; [`ErrorKind::StateDict`] if there is no state dict, or several.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Self::read_with(path, &WeightOptions::default())
    }

    /// Reads weights with options.
    ///
    /// # Errors
    /// As [`Weights::read`].
    pub fn read_with(path: impl AsRef<Path>, options: &WeightOptions) -> Result<Self> {
        let path = path.as_ref();
        let open = || Self::from_source(&FileSource::open(path)?, options);
        open().map_err(|error: Error| error.in_file(path))
    }

    /// Reads the bytes of a file with weights.
    ///
    /// # Errors
    /// As [`Weights::read`].
    pub fn from_bytes(bytes: Vec<u8>, options: &WeightOptions) -> Result<Self> {
        Self::from_source(&FileSource::Bytes(bytes), options)
    }

    fn from_source(source: &FileSource, options: &WeightOptions) -> Result<Self> {
        let mut budget = Budget::new(&options.limits, source.len());
        let (tensors, skipped) = match Format::of(source)? {
            Format::Safetensors => (safetensors::read(source, &mut budget)?, vec![]),
            Format::Npz => (npz::read(source, &mut budget)?, vec![]),
            Format::Npy => (vec![npz::read_single(source, &mut budget)?], vec![]),
            Format::Nir => {
                return Err(ErrorKind::Format {
                    found: Format::Nir.to_string(),
                    expected: "a PyTorch checkpoint, safetensors or .npz",
                    help: "read it as a graph",
                }
                .into());
            }
            torch => {
                let checkpoint = torch::read(source, torch, options)?;
                (checkpoint.tensors, checkpoint.skipped)
            }
        };
        let mut weights = Self {
            skipped,
            ..Self::default()
        };
        for (name, tensor) in tensors {
            weights.insert(&name, tensor)?;
        }
        Ok(weights)
    }

    /// The number of tensors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are no tensors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// All names and tensors.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Tensor)> {
        self.tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// The tensor of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.places.get(name).map(|&place| &self.tensors[place].1)
    }

    /// The entries of the state dict that are no tensors, which are not read.
    #[must_use]
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Adds a tensor behind the others.
    ///
    /// # Errors
    /// [`ErrorKind::Names`] if there is one of this name.
    pub fn insert(&mut self, name: &str, tensor: Tensor) -> Result<()> {
        if self.places.contains_key(name) {
            return Err(ErrorKind::Names {
                problem: format!("two tensors have the name `{name}`"),
                help: "give each a name of its own",
            }
            .into());
        }
        self.places.insert(name.into(), self.tensors.len());
        self.tensors.push((name.into(), tensor));
        Ok(())
    }

    /// Removes a tensor.
    pub fn remove(&mut self, name: &str) -> Option<Tensor> {
        let place = self.places.remove(name)?;
        let (_, tensor) = self.tensors.remove(place);
        for other in self.places.values_mut().filter(|other| **other > place) {
            *other -= 1;
        }
        Some(tensor)
    }

    /// Removes `module.` if all names begin with it, as those of a network in `DataParallel` do. Whether they did.
    pub fn strip_module(&mut self) -> bool {
        let all = !self.is_empty() && self.iter().all(|(name, _)| name.starts_with(DATA_PARALLEL));
        all && self.strip_prefix(DATA_PARALLEL).is_ok()
    }

    /// Removes a prefix from the names that have it, as `net.` from those of Lightning. The others stay as they are.
    ///
    /// # Errors
    /// [`ErrorKind::Names`] if no name begins with it, or if two names would be the same. Nothing is changed then.
    ///
    /// ```
    /// use spikelet_weights::{Tensor, Weights};
    ///
    /// let mut weights = Weights::default();
    /// weights.insert("net.fc.bias", Tensor::from_f32(&[1], &[0.5])?)?;
    /// weights.strip_prefix("net.")?;
    /// assert!(weights.get("fc.bias").is_some());
    /// # Ok::<(), spikelet_weights::Error>(())
    /// ```
    pub fn strip_prefix(&mut self, prefix: &str) -> Result<()> {
        let stripped = |name: &str| name.strip_prefix(prefix).unwrap_or(name).to_owned();
        if !self.iter().any(|(name, _)| name.starts_with(prefix)) {
            let names: Vec<String> = self
                .iter()
                .take(4)
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            return Err(ErrorKind::Names {
                problem: format!(
                    "no name begins with `{prefix}`; names are {}",
                    names.join(", ")
                ),
                help: "give the prefix that names have, with its dot",
            }
            .into());
        }
        let mut places = HashMap::new();
        for (place, (name, _)) in self.tensors.iter().enumerate() {
            let new = stripped(name);
            if new.is_empty() || places.insert(new.clone(), place).is_some() {
                return Err(ErrorKind::Names {
                    problem: format!("without `{prefix}`, `{name}` would have the name `{new}`, which is empty or taken"),
                    help: "remove another prefix, or rename the tensor",
                }
                .into());
            }
        }
        for (name, _) in &mut self.tensors {
            *name = stripped(name);
        }
        self.places = places;
        Ok(())
    }

    /// Writes safetensors. The same weights give the same bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Write`]. A file that was there is unchanged then.
    pub fn write_safetensors(&self, path: impl AsRef<Path>) -> Result<()> {
        atomic::write(path.as_ref(), |file| {
            safetensors::write(&self.tensors, file)
        })
    }

    /// Writes a state dict that `torch.load(weights_only=True)` reads, in the zip format.
    ///
    /// # Errors
    /// [`ErrorKind::Write`]. A file that was there is unchanged then.
    pub fn write_torch(&self, path: impl AsRef<Path>) -> Result<()> {
        atomic::write(path.as_ref(), |file| torch::write(&self.tensors, file))
    }

    /// Writes an archive of NumPy arrays, which `numpy.load` reads.
    ///
    /// # Errors
    /// [`ErrorKind::Tensor`] for tensors that NumPy has no arrays for: of BF16, or with more than 64 axes;
    /// [`ErrorKind::Write`]. A file that was there is unchanged then.
    ///
    /// ```
    /// use spikelet_weights::{Tensor, Weights};
    ///
    /// let mut weights = Weights::default();
    /// weights.insert("fc.weight", Tensor::from_f32(&[1, 2], &[0.5, -1.0])?)?;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("weights.npz");
    /// weights.write_npz(&path)?;
    /// assert_eq!(Weights::read(&path)?, weights);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_npz(&self, path: impl AsRef<Path>) -> Result<()> {
        atomic::write(path.as_ref(), |file| npz::write(&self.tensors, file))
    }
}
