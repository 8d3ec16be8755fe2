//! A plan bound to buffers by name.

use spikelet_core::{Error, Result};
use spikelet_graph::op::HostTensor;
use spikelet_graph::{Backend, Buffer, Executor, InputKind, Plan, TensorType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The buffers of one device by name.
#[derive(Clone, Default)]
pub(super) struct Buffers(BTreeMap<String, Buffer>);

impl Buffers {
    pub(super) fn get(&self, name: &str) -> Option<&Buffer> {
        self.0.get(name)
    }

    pub(super) fn insert(&mut self, name: &str, buffer: Buffer) {
        self.0.insert(name.to_string(), buffer);
    }

    /// The buffer of this name, allocated if it does not exist.
    pub(super) fn get_or_allocate(
        &mut self,
        name: &str,
        ty: &TensorType,
        backend: &dyn Backend,
    ) -> Result<Buffer> {
        if let Some(known) = self.0.get(name) {
            return match known.ty == *ty {
                true => Ok(known.clone()),
                false => Err(differs(name, ty, &known.ty)),
            };
        }
        let buffer = backend.allocate(ty)?;
        self.0.insert(name.to_string(), buffer.clone());
        Ok(buffer)
    }

    /// The size of all buffers in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.values().map(|b| b.ty.bytes()).sum()
    }
}

fn differs(name: &str, given: &TensorType, expected: &TensorType) -> Error {
    spikelet_graph::Error::Type {
        name: name.to_string(),
        given: given.clone(),
        expected: expected.clone(),
    }
    .into()
}

/// A loaded plan.
pub(super) struct Program {
    backend: Arc<dyn Backend>,
    executor: Box<dyn Executor>,
    inputs: BTreeMap<String, Buffer>,
}

impl Program {
    /// Loads a plan. `find` returns the buffer of each input, and of each output that does not update an
    /// input, by name.
    pub(super) fn load(
        backend: &Arc<dyn Backend>,
        plan: &Plan,
        arena: &Buffer,
        mut find: impl FnMut(&str, InputKind, &TensorType) -> Result<Buffer>,
    ) -> Result<Self> {
        let mut inputs = BTreeMap::new();
        let mut buffers = vec![];
        for input in &plan.graph.inputs {
            let buffer = find(&input.name, input.kind, plan.graph.ty(input.value))?;
            inputs.insert(input.name.clone(), buffer.clone());
            buffers.push(buffer);
        }
        let mut outputs = vec![];
        for output in &plan.graph.outputs {
            outputs.push(match output.updates {
                Some(_) => None,
                None => {
                    let ty = plan.graph.ty(output.value);
                    Some(find(&output.name, InputKind::Data, ty)?)
                }
            });
        }
        Ok(Self {
            executor: backend.load_into(plan, &buffers, &outputs, arena)?,
            backend: backend.clone(),
            inputs,
        })
    }

    /// Sets an input, if the program reads it.
    pub(super) fn set(&self, name: &str, values: HostTensor<'_>) -> Result<()> {
        match self.inputs.get(name) {
            Some(buffer) => Ok(self.backend.upload(buffer, values)?),
            None => Ok(()),
        }
    }

    pub(super) fn run(&mut self) -> Result<()> {
        Ok(self.executor.run()?)
    }
}
