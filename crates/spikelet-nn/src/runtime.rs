//! Compiled programs and the tensors that outlive them.

mod input;

use crate::RuntimeError;
use crate::module::{LearnedStart, Traced, TracedState, TracedTensor};
use crate::neuron::Granularity;
use input::Input;
use spikelet_core::MemoryBudget;
use spikelet_core::Result;
use spikelet_graph::op::HostTensor;
use spikelet_graph::{
    Backend, Buffer, DType, Executor, Graph, HostFuture, InputKind, Plan, Target, Tensor,
    TensorType,
};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A host tensor's elements, to be read by a device.
pub fn host(tensor: &Tensor) -> HostTensor<'_> {
    tensor.into()
}

/// Copies a buffer to the host.
///
/// # Errors
/// When the device fails.
pub fn download(backend: &dyn Backend, buffer: &Buffer) -> Result<Tensor> {
    Ok(backend.fetch(&[buffer])?.wait()?.swap_remove(0))
}

/// Named tensors on a device: parameters, optimizer tensors, carried states. Programs that are
/// compiled with one store share the tensors that have the same name.
///
/// The tensors of a network on several devices are on each of them; [`VarStore::place`] sets the device of new
/// tensors go.
pub struct VarStore {
    backend: Arc<dyn Backend>,
    buffers: BTreeMap<String, Held>,
    /// Tensors that are not part of a checkpoint.
    scratch: BTreeMap<String, Held>,
    /// Programs run one after the other, so that they share it where it is large enough.
    arena: Option<Held>,
}

/// A tensor on its device.
#[derive(Clone)]
struct Held {
    backend: Arc<dyn Backend>,
    buffer: Buffer,
}

impl Held {
    fn new(backend: &Arc<dyn Backend>, ty: &TensorType) -> Result<Self> {
        Ok(Self {
            buffer: backend.allocate(ty)?,
            backend: backend.clone(),
        })
    }

    /// The buffer, for a program on `backend`.
    fn on(&self, backend: &Arc<dyn Backend>, name: &str) -> Result<Buffer> {
        if Arc::ptr_eq(&self.backend, backend) {
            return Ok(self.buffer.clone());
        }
        Err(RuntimeError::OtherDevice {
            name: name.to_string(),
            device: self.backend.name().to_string(),
            program: backend.name().to_string(),
        }
        .into())
    }
}

impl VarStore {
    /// No tensors yet.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self {
            backend,
            buffers: BTreeMap::new(),
            scratch: BTreeMap::new(),
            arena: None,
        }
    }

    /// Sets the device of new tensors.
    pub fn place(&mut self, backend: &Arc<dyn Backend>) {
        self.backend = backend.clone();
    }

    /// All tensors, copied to one device.
    ///
    /// # Errors
    /// When a device fails or has not enough memory.
    pub fn gathered(&self, backend: &Arc<dyn Backend>) -> Result<Self> {
        let mut all = Self::new(backend.clone());
        for name in self.buffers.keys() {
            all.insert(name, &self.get(name)?)?;
        }
        Ok(all)
    }

    /// A store of the same names; `make` gives each tensor's device and buffer there, by its device
    /// and type here.
    pub fn mirrored(
        &self,
        backend: &Arc<dyn Backend>,
        make: impl Fn(&Arc<dyn Backend>, &TensorType) -> Option<(Arc<dyn Backend>, Buffer)>,
    ) -> Self {
        let mirrored = |all: &BTreeMap<String, Held>| {
            let each = all.iter().filter_map(|(name, held)| {
                let (backend, buffer) = make(&held.backend, &held.buffer.ty)?;
                Some((name.clone(), Held { backend, buffer }))
            });
            each.collect()
        };
        Self {
            backend: backend.clone(),
            buffers: mirrored(&self.buffers),
            scratch: mirrored(&self.scratch),
            arena: None,
        }
    }

    /// The buffer of a tensor on a device, allocated if it is new.
    pub fn buffer(
        &mut self,
        backend: &Arc<dyn Backend>,
        name: &str,
        ty: &TensorType,
        lasts: bool,
    ) -> Result<Buffer> {
        let map = match lasts {
            true => &mut self.buffers,
            false => &mut self.scratch,
        };
        if !map.contains_key(name) {
            map.insert(name.to_string(), Held::new(backend, ty)?);
        }
        map[name].on(backend, name)
    }

    /// The arena that programs on this store's device share, allocated, or allocated again if the plan needs
    /// more. One that is replaced goes with the last program that was loaded with it.
    ///
    /// # Errors
    /// When memory is short.
    pub fn arena(&mut self, plan: &Plan) -> Result<Buffer> {
        let fits = |held: &&Held| {
            Arc::ptr_eq(&held.backend, &self.backend) && held.buffer.ty.bytes() >= plan.arena_bytes
        };
        if let Some(held) = self.arena.as_ref().filter(fits) {
            return Ok(held.buffer.clone());
        }
        // The old one is free again where no program has it.
        self.arena = None;
        let buffer = self.backend.arena(plan)?;
        self.arena = Some(Held {
            backend: self.backend.clone(),
            buffer: buffer.clone(),
        });
        Ok(buffer)
    }

    /// Bytes of the arena that programs share.
    pub fn arena_bytes(&self) -> usize {
        self.arena.as_ref().map_or(0, |held| held.buffer.ty.bytes())
    }

    /// The device of new tensors.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.buffers.keys().map(String::as_str)
    }

    /// Element type and shape of a tensor.
    pub fn ty(&self, name: &str) -> Option<&TensorType> {
        self.buffers.get(name).map(|held| &held.buffer.ty)
    }

    /// The values of a tensor.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownTensor`].
    pub fn get(&self, name: &str) -> Result<Tensor> {
        match self.buffers.get(name) {
            Some(held) => download(&*held.backend, &held.buffer),
            None => Err(RuntimeError::unknown(name, self.names())),
        }
    }

    /// Sets the values of a tensor that the store has.
    ///
    /// ```
    /// use spikelet::prelude::*;
    /// let mut store = VarStore::new(spikelet::device::cpu()?);
    /// store.insert("weight", &Tensor::f32([2], [1.0, 2.0]))?;
    /// store.set("weight", &Tensor::f32([2], [3.0, 4.0]))?;
    /// assert!(store.set("wieght", &Tensor::f32([2], [5.0, 6.0])).is_err());
    /// # Ok::<(), spikelet::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no tensor of this name, or it has another type.
    pub fn set(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        let Some(held) = self.buffers.get(name) else {
            return Err(RuntimeError::unknown(name, self.names()));
        };
        let (given, expected) = (tensor.ty(), &held.buffer.ty);
        if given != *expected {
            return Err(spikelet_graph::Error::Type {
                name: name.to_string(),
                given,
                expected: expected.clone(),
            }
            .into());
        }
        Ok(held.backend.upload(&held.buffer, host(tensor))?)
    }

    /// As [`VarStore::set`]; a tensor of a new name is added, on the device of new tensors.
    ///
    /// # Errors
    /// When a tensor of this name has another type, or the device has not enough memory.
    pub fn insert(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        if !self.buffers.contains_key(name) {
            let held = Held::new(&self.backend, &tensor.ty())?;
            self.buffers.insert(name.to_string(), held);
        }
        self.set(name, tensor)
    }

    /// Makes the parameters and states that a trace has met and the store has not, with their
    /// initial values.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn initialize(&mut self, traced: &Traced, float: DType, seed: u64) -> Result<()> {
        for TracedTensor { name, shape, init } in traced.parameters.iter().chain(&traced.buffers) {
            if !self.buffers.contains_key(name) {
                let values = init.values(name, seed, shape.iter().product());
                self.insert(name, &Tensor::f32(shape.clone(), values).cast(float))?;
            }
        }
        self.reset(traced, float)
    }

    /// Sets the carried states back to their reset values, learned ones as they are now; states of
    /// another shape (another batch size) are allocated again.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn reset(&mut self, traced: &Traced, float: DType) -> Result<()> {
        for TracedState { name, shape, reset } in &traced.states {
            if self.ty(name).is_some_and(|ty| ty.shape != *shape) {
                self.buffers.remove(name);
            }
            let learned = traced.starts.iter().find(|start| start.state == *name);
            let values = match learned {
                Some(start) => start.values(&self.get(&start.parameter)?, shape),
                None => vec![f64::from(*reset as f32); shape.iter().product()],
            };
            self.insert(name, &Tensor::f64(shape.clone(), values).cast(float))?;
        }
        Ok(())
    }
}

impl LearnedStart {
    /// The reset values of the state of shape `[N, C, …]`, given the parameter.
    fn values(&self, parameter: &Tensor, shape: &[usize]) -> Vec<f64> {
        let own = parameter.to_f64();
        let behind_channels: usize = shape.iter().skip(2).product();
        let place = |k: usize| match self.granularity {
            Granularity::Channel => k / behind_channels.max(1),
            _ => k,
        };
        let count = shape.iter().product();
        (0..count)
            .map(|k| self.bound.value(own[place(k) % own.len()]))
            .collect()
    }
}

/// A graph that is planned; nothing is allocated for it yet.
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// How many scores the labels of each input choose from: passes may hide it.
    classes: BTreeMap<String, usize>,
}

impl Planned {
    /// Plans under a budget if there is one, of which `others` bytes are left to others.
    pub fn within(
        graph: Graph,
        target: &dyn Target,
        budget: Option<MemoryBudget>,
        others: usize,
    ) -> Result<Self> {
        let classes = input::classes(&graph);
        let Some(budget) = budget else {
            let plan = Plan::new(graph, target);
            return Ok(Self { plan, classes });
        };
        let natural = match budget {
            MemoryBudget::Share(_) => Plan::new(graph.clone(), target).peak_bytes() + others,
            MemoryBudget::Bytes(_) => 0,
        };
        let left = budget.bytes(natural).saturating_sub(others);
        let plan = Plan::within(graph, target, left)?;
        Ok(Self { plan, classes })
    }
}

/// A graph that is loaded on a device.
pub struct Program {
    backend: Arc<dyn Backend>,
    plan: Plan,
    executor: Box<dyn Executor>,
    inputs: BTreeMap<String, Input>,
    outputs: BTreeMap<String, Buffer>,
    /// Whether all inputs were found to be set; they stay so.
    complete: bool,
    has_run: bool,
}

impl Program {
    /// Plans a graph for the store's device. Parameters and states are those of the store, by
    /// name; a state that the store does not have (an optimizer's tensor) starts at zero.
    ///
    /// # Errors
    /// When memory is short, the store lacks a parameter, or a tensor of the store has another type
    /// than the graph.
    pub fn new(graph: Graph, store: &mut VarStore) -> Result<Self> {
        let classes = input::classes(&graph);
        let plan = Plan::new(graph, &*store.backend);
        Self::load(Planned { plan, classes }, store)
    }

    /// As [`Program::new`], with at most so much memory, if a budget is given.
    ///
    /// # Errors
    /// As [`Program::new`]; when the budget is too small.
    pub fn within(
        graph: Graph,
        store: &mut VarStore,
        budget: Option<MemoryBudget>,
    ) -> Result<Self> {
        let planned = Planned::within(graph, &*store.backend, budget, 0)?;
        Self::load(planned, store)
    }

    /// Makes a plan for the store's device ready to run. Programs that are loaded with one store
    /// share one arena.
    ///
    /// # Errors
    /// As [`Program::new`].
    pub fn load(planned: Planned, store: &mut VarStore) -> Result<Self> {
        let Planned { plan, classes } = planned;
        let lacks = |i: &&spikelet_graph::Input| {
            i.kind == InputKind::Parameter && !store.buffers.contains_key(&i.name)
        };
        if let Some(parameter) = plan.graph.inputs.iter().find(lacks) {
            let name = parameter.name.clone();
            return Err(RuntimeError::MissingParameter { name }.into());
        }
        let backend = store.backend.clone();
        let mut inputs = BTreeMap::new();
        let mut buffers = vec![];
        for input in &plan.graph.inputs {
            let ty = plan.graph.ty(input.value);
            let buffer = match input.kind {
                InputKind::Data => backend.allocate(ty)?,
                _ => {
                    let lasts = !store.scratch.contains_key(&input.name);
                    store.buffer(&backend, &input.name, ty, lasts)?
                }
            };
            if input.kind == InputKind::Data {
                let classes = classes.get(&input.name).copied();
                inputs.insert(input.name.clone(), Input::new(buffer.clone(), classes));
            }
            buffers.push(buffer);
        }
        let mut outputs = BTreeMap::new();
        let mut fresh = vec![];
        for output in &plan.graph.outputs {
            fresh.push(match output.updates {
                Some(_) => None,
                None => {
                    let buffer = backend.allocate(plan.graph.ty(output.value))?;
                    outputs.insert(output.name.clone(), buffer.clone());
                    Some(buffer)
                }
            });
        }
        let arena = store.arena(&plan)?;
        let executor = backend.load_into(&plan, &buffers, &fresh, &arena)?;
        Ok(Self {
            backend,
            plan,
            executor,
            inputs,
            outputs,
            complete: false,
            has_run: false,
        })
    }

    /// The plan that runs.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The arena that the device holds for it, in bytes.
    pub fn arena_bytes(&self) -> usize {
        self.executor.arena_bytes()
    }

    /// The buffer of an input, to be written by a device.
    pub fn input(&self, name: &str) -> Option<&Buffer> {
        let input = self.inputs.get(name)?;
        input.mark_given();
        Some(&input.buffer)
    }

    /// Whether the program reads an input of this name.
    pub fn has_input(&self, name: &str) -> bool {
        self.inputs.contains_key(name)
    }

    /// Sets an input.
    ///
    /// # Errors
    /// When there is no input of this name, it has another type or size, or a label is outside
    /// the classes that the network has scores for.
    pub fn set(&self, name: &str, values: HostTensor<'_>) -> Result<()> {
        let Some(input) = self.inputs.get(name) else {
            return Err(RuntimeError::unknown(
                name,
                self.inputs.keys().map(String::as_str),
            ));
        };
        input.check(name, &values)?;
        self.backend.upload(&input.buffer, values)?;
        input.mark_given();
        Ok(())
    }

    /// Runs once.
    ///
    /// # Errors
    /// When an input was never set, or the device fails.
    pub fn run(&mut self) -> Result<()> {
        self.check_inputs()?;
        self.executor.run()?;
        self.has_run = true;
        Ok(())
    }

    /// Runs once and returns the seconds that each kernel took.
    ///
    /// # Errors
    /// When an input was never set, or the device fails.
    pub fn profile(&mut self) -> Result<Vec<f64>> {
        self.check_inputs()?;
        let seconds = self.executor.profile()?;
        self.has_run = true;
        Ok(seconds)
    }

    /// Checks that all inputs were set.
    fn check_inputs(&mut self) -> Result<()> {
        if self.complete {
            return Ok(());
        }
        for (name, input) in &self.inputs {
            input.check_given(name)?;
        }
        self.complete = true;
        Ok(())
    }

    /// An output of the last run.
    ///
    /// # Errors
    /// When there is no output of this name, or the program has not run yet.
    pub fn get(&self, name: &str) -> Result<Tensor> {
        download(&*self.backend, self.output(name)?)
    }

    /// The buffer of an output, which a run has written.
    fn output(&self, name: &str) -> Result<&Buffer> {
        match self.outputs.get(name) {
            Some(buffer) if self.has_run => Ok(buffer),
            Some(_) => {
                let name = name.to_string();
                Err(RuntimeError::NotRun { name }.into())
            }
            None => Err(RuntimeError::unknown(
                name,
                self.outputs.keys().map(String::as_str),
            )),
        }
    }

    /// Starts to copy outputs of the last run to the host; a later run does not change what
    /// arrives.
    ///
    /// # Errors
    /// As [`Program::get`].
    pub fn fetch(&self, names: &[&str]) -> Result<Box<dyn HostFuture>> {
        let found = names.iter().map(|name| self.output(name));
        let buffers = found.collect::<Result<Vec<&Buffer>>>()?;
        Ok(self.backend.fetch(&buffers)?)
    }

    /// Waits until everything that was started on the device is done.
    ///
    /// # Errors
    /// When something that was started has failed.
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.backend.synchronize()?)
    }

    /// A scalar output of the last run.
    ///
    /// # Errors
    /// As [`Program::get`].
    pub fn scalar(&self, name: &str) -> Result<f64> {
        let values = self.get(name)?.to_f64();
        values
            .first()
            .copied()
            .ok_or_else(|| RuntimeError::unknown(name, std::iter::empty()))
    }
}

impl fmt::Debug for VarStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VarStore")
            .field("device", &self.backend.name())
            .field("tensors", &self.names().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned")
            .field("kernels", &self.plan.kernels.len())
            .field("peak_bytes", &self.plan.peak_bytes())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("device", &self.backend.name())
            .field("inputs", &self.inputs.keys())
            .field("outputs", &self.outputs.keys())
            .field("has_run", &self.has_run)
            .finish_non_exhaustive()
    }
}
