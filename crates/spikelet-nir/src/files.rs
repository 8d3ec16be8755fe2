//! Sequences of simulations in files.

use super::error::NirError;
use super::simulate::{SINGLE, Traces};
use spikelet_core::Result;
use spikelet_graph::Tensor;
use spikelet_nn::tensors::TensorFile;
use spikelet_weights::{Dtype, Weights};
use std::collections::BTreeMap;
use std::path::Path;

/// The prefix of inputs in files.
const INPUT: &str = "in/";

/// Reads input sequences from a safetensors, `.npz` or `.npy` file: the tensors `in/NODE`, by the path of the node, or `x`,
/// that of the only Input, as is the array of a `.npy` file. Other tensors of the file are ignored. f64 stays f64, every other type becomes f32.
///
/// ```
/// use spikelet_nir as nir;
/// use spikelet_nn::prelude::*;
/// use spikelet_nn::tensors::TensorFile;
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.safetensors");
/// let tensors = [("in/input".to_string(), Tensor::f32([4, 1, 2], [0.5; 8]))].into();
/// TensorFile { tensors, ..TensorFile::default() }.write(&path)?;
/// assert_eq!(nir::read_inputs(&path)?["input"].shape, [4, 1, 2]);
/// # Ok::<(), spikelet_core::Error>(())
/// ```
///
/// # Errors
/// [`NirError::Graph`] if the file cannot be read, [`NirError::Input`] if it has no inputs.
pub fn read_inputs(path: impl AsRef<Path>) -> Result<BTreeMap<String, Tensor>> {
    let path = path.as_ref();
    let weights = Weights::read(path).map_err(NirError::from)?;
    let inputs: BTreeMap<String, Tensor> = weights
        .iter()
        .filter_map(|(name, tensor)| {
            let shape = tensor.shape();
            let tensor = match tensor.dtype() {
                Dtype::F64 => Tensor::f64(shape, tensor.to_f64()),
                _ => Tensor::f32(shape, tensor.to_f32()),
            };
            let single = Some(name).filter(|name| *name == SINGLE);
            Some((name.strip_prefix(INPUT).or(single)?.to_string(), tensor))
        })
        .collect();
    if inputs.is_empty() {
        let names: Vec<&str> = weights.iter().map(|(name, _)| name).take(8).collect();
        return Err(NirError::Input {
            input: path.display().to_string(),
            problem: format!(
                "no tensor is called in/NODE or x; the file has: {}",
                names.join(", ")
            ),
            help: "name the sequence [T, N, …] of an Input after it, such as `in/input`"
                .to_string(),
        }
        .into());
    }
    Ok(inputs)
}

impl Traces {
    /// Writes the sequences as safetensors, atomically, with the choices of time steps as metadata.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let semantics = &self.semantics;
        let metadata = [
            ("dt", semantics.dt.to_string()),
            ("discretization", semantics.discretization.to_string()),
            ("reset", semantics.reset.to_string()),
            ("reset_delay", semantics.reset_delay.to_string()),
            ("fires", semantics.fires.to_string()),
            ("feedback", semantics.feedback.to_string()),
            ("v_start", semantics.v_start.to_string()),
        ];
        let file = TensorFile {
            tensors: self.sequences.clone(),
            metadata: metadata.map(|(name, text)| (name.to_string(), text)).into(),
        };
        file.write(path)
    }
}
