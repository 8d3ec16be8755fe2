//! The layers whose operations are counted.

use super::Context;
use crate::LayerProblem;
use crate::module::Observer;
use crate::neuron::{Neuron, OutputKind};
use crate::neuron_ops::NeuronOps;
use crate::synapses::Synapses;
use spikelet_core::Result;
use spikelet_graph::Var;

/// A layer whose operations are counted. Its values are recorded under `PATH.counted_seq`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedLayer {
    /// Its path.
    pub path: String,
    /// Its operations.
    pub kind: CountedKind,
    /// The number of parameters and of buffers of the layers before it.
    pub(super) before: [usize; 2],
}

/// The operations of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CountedKind {
    /// Products of weights and inputs; the input is recorded, `[T, N, …]`.
    Synapses {
        /// The sizes.
        synapses: Synapses,
        /// The name of the weight.
        weight: String,
    },
    /// Updates of neurons; their output is recorded, `[T, N, …]`, and their membrane potential after each step, if it
    /// is a state.
    Neurons {
        /// The operations of one update.
        ops: NeuronOps,
        /// Whether the output has values other than −1, 0 and 1.
        analog: bool,
    },
}

/// The name of the value that a counted layer records.
const COUNTED: &str = "counted_seq";

/// The name of the membrane potentials that counted neurons record.
const POTENTIALS: &str = "counted_v_seq";

/// Layers with weights record their inputs, and neurons their outputs, with what is needed to count operations:
/// [`Traced::counted`](super::Traced::counted).
#[derive(Clone, Copy, Debug)]
pub struct Operations;

impl Observer for Operations {
    fn synapses(&self, cx: &Context, weight: &str, x: &Var, synapses: Synapses) {
        let weight = cx.tracer.path_of(weight);
        count(cx, CountedKind::Synapses { synapses, weight });
        match x.rank() {
            2 => cx.record(COUNTED, &x.reshape([1, x.dim(0), x.dim(1)])),
            _ => cx.record(COUNTED, x),
        }
    }

    fn neuron(
        &self,
        cx: &Context,
        neuron: &dyn Neuron,
        _: &Var,
        output: &Var,
        potentials: Option<&Var>,
    ) -> Result<()> {
        let wrong = |problem| cx.error("layer", LayerProblem::Definition(problem));
        let kind = neuron.output_kind();
        let analog = matches!(kind, OutputKind::Counts | OutputKind::Real);
        let ops = NeuronOps::of(neuron).map_err(wrong)?;
        count(cx, CountedKind::Neurons { ops, analog });
        cx.record(COUNTED, output);
        if let Some(potentials) = potentials {
            cx.record(POTENTIALS, potentials);
        }
        Ok(())
    }
}

fn count(cx: &Context, kind: CountedKind) {
    let path = cx.tracer.path();
    let traced = &mut *cx.traced.borrow_mut();
    traced.counted.push(CountedLayer {
        path,
        kind,
        before: [traced.parameters.len(), traced.buffers.len()],
    });
}

impl super::Traced {
    /// The values that the counted layers recorded, `[T, N, …]`, in the order of [`Traced::counted`](Self::counted).
    pub fn counted_values(&self) -> Vec<Var> {
        self.of_counted(COUNTED).into_iter().flatten().collect()
    }

    /// The membrane potentials after each step, `[T, N, …]`, of the counted layers in the order of
    /// [`Traced::counted`](Self::counted); `None` for layers with weights, and for neurons without this state.
    pub fn counted_potentials(&self) -> Vec<Option<Var>> {
        self.of_counted(POTENTIALS)
    }

    /// The value of this name that each counted layer recorded.
    fn of_counted(&self, name: &str) -> Vec<Option<Var>> {
        let mut recorded: Vec<Option<&(String, Var)>> = self.recorded.iter().map(Some).collect();
        let values = self.counted.iter().map(|layer| {
            let name = match layer.path.as_str() {
                "" => name.to_string(),
                path => format!("{path}.{name}"),
            };
            // A layer that is called twice records twice.
            let found = recorded
                .iter_mut()
                .find(|known| known.is_some_and(|(known, _)| *known == name))?;
            found.take().map(|(_, value)| value.clone())
        });
        values.collect()
    }

    /// The number of elements of the parameters and of the buffers of each counted layer: of all that were traced
    /// from it to the next counted layer; of the first layer also those before it.
    pub fn counted_sizes(&self) -> Vec<[u64; 2]> {
        let elements = |tensors: &[super::TracedTensor]| -> u64 {
            let each = tensors.iter().map(|t| t.shape.iter().product::<usize>());
            each.map(|len| len as u64).sum()
        };
        let all = [self.parameters.len(), self.buffers.len()];
        let ends = self.counted.iter().skip(1).map(|layer| layer.before);
        let mut start = [0, 0];
        ends.chain([all])
            .take(self.counted.len())
            .map(|end| {
                let sizes = [
                    elements(&self.parameters[start[0]..end[0]]),
                    elements(&self.buffers[start[1]..end[1]]),
                ];
                start = end;
                sizes
            })
            .collect()
    }
}
