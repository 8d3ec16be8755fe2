//! Networks on a device, for batches of inputs that are the same at all time steps.

use super::network::TrainedLayers;
use spikelet_core::{Error, Result};
use spikelet_graph::{Backend, DType, Tensor, Var};
use spikelet_nn::module::{Context, Mode, Module, TracedTensors};
use spikelet_nn::runtime::{Program, VarStore, host};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of the input, `[N, …]`.
const INPUT: &str = "x";

/// The name of the output, `[N, …]`: the sum over the time steps of a program.
const OUTPUT: &str = "output";

/// The values of a batch in a network without spikes.
pub(super) struct AnnValues {
    /// The output, `[N, classes]`.
    pub output: Tensor,
    /// The values of each activation and their shape `[N, …]`.
    pub activations: Vec<(Vec<f64>, Vec<usize>)>,
}

/// A network without spikes.
pub(super) struct AnnProgram {
    module: Arc<dyn Module>,
    store: VarStore,
    dtype: DType,
    /// The recorded values of its activations.
    recorded: Vec<String>,
    /// By the shape of the batch.
    programs: BTreeMap<Vec<usize>, Program>,
}

/// A store with the tensors of a network, and their type.
fn stored(network: &TrainedLayers, backend: &Arc<dyn Backend>) -> Result<(VarStore, DType)> {
    let mut store = VarStore::new(backend.clone());
    for (name, tensor) in &network.tensors {
        store.insert(name, tensor)?;
    }
    let first = network.tensors.values().next();
    Ok((store, first.map_or(DType::F32, |tensor| tensor.ty().dtype)))
}

/// The sum of a sequence over time. A network that reduces time to one step has its mean.
fn summed(output: &Var, steps: usize) -> Var {
    let factor = steps as f64 / output.dim(0) as f64;
    let sum = output.sum(&[0]);
    match factor == 1.0 {
        true => sum,
        false => sum * factor,
    }
}

impl AnnProgram {
    /// A network whose activations have these paths.
    pub fn new(
        network: &TrainedLayers,
        backend: &Arc<dyn Backend>,
        activations: &[&str],
    ) -> Result<Self> {
        let (store, dtype) = stored(network, backend)?;
        let recorded = activations.iter();
        Ok(Self {
            module: network.module()?,
            store,
            dtype,
            recorded: recorded
                .map(|path| format!("{path}.activation_seq"))
                .collect(),
            programs: BTreeMap::new(),
        })
    }

    /// Runs a batch `[N, …]`.
    pub fn run(&mut self, batch: &Tensor) -> Result<AnnValues> {
        let batch = batch.cast(self.dtype);
        if !self.programs.contains_key(&batch.shape) {
            let cx = Context::new(Mode::EVAL, self.dtype).watching();
            let x = cx.tracer().input(INPUT, self.dtype, batch.shape.clone());
            let output = cx.trace(&*self.module, x.repeat_over_time(1))?;
            cx.tracer().output(OUTPUT, &summed(&output, 1));
            for name in &self.recorded {
                let value = cx.recorded(name)?;
                let shape = value.shape()[1..].to_vec();
                cx.tracer().output(name, &value.reshape(shape));
            }
            let program = cx.compile(&mut self.store, 0)?;
            self.programs.insert(batch.shape.clone(), program);
        }
        let program = self
            .programs
            .get_mut(&batch.shape)
            .ok_or_else(unreachable)?;
        program.run_with([(INPUT, host(&batch))])?;
        let activation = |name: &String| {
            let found = program.get(name)?;
            Ok((found.to_f64(), found.shape))
        };
        Ok(AnnValues {
            output: program.get(OUTPUT)?,
            activations: self
                .recorded
                .iter()
                .map(activation)
                .collect::<Result<_>>()?,
        })
    }
}

/// What a converted network did in some time steps of a batch.
pub(super) struct SnnValues {
    /// The sum of the output over the steps, `[N, classes]`.
    pub output: Tensor,
    /// The number of spikes of each neuron, for each layer.
    pub spikes: Vec<Vec<f64>>,
}

/// A converted network, some time steps at once: its memory does not depend on their number.
pub(super) struct SnnProgram {
    module: Arc<dyn Module>,
    store: VarStore,
    dtype: DType,
    /// The recorded spike counts of its neurons.
    recorded: Vec<String>,
    /// By the shape of the batch and the number of time steps.
    programs: BTreeMap<(Vec<usize>, usize), (Program, TracedTensors)>,
}

impl SnnProgram {
    /// A network whose neurons have these paths.
    pub fn new(
        network: &TrainedLayers,
        backend: &Arc<dyn Backend>,
        neurons: &[&str],
    ) -> Result<Self> {
        let (store, dtype) = stored(network, backend)?;
        let recorded = neurons.iter();
        Ok(Self {
            module: network.module()?,
            store,
            dtype,
            recorded: recorded.map(|path| format!("{path}.spike_count")).collect(),
            programs: BTreeMap::new(),
        })
    }

    /// Runs the next time steps of a batch `[N, …]`; the first ones if `begins`.
    pub fn run(&mut self, batch: &Tensor, steps: usize, begins: bool) -> Result<SnnValues> {
        let batch = batch.cast(self.dtype);
        let key = (batch.shape.clone(), steps);
        // Programs of another batch have states of their own, which would not be reset.
        self.programs.retain(|(shape, _), _| *shape == batch.shape);
        if !self.programs.contains_key(&key) {
            let made = self.compile(&batch.shape, steps)?;
            self.programs.insert(key.clone(), made);
        }
        let (program, tensors) = self.programs.get_mut(&key).ok_or_else(unreachable)?;
        if begins {
            let TracedTensors { states, starts, .. } = tensors;
            self.store.reset_states(states, starts, self.dtype)?;
        }
        program.run_with([(INPUT, host(&batch))])?;
        let spikes = |name: &String| Ok(program.get(name)?.to_f64());
        Ok(SnnValues {
            output: program.get(OUTPUT)?,
            spikes: self.recorded.iter().map(spikes).collect::<Result<_>>()?,
        })
    }

    fn compile(&mut self, shape: &[usize], steps: usize) -> Result<(Program, TracedTensors)> {
        let mode = Mode {
            training: false,
            carry_state: true,
        };
        let cx = Context::new(mode, self.dtype).counting_spikes();
        let x = cx.tracer().input(INPUT, self.dtype, shape);
        let output = cx.trace(&*self.module, x.repeat_over_time(steps))?;
        cx.tracer().output(OUTPUT, &summed(&output, steps));
        for name in &self.recorded {
            let count = cx.recorded(name)?;
            cx.tracer().output(name, &count);
        }
        let tensors = cx.traced().tensors();
        // Compiling resets the states: those of a batch that is running are kept.
        let kept: Vec<(String, Tensor)> = (tensors.states.iter())
            .filter(|state| {
                self.store
                    .ty(&state.name)
                    .is_some_and(|ty| ty.shape == state.shape)
            })
            .map(|state| Ok((state.name.clone(), self.store.get(&state.name)?)))
            .collect::<Result<_>>()?;
        let program = cx.compile(&mut self.store, 0)?;
        for (name, value) in &kept {
            self.store.set(name, value)?;
        }
        Ok((program, tensors))
    }
}

/// The error of a program that was just made and is not there.
fn unreachable() -> Error {
    Error::invalid(
        "conversion",
        "a program is missing",
        "report this as a fault",
    )
}
