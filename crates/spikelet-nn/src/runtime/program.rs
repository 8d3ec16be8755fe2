//! Graphs that are planned, and graphs that are loaded on a device.

use super::input::{self, IndexLimit, Input};
use super::{VarStore, download};
use crate::RuntimeError;
use spikelet_core::{MemoryBudget, Result};
use spikelet_graph::op::HostTensor;
use spikelet_graph::{
    Backend, Buffer, Executor, Graph, HostFuture, InputKind, Plan, Target, Tensor,
};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A planned graph. Nothing is allocated yet.
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The limits of the inputs that are labels or indices. Passes may remove the operations that define
    /// them.
    limits: BTreeMap<String, IndexLimit>,
}

impl Planned {
    /// Plans within a budget, if there is one, of which `others` bytes are reserved for other programs.
    ///
    /// # Errors
    /// When the budget is too small.
    pub fn within(
        graph: Graph,
        target: &dyn Target,
        budget: Option<MemoryBudget>,
        others: usize,
    ) -> Result<Self> {
        let limits = input::index_limits(&graph);
        let Some(budget) = budget else {
            let plan = Plan::new(graph, target);
            return Ok(Self { plan, limits });
        };
        let natural = match budget {
            MemoryBudget::Fraction(_) => Plan::new(graph.clone(), target).peak_bytes() + others,
            MemoryBudget::Bytes(_) => 0,
        };
        let left = budget.bytes(natural).saturating_sub(others);
        let plan = Plan::within(graph, target, left)?;
        Ok(Self { plan, limits })
    }
}

/// A graph that is loaded on a device.
pub struct Program {
    backend: Arc<dyn Backend>,
    plan: Plan,
    executor: Box<dyn Executor>,
    inputs: BTreeMap<String, Input>,
    outputs: BTreeMap<String, Buffer>,
    /// Whether all inputs are known to be set.
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
        Self::within(graph, store, None)
    }

    /// As [`Program::new`], within a memory budget, if there is one.
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

    /// Loads a plan on the device of the store. Programs that are loaded with one store share one arena.
    ///
    /// # Errors
    /// As [`Program::new`].
    pub fn load(planned: Planned, store: &mut VarStore) -> Result<Self> {
        let Planned { plan, limits } = planned;
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
                let limit = limits.get(&input.name).copied();
                inputs.insert(input.name.clone(), Input::new(buffer.clone(), limit));
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

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The size of its arena in bytes.
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

    /// Sets an input: `program.set("x", &x)`, where `x` is a slice, an array or a `Vec` of f32 or i64, or a [`Tensor`].
    ///
    /// # Errors
    /// When there is no input of this name, it has another type or size, or a label is outside
    /// the classes that the network has scores for.
    pub fn set<'v>(&self, name: &str, values: impl Into<HostTensor<'v>>) -> Result<()> {
        self.set_host(name, values.into())
    }

    fn set_host(&self, name: &str, values: HostTensor<'_>) -> Result<()> {
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

    /// Sets inputs and runs once.
    ///
    /// # Errors
    /// As [`Program::set`] and [`Program::run`].
    pub fn run_with<'a>(
        &mut self,
        inputs: impl IntoIterator<Item = (&'a str, HostTensor<'a>)>,
    ) -> Result<()> {
        for (name, values) in inputs {
            self.set(name, values)?;
        }
        self.run()
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

    /// Starts to copy outputs of the last run to the host. A later run does not change the copies.
    ///
    /// # Errors
    /// As [`Program::get`].
    pub fn fetch(&self, names: &[&str]) -> Result<Box<dyn HostFuture>> {
        let found = names.iter().map(|name| self.output(name));
        let buffers = found.collect::<Result<Vec<&Buffer>>>()?;
        Ok(self.backend.fetch(&buffers)?)
    }

    /// Waits until the device has finished all work.
    ///
    /// # Errors
    /// When the device has failed.
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
