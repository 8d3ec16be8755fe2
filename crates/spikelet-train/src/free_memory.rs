//! Whether a device has enough memory for programs.

use spikelet_core::{Error, Result};
use spikelet_graph::{Backend, InputKind, Plan, TensorType};
use spikelet_nn::runtime::VarStore;
use std::collections::{BTreeMap, BTreeSet};

/// The memory of programs that share an arena and the tensors of a store.
pub(super) fn shared_bytes(plans: &[&Plan]) -> usize {
    let arena = plans.iter().map(|plan| plan.arena_bytes).max();
    let mut lasting = BTreeMap::new();
    for plan in plans {
        let inputs = plan
            .graph
            .inputs
            .iter()
            .filter(|i| i.kind != InputKind::Data);
        lasting.extend(inputs.map(|i| (i.name.as_str(), plan.graph.ty(i.value).bytes())));
    }
    let own = plans.iter().map(|plan| own_bytes(plan));
    let parts = own.chain(lasting.into_values()).chain(arena);
    parts.fold(0, usize::saturating_add)
}

/// Bytes of the buffers that a program does not share: its batch and its outputs.
pub(super) fn own_bytes(plan: &Plan) -> usize {
    let inputs = plan
        .graph
        .inputs
        .iter()
        .filter(|i| i.kind == InputKind::Data);
    let outputs = plan.graph.outputs.iter().filter(|o| o.updates.is_none());
    let values = inputs.map(|i| i.value).chain(outputs.map(|o| o.value));
    let bytes = values.map(|v| plan.graph.ty(v).bytes());
    bytes.fold(0, usize::saturating_add)
}

/// How to lower the memory of an evaluation.
pub(super) const LESS_FOR_EVALUATION: &str = "evaluate fewer images at once (--eval-batch-size), or use \
fewer time steps (--time-steps) or 16-bit elements (--precision bf16)";

/// Checks that a device has enough memory for programs. Tensors that are in the store already are not counted.
///
/// # Errors
/// [`Error::Memory`].
pub(super) fn check_memory(
    program: &str,
    plans: &[&Plan],
    device: &dyn Backend,
    store: Option<&VarStore>,
    help: &str,
) -> Result<()> {
    check_free(program, missing(plans, store), device, help)
}

/// The memory of programs in addition to the tensors of the store.
pub(super) fn missing(plans: &[&Plan], store: Option<&VarStore>) -> usize {
    let inputs = plans.iter().flat_map(|plan| &plan.graph.inputs);
    let names: BTreeSet<&str> = inputs.map(|input| input.name.as_str()).collect();
    let there = names.iter().filter_map(|name| store?.ty(name));
    let there: usize = there.map(TensorType::bytes).sum();
    shared_bytes(plans).saturating_sub(there)
}

/// Checks that a device has `needed` bytes free.
///
/// # Errors
/// [`Error::Memory`].
pub(super) fn check_free(
    program: &str,
    needed: usize,
    device: &dyn Backend,
    help: &str,
) -> Result<()> {
    let Some(memory) = device.memory() else {
        return Ok(());
    };
    if needed <= memory.available {
        return Ok(());
    }
    Err(Error::Memory {
        program: program.to_string(),
        device: device.name(),
        needed,
        available: memory.available,
        total: memory.total,
        help: help.to_string(),
    })
}
