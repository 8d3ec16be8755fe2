//! The cost of a network: parameters and multiply-accumulates of each layer.

use crate::module::{Context, Mode, Module};
use spikelet_core::Result;
use spikelet_graph::DType;

/// The layers of a network with their output shapes, parameters and multiply-accumulates.
///
/// Multiply-accumulates are those of linear layers and convolutions on dense inputs; a spiking input needs additions
/// only, and only for the spikes. Normalization, pooling and neurons are not counted, as in other tools.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// The sizes of one input.
    pub input: Vec<usize>,
    /// The layers in the order in which they run.
    pub rows: Vec<CostRow>,
}

/// A layer of a [`Cost`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CostRow {
    /// Its path.
    pub path: String,
    /// Its kind, as in files.
    pub kind: String,
    /// The sizes of its output at one time step.
    pub output: Vec<usize>,
    /// The elements of its trainable parameters.
    pub parameters: usize,
    /// Multiply-accumulates for one input and one time step.
    pub macs: u64,
    /// Whether it runs once for an input, not at each time step.
    pub per_image: bool,
}

impl Cost {
    /// Traces a network for `time_steps` and counts its parameters. Rows are sorted in the order of the layers.
    pub(super) fn new(
        module: &dyn Module,
        input: Vec<usize>,
        mut rows: Vec<CostRow>,
        time_steps: usize,
    ) -> Result<Self> {
        let cx = Context::new(Mode::EVAL, DType::F32);
        let mut shape = vec![time_steps, 1];
        shape.extend(&input);
        let x = cx.tracer().input("x_seq", DType::F32, shape);
        cx.trace(module, x)?;
        for parameter in cx.traced().parameters {
            let elements: usize = parameter.shape.iter().product();
            let path = parameter.name.rsplit_once('.').map_or("", |(path, _)| path);
            // The path of a container has no parameters of its own; a layer of neurons has parts.
            let is_of = |row: &&mut CostRow| {
                let part = path.strip_prefix(row.path.as_str());
                part.is_some_and(|part| part.is_empty() || part.starts_with('.'))
            };
            if let Some(row) = rows.iter_mut().find(is_of) {
                row.parameters += elements;
            }
        }
        Ok(Self { input, rows })
    }

    /// All parameters.
    pub fn parameters(&self) -> usize {
        self.rows.iter().map(|row| row.parameters).sum()
    }

    /// Multiply-accumulates for one input at each time step.
    pub fn macs(&self) -> u64 {
        self.sum(false)
    }

    /// Multiply-accumulates for one input that do not depend on the number of time steps.
    pub fn macs_per_image(&self) -> u64 {
        self.sum(true)
    }

    fn sum(&self, per_image: bool) -> u64 {
        let rows = self.rows.iter().filter(|row| row.per_image == per_image);
        rows.map(|row| row.macs).fold(0, u64::saturating_add)
    }
}
