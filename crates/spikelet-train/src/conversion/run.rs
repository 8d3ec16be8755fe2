//! Networks on a device, for batches of inputs that are the same at all time steps.

use super::factor::ActivationScale;
use super::network::TrainedLayers;
use spikelet_core::{Error, Result};
use spikelet_graph::{Backend, DType, Tensor, Var};
use spikelet_nn::module::{Context, Init, Mode, Module, TracedTensors, observer};
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
    /// The values of each activation, `[N, …]`.
    pub activations: Vec<Tensor>,
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
            let cx = Context::new(Mode::EVAL, self.dtype).observer(observer::States);
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
        let activations = self.recorded.iter().map(|name| program.get(name));
        Ok(AnnValues {
            output: program.get(OUTPUT)?,
            activations: activations.collect::<Result<_>>()?,
        })
    }
}

/// What a converted network did in the time steps of a batch until now.
pub(super) struct SnnValues {
    /// The sum of the output over the last steps, `[N, classes]`.
    pub output: Tensor,
    /// The layers of neurons.
    pub layers: Vec<LayerValues>,
}

/// The neurons of a layer in all time steps of a batch until now.
pub(super) struct LayerValues {
    /// The number of spikes.
    pub spikes: f64,
    /// Σ (θ·rate − activation)²
    pub squared_error: f64,
}

/// A converted network, some time steps at once: its memory does not depend on their number. Rates are compared with the
/// activations on the device.
pub(super) struct SnnProgram<'a> {
    network: &'a TrainedLayers,
    scales: &'a [ActivationScale],
    module: Arc<dyn Module>,
    store: VarStore,
    dtype: DType,
    /// The shape of the batch that runs.
    shape: Vec<usize>,
    /// By the number of time steps.
    programs: BTreeMap<usize, (Program, TracedTensors)>,
}

/// The input with the number of time steps until the end of a run, `[1]`.
const STEPS: &str = "steps";

/// The names of a layer's tensors: the number of spikes of each neuron, its activation, what a spike is worth, and the
/// values of [`LayerValues`] for each sample. No path of a network has spaces.
struct Names {
    total: String,
    activation: String,
    scale: String,
    spikes: String,
    squared_error: String,
}

impl Names {
    fn of(path: &str) -> Self {
        let name = |what: &str| format!("{what} of {path}");
        Self {
            total: name("all spikes"),
            activation: name("activation"),
            scale: name("scale"),
            spikes: name("spikes"),
            squared_error: name("squared error"),
        }
    }
}

impl<'a> SnnProgram<'a> {
    /// A network whose neurons have these paths and thresholds.
    pub fn new(
        network: &'a TrainedLayers,
        backend: &Arc<dyn Backend>,
        scales: &'a [ActivationScale],
    ) -> Result<Self> {
        let (store, dtype) = stored(network, backend)?;
        Ok(Self {
            network,
            scales,
            module: network.module()?,
            store,
            dtype,
            shape: vec![],
            programs: BTreeMap::new(),
        })
    }

    /// Begins a batch `[N, …]` whose activations are these.
    pub fn begin(&mut self, batch: &Tensor, activations: &[Tensor]) -> Result<()> {
        if self.shape != batch.shape {
            // Programs and states of another batch have other shapes.
            self.programs.clear();
            (self.store, _) = stored(self.network, &self.store.backend().clone())?;
            self.shape.clone_from(&batch.shape);
        }
        for (own, activation) in self.scales.iter().zip(activations) {
            let names = Names::of(&own.layer);
            let behind = activation.shape.len().saturating_sub(2);
            let values = own.scale.values();
            let shape = [&[values.len()], &vec![1; behind][..]].concat();
            let scale = Tensor::f64(shape, values).cast(self.dtype);
            self.store.insert(&names.activation, activation)?;
            self.store.insert(&names.scale, &scale)?;
        }
        // All programs have the same states.
        if let Some((_, TracedTensors { states, starts, .. })) = self.programs.values().next() {
            self.store.reset_states(states, starts, self.dtype)?;
        }
        Ok(())
    }

    /// Runs the next time steps of the batch, after which `all` have run.
    pub fn run(&mut self, batch: &Tensor, steps: usize, all: usize) -> Result<SnnValues> {
        let batch = batch.cast(self.dtype);
        if !self.programs.contains_key(&steps) {
            let made = self.compile(steps)?;
            self.programs.insert(steps, made);
        }
        let (program, _) = self.programs.get_mut(&steps).ok_or_else(unreachable)?;
        let all = Tensor::f64([1], [all as f64]).cast(self.dtype);
        program.run_with([(INPUT, host(&batch)), (STEPS, host(&all))])?;
        let sum = |name: &str| Ok::<f64, Error>(program.get(name)?.to_f64().iter().sum());
        let layers = self.scales.iter().map(|own| {
            let names = Names::of(&own.layer);
            Ok(LayerValues {
                spikes: sum(&names.spikes)?,
                squared_error: sum(&names.squared_error)?,
            })
        });
        Ok(SnnValues {
            output: program.get(OUTPUT)?,
            layers: layers.collect::<Result<_>>()?,
        })
    }

    fn compile(&mut self, steps: usize) -> Result<(Program, TracedTensors)> {
        let mode = Mode {
            training: false,
            carry_state: true,
        };
        let cx = Context::new(mode, self.dtype).observer(observer::SpikeCounts);
        let x = (cx.tracer()).input(INPUT, self.dtype, self.shape.clone());
        let all = cx.tracer().input(STEPS, self.dtype, [1]);
        let output = cx.trace(&*self.module, x.repeat_over_time(steps))?;
        cx.tracer().output(OUTPUT, &summed(&output, steps));
        for own in self.scales {
            self.trace_rates(&cx, &own.layer, &all)?;
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

    /// Adds the spikes of a layer to those before, and compares its rates with the activations.
    fn trace_rates(&self, cx: &Context, path: &str, all: &Var) -> Result<()> {
        let names = Names::of(path);
        let count = cx.recorded(&format!("{path}.spike_count"))?;
        let shape = count.shape()[1..].to_vec();
        let before = cx.state(&names.total, &shape[..], 0.0);
        let total = before.expand(&shape[..]) + count.cast(self.dtype).reshape(&shape[..]);
        cx.set_state(&before, &total);
        let stored = |name: &str| {
            let ty = self.store.ty(name).ok_or_else(unreachable)?;
            Ok::<Var, Error>(cx.buffer(name, ty.shape.clone(), Init::Constant(0.0)))
        };
        let (activation, scale) = (stored(&names.activation)?, stored(&names.scale)?);
        let error = Var::map(&[&total, all, &scale, &activation], |v| {
            let difference = &v[0] / &v[1] * &v[2] - &v[3];
            &difference * &difference
        });
        let of_samples = |value: &Var| value.flatten(1).sum(&[1]);
        cx.tracer().output(&names.spikes, &of_samples(&total));
        (cx.tracer()).output(&names.squared_error, &of_samples(&error));
        Ok(())
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
