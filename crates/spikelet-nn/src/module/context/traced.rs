//! The parameters, states, buffers and recorded values of a trace.

use super::{Context, CountedLayer};
use crate::RuntimeError;
use crate::module::Init;
use crate::trainable::{Bound, Granularity};
use spikelet_core::Result;
use spikelet_graph::Var;

/// A parameter or a buffer of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedTensor {
    /// Its path.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its initial values.
    pub init: Init,
    /// The limits to which an update clamps it, if it has any.
    pub limits: Option<[f64; 2]>,
}

/// A carried state of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedState {
    /// Its path.
    pub name: String,
    /// Its shape, `[N, …]`.
    pub shape: Vec<usize>,
    /// Its reset value.
    pub reset: f64,
}

/// Parameters, states and buffers of a trace.
#[derive(Clone, Debug, Default)]
pub struct Traced {
    /// The parameters, in order of use.
    pub parameters: Vec<TracedTensor>,
    /// The carried states.
    pub states: Vec<TracedState>,
    /// Carried states that start from a trainable value.
    pub starts: Vec<LearnedStart>,
    /// The tensors of the model that are not trained.
    pub buffers: Vec<TracedTensor>,
    /// The recorded values of modules: name and value.
    pub recorded: Vec<(String, Var)>,
    /// The names of the recorded values that are 0 or 1: spikes.
    pub binary: Vec<String>,
    /// The layers whose operations are counted, in the order in which they run.
    pub counted: Vec<CountedLayer>,
    /// Terms that modules add to the loss of a training step.
    pub losses: Vec<Var>,
    /// The layers whose weights a learning rule changes in this trace, without an optimizer.
    pub plastic: Vec<String>,
    /// What is unusual about layers, such as a neuron that never stops firing: a sentence each.
    pub warnings: Vec<String>,
}

/// The tensors of a trace, without its values: what remains of it in a compiled program, which other threads may run.
#[derive(Clone, Debug, Default)]
pub struct TracedTensors {
    /// The parameters, in order of use.
    pub parameters: Vec<TracedTensor>,
    /// The carried states.
    pub states: Vec<TracedState>,
    /// Carried states that start from a trainable value.
    pub starts: Vec<LearnedStart>,
    /// The tensors of the model that are not trained.
    pub buffers: Vec<TracedTensor>,
    /// As [`Traced::warnings`].
    pub warnings: Vec<String>,
}

impl Traced {
    /// The tensors without the traced values.
    pub fn tensors(&self) -> TracedTensors {
        TracedTensors {
            parameters: self.parameters.clone(),
            states: self.states.clone(),
            starts: self.starts.clone(),
            buffers: self.buffers.clone(),
            warnings: self.warnings.clone(),
        }
    }
}

/// A carried state whose reset value is learned.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedStart {
    /// The state's name.
    pub state: String,
    /// The parameter's name.
    pub parameter: String,
    /// The granularity of the parameter.
    pub granularity: Granularity,
    /// The bound of the constant.
    pub bound: Bound,
}

impl Context {
    /// Records a value of the current module under `name`, for figures and tests.
    pub fn record(&self, name: &str, value: &Var) {
        let path = self.tracer.path_of(name);
        if let Some(stepping) = &mut *self.stepping.borrow_mut() {
            return stepping.record(path, value);
        }
        self.traced
            .borrow_mut()
            .recorded
            .push((path, value.clone()));
    }

    /// Records values that are 0 or 1, as [`Context::record`].
    pub fn record_binary(&self, name: &str, value: &Var) {
        self.record(name, value);
        let path = self.tracer.path_of(name);
        let binary = &mut self.traced.borrow_mut().binary;
        // A layer may be called twice.
        if !binary.contains(&path) {
            binary.push(path);
        }
    }

    /// The paths of the recorded values.
    pub(crate) fn recorded_paths(&self) -> Vec<String> {
        let recorded = &self.traced.borrow().recorded;
        recorded.iter().map(|(path, _)| path.clone()).collect()
    }

    /// A recorded value of a layer, such as the spikes `trunk.lif.spike_seq` of the neuron `trunk.lif`.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0));
    /// let cx = Context::new(Mode::TRAIN, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
    /// cx.trace(&net, x)?;
    /// let firing_rate = cx.recorded("1.spike_seq")?.mean_all();
    /// assert!(firing_rate.shape().is_empty());
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`RuntimeError::UnknownTensor`].
    pub fn recorded(&self, path: &str) -> Result<Var> {
        let traced = self.traced.borrow();
        let found = traced.recorded.iter().find(|(known, _)| known == path);
        let known = traced.recorded.iter().map(|(known, _)| known.as_str());
        found
            .map(|(_, value)| value.clone())
            .ok_or_else(|| RuntimeError::unknown(path, known))
    }
}
