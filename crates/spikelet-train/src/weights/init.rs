//! The start of a training from weights of another run or framework.

use super::framework::Framework;
use super::import::Import;
use super::map::WeightMap;
use super::network::split;
use super::papers;
use super::prefix::strip_prefixes;
use crate::folder::checkpoint_file;
use crate::step::expect_tensors;
use crate::weight_tensors::{of_the_model, tensor_of};
use spikelet_core::{Error, Result};
use spikelet_graph::Tensor;
use spikelet_nn::module::Module;
use spikelet_nn::runtime::VarStore;
use spikelet_weights::{WeightOptions, Weights};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The tensors of a network that come from a file with weights, and those that do not.
///
/// The framework is the one by whose names most tensors are found. If the number of classes differs, the last layer with
/// weights and what follows it keep their initial values: a new head.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InitialWeights {
    /// The file.
    pub file: PathBuf,
    /// The framework whose names the file has.
    pub framework: Framework,
    /// The tensors of the network by name.
    pub tensors: BTreeMap<String, Tensor>,
    /// Tensors of the network that have another shape in the file, because the number of classes differs; they keep
    /// their initial values.
    pub new_head: Vec<String>,
    /// Tensors of the file that the network does not have.
    pub left_over: Vec<String>,
    /// Constants of neurons that differ: a sentence each.
    pub differing: Vec<String>,
}

impl InitialWeights {
    /// Reads the tensors of a network for an input `[T, N, …]`.
    ///
    /// ```
    /// use spikelet_weights::{Tensor, Weights};
    /// use spikelet_nn::prelude::*;
    /// use spikelet_train::weights::InitialWeights;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("checkpoint.pt");
    /// let mut weights = Weights::default();
    /// weights.insert("net.0.weight", Tensor::from_f32(&[3, 2], &[0.5; 6])?)?;
    /// weights.insert("net.2.weight", Tensor::from_f32(&[10, 3], &[0.5; 30])?)?;
    /// weights.write_torch(&path)?;
    ///
    /// // 4 classes in place of 10.
    /// let net = Sequential::new().add(Linear::new(2, 3).bias(false)).add(Lif::new(2.0)).add(Linear::new(3, 4).bias(false));
    /// let found = InitialWeights::read(&path, &net, &[8, 1, 2])?;
    /// assert_eq!(found.new_head, ["2.weight"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be read; [`WeightMapError::Incomplete`](super::WeightMapError::Incomplete) if tensors are
    /// missing, ambiguous, or of another shape before the head.
    pub fn read(file: impl AsRef<Path>, module: &dyn Module, input: &[usize]) -> Result<Self> {
        let file = &checkpoint_file(file)?;
        Self::from_bytes(spikelet_core::files::read(file)?, file, module, input)
    }

    /// The same of the bytes of a file; `file` is its name in messages.
    ///
    /// # Errors
    /// As [`InitialWeights::read`].
    pub(crate) fn from_bytes(
        bytes: Vec<u8>,
        file: &Path,
        module: &dyn Module,
        input: &[usize],
    ) -> Result<Self> {
        let read = Weights::from_bytes(bytes, &WeightOptions::default());
        let weights = read.map_err(|error| Error::other(error.in_file(file)))?;
        Self::of_weights(&weights, file, None, module, input)
    }

    /// The same of weights that were read, with the names of a framework, or else of the one that fits best.
    ///
    /// # Errors
    /// As [`InitialWeights::read`].
    pub fn of_weights(
        weights: &Weights,
        file: &Path,
        framework: Option<Framework>,
        module: &dyn Module,
        input: &[usize],
    ) -> Result<Self> {
        let weights = of_the_model(weights)?;
        let first = WeightMap::new(framework.unwrap_or(Framework::Spikelet), module, input)?;
        let found = stripped(&first, &weights);
        let (mut map, mut import) = (first, found);
        let others = Framework::ALL.into_iter().filter(|_| framework.is_none());
        for framework in others {
            // A network whose tensors would have the same name in a framework is not from there.
            let Ok(other) = WeightMap::new(framework, module, input) else {
                continue;
            };
            let found = stripped(&other, &weights);
            let score = |import: &Import| (import.tensors.len(), import.is_complete());
            if score(&found) > score(&import) {
                (map, import) = (other, found);
            }
        }
        if framework.is_none()
            && let Some(renamed) = papers::without_containers(&weights)
        {
            let own = WeightMap::new(Framework::Spikelet, module, input)?;
            let found = stripped(&own, &renamed);
            if found.tensors.len() > import.tensors.len() {
                (map, import) = (own, found);
            }
        }
        papers::forget_unused(&mut import);
        let new_head = take_head(&map, &mut import);
        let differing = std::mem::take(&mut import.differing).into_iter();
        let differing = differing.map(|own| {
            let (name, network, file) = (own.name, own.network, own.file);
            format!("`{name}` is {file} in the file, {network} in the network")
        });
        let differing = differing.collect();
        let left_over = std::mem::take(&mut import.names.left_over);
        Ok(Self {
            file: file.to_path_buf(),
            framework: map.framework,
            tensors: import.complete()?,
            new_head,
            left_over,
            differing,
        })
    }
}

impl InitialWeights {
    /// The tensors `model` of a step, whose types are those of the store: the file must have exactly these.
    ///
    /// # Errors
    /// [`StepError::Weights`](crate::StepError::Weights) with all differences.
    pub(crate) fn of_step(
        bytes: Vec<u8>,
        file: &Path,
        model: &[String],
        store: &VarStore,
    ) -> Result<Self> {
        let read = Weights::from_bytes(bytes, &WeightOptions::default());
        let weights = of_the_model(&read.map_err(|error| Error::other(error.in_file(file)))?)?;
        let tensors: BTreeMap<String, Tensor> = weights
            .iter()
            .map(|(name, own)| (name.to_string(), tensor_of(own)))
            .collect();
        let expected = model.iter().map(String::as_str).collect();
        expect_tensors(store, &expected, &tensors, file)?;
        Ok(Self {
            file: file.to_path_buf(),
            framework: Framework::Spikelet,
            tensors,
            new_head: vec![],
            left_over: vec![],
            differing: vec![],
        })
    }
}

/// The tensors of a file with or without the prefixes that all names have.
fn stripped(map: &WeightMap, weights: &Weights) -> Import {
    let mut weights = weights.clone();
    strip_prefixes(&mut weights, |weights| {
        !map.import(weights).tensors.is_empty()
    });
    map.import(&weights)
}

/// Takes the tensors of the last layer with weights, and of neurons behind it, from those of another shape, if the number
/// of its outputs differs; their names in the network.
fn take_head(map: &WeightMap, import: &mut Import) -> Vec<String> {
    let entry = |theirs: &str| map.entries.iter().find(|entry| entry.theirs == theirs);
    let Some(last) = map.entries.iter().rfind(|entry| entry.shape.len() >= 2) else {
        return vec![];
    };
    let mismatched = &import.names.mismatched;
    let Some((own, _, given)) = mismatched
        .iter()
        .find(|(own, _, _)| own.name == last.theirs)
    else {
        return vec![];
    };
    let (Some(&outputs), Some(&former)) = (own.shape.first(), given.first()) else {
        return vec![];
    };
    let (path, _) = split(&last.ours);
    // The weights of a recurrent layer are in several modules.
    let layer = match split(path) {
        (parent, "feedback" | "linear" | "input") => parent,
        _ => path,
    };
    let is_head = |ours: &str, own: &[usize], given: &[usize]| {
        let mut axes = own.iter().zip(given).filter(|(own, given)| own != given);
        let only_outputs = axes.all(|(&own, &given)| (own, given) == (outputs, former));
        let is_inside = ours
            .strip_prefix(layer)
            .is_some_and(|rest| rest.starts_with('.'));
        own.len() == given.len() && only_outputs && (is_inside || own.len() == 1)
    };
    let mut head = vec![];
    import.names.mismatched.retain(|(own, _, given)| {
        let ours = entry(&own.name).map(|entry| &entry.ours);
        let taken = ours.filter(|ours| is_head(ours, &own.shape, given));
        head.extend(taken.cloned());
        taken.is_none()
    });
    head
}

impl InitialWeights {
    /// The differences between the file and the network, a line for each kind; empty if all fits.
    pub fn differences(&self) -> String {
        let text = self.to_string();
        text.split_once('\n')
            .map_or("", |(_, rest)| rest)
            .to_string()
    }
}

impl fmt::Display for InitialWeights {
    /// A line for what was found, and one for each kind of the rest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.tensors.len();
        let plural = if count == 1 { "" } else { "s" };
        write!(f, "{count} tensor{plural} of {}", self.file.display())?;
        if self.framework != Framework::Spikelet {
            write!(f, " ({})", self.framework.summary())?;
        }
        let quoted = |names: &[String]| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(", ")
        };
        if !self.new_head.is_empty() {
            write!(
                f,
                "\nnew, for another number of classes: {}",
                quoted(&self.new_head)
            )?;
        }
        if !self.left_over.is_empty() {
            write!(f, "\nleft over in the file: {}", quoted(&self.left_over))?;
        }
        if !self.differing.is_empty() {
            write!(f, "\nother constants: {}", self.differing.join(", "))?;
        }
        Ok(())
    }
}
