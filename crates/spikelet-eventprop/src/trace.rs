//! What a network computed for a sample.

use crate::layer::LayerTrace;
use crate::loss::OutputKind;
use crate::readout::Peak;
use crate::spikes::Spike;

/// The spikes and outputs of a sample. It holds what the adjoint pass reads: three numbers and an index a spike.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The number of input spikes.
    pub(crate) inputs: usize,
    /// The sizes of the network.
    pub(crate) sizes: Vec<usize>,
    pub(crate) layers: Vec<LayerTrace>,
    pub(crate) outputs: Vec<f64>,
    pub(crate) kind: OutputKind,
    /// The first spike of each output neuron, an index into the last layer's spikes.
    pub(crate) first: Vec<Option<usize>>,
    pub(crate) peaks: Vec<Peak>,
}

impl Trace {
    /// The spikes of a layer, in the order of time; `None` if there is no such layer.
    pub fn spikes(&self, layer: usize) -> Option<&[Spike]> {
        self.layers.get(layer).map(|layer| layer.spikes.as_slice())
    }

    /// The outputs: times of first spikes (t_end for neurons that do not fire), or functionals of potentials.
    pub fn outputs(&self) -> &[f64] {
        &self.outputs
    }

    /// The kind of the outputs.
    pub fn kind(&self) -> OutputKind {
        self.kind
    }

    /// The predicted class: the output neuron that fires first, or the one with the largest functional; the lowest of
    /// several. `None` if no output neuron fires.
    pub fn prediction(&self) -> Option<usize> {
        let outputs = self.outputs.iter().copied().enumerate();
        let best = match self.kind {
            OutputKind::FirstSpike => outputs
                .filter(|&(n, _)| self.first[n].is_some())
                .min_by(|a, b| a.1.total_cmp(&b.1)),
            OutputKind::Potential => outputs.min_by(|a, b| b.1.total_cmp(&a.1)),
        };
        best.map(|(n, _)| n)
    }
}
