//! The body of a loop: a graph with its carried values, pieces of sequences and invariants.

use crate::error::InvalidOp;
use crate::graph::{Graph, ValueId};
use crate::types::TensorType;

/// What a loop computes in a step.
///
/// The inputs of the graph are, in order: the carried values, one piece of each sequence, the invariants.
/// Its outputs are the next carried values, in the order of the carried inputs, each of which updates its
/// input, and one piece of each stacked result. The graph reads no value of the graph around it.
#[derive(Clone, Debug, Default)]
pub struct LoopBody {
    graph: Graph,
    carried: usize,
    sequences: usize,
}

/// Two bodies are equal if they are one object: their graphs are not compared.
impl PartialEq for LoopBody {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// The type of `length` pieces along axis 0.
pub(super) fn stacked(piece: &TensorType, length: usize) -> Result<TensorType, InvalidOp> {
    let mut whole = piece.clone();
    match whole.shape.first_mut() {
        Some(first) => *first = first.saturating_mul(length),
        None => {
            return Err(InvalidOp::new(
                "a piece of a sequence or of a stacked result has no axis",
                "reshape scalars to [1]: pieces are concatenated along axis 0",
            ));
        }
    }
    Ok(whole)
}

impl LoopBody {
    /// A body of a graph whose first `carried` inputs are carried and whose next `sequences` inputs are
    /// pieces of sequences.
    ///
    /// # Errors
    /// When the graph has fewer inputs, or the first outputs do not update the carried inputs with values of
    /// their types.
    pub fn new(graph: Graph, carried: usize, sequences: usize) -> Result<Self, InvalidOp> {
        let (inputs, outputs) = (graph.inputs.len(), graph.outputs.len());
        if inputs < carried.saturating_add(sequences) || outputs < carried {
            return Err(InvalidOp::new(
                format!(
                    "a body of {inputs} inputs and {outputs} outputs has fewer than {carried} carried values and {sequences} sequences"
                ),
                "list the carried values first, then the sequences, then the invariants",
            ));
        }
        for (k, (input, output)) in graph
            .inputs
            .iter()
            .zip(&graph.outputs)
            .take(carried)
            .enumerate()
        {
            let (before, after) = (graph.ty(input.value), graph.ty(output.value));
            if before != after {
                return Err(InvalidOp::new(
                    format!(
                        "carried value {k} (`{}`) is {before} before a step and {after} after it",
                        input.name
                    ),
                    "let the step return carried values of the types and shapes that it takes; broadcast or cast the initial value",
                ));
            }
            if output.updates != Some(input.value) {
                return Err(InvalidOp::new(
                    format!("output {k} of the body does not update carried value {k}"),
                    "let the first outputs update the carried inputs, in their order",
                ));
            }
        }
        Ok(Self {
            graph,
            carried,
            sequences,
        })
    }

    /// The graph of a step.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(crate) fn graph_mut(&mut self) -> &mut Graph {
        &mut self.graph
    }

    /// The number of carried values.
    pub fn carried_count(&self) -> usize {
        self.carried
    }

    /// The number of sequences.
    pub fn sequence_count(&self) -> usize {
        self.sequences
    }

    /// The number of invariants.
    pub fn invariant_count(&self) -> usize {
        self.graph.inputs.len() - self.carried - self.sequences
    }

    /// The carried values before a step.
    pub fn carried_inputs(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.inputs().take(self.carried)
    }

    /// The pieces of the sequences.
    pub fn sequence_inputs(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.inputs().skip(self.carried).take(self.sequences)
    }

    /// The values that are the same at every step.
    pub fn invariant_inputs(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.inputs().skip(self.carried + self.sequences)
    }

    /// The carried values after a step.
    pub fn carried_outputs(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.outputs().take(self.carried)
    }

    /// The pieces of the stacked results.
    pub fn stacked_outputs(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.outputs().skip(self.carried)
    }

    fn inputs(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.graph.inputs.iter().map(|input| input.value)
    }

    fn outputs(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.graph.outputs.iter().map(|output| output.value)
    }
}
