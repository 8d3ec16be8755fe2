//! Traces of a part of the time steps.

use super::Context;
use crate::module::stepping::Stepping;
use spikelet_graph::Var;

/// A range of time steps that is a separate program. Other programs run the steps before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Whether the chunk has the first time step: states start from their reset values.
    pub begins: bool,
    /// Whether the chunk has the last time step: the states after it are unused.
    pub ends: bool,
}

impl Chunk {
    /// All time steps.
    pub const WHOLE: Self = Self {
        begins: true,
        ends: true,
    };
}

/// The prefix of the input for the state before a chunk; the state's path follows.
pub const BEFORE: &str = "state before ";

/// A state of a chunk.
#[derive(Clone, Debug)]
pub struct ChunkState {
    /// The state's name.
    pub path: String,
    /// The state before the chunk: an input, or the reset value where the chunk begins the sequence.
    pub before: Var,
    /// The state after it.
    pub after: Option<Var>,
}

impl Context {
    /// Whether only a part of the time steps is traced.
    pub(in crate::module) fn is_chunk(&self) -> bool {
        self.chunk.is_some_and(|chunk| chunk != Chunk::WHOLE)
    }

    /// The number of time steps of the full sequence; `here` is that of the input of the current module. In a
    /// chunk of time it is not known: a call records an error, which the next check returns.
    pub fn time_steps(&self, here: usize) -> usize {
        if self.is_chunk() {
            self.tracer.fail(spikelet_graph::Error::Shape {
                layer: self.tracer.path(),
                operation: "chunk of time".to_string(),
                problem: "what is computed depends on the number of time steps".to_string(),
                given: format!("a chunk of {here} steps"),
                help: "do not cut time: leave the chunk as long as the sequence".to_string(),
            });
        }
        (self.stepping.borrow().as_ref()).map_or(here, Stepping::time_steps)
    }
}
