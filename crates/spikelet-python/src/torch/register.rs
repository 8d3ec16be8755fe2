//! Registration of the operators with libtorch's dispatcher.
//!
//! An operator has one tensor for each state and parameter, so that a call needs no lists. There is one pair for each
//! number of states and parameters:
//!
//! `layer_1_0(Tensor x, Tensor? s0, str definition, int time_steps) -> (Tensor, Tensor)`
//!
//! Each has an overload `eager` with the same kernel, for calls that need no gradient from the dispatcher: rules for
//! gradients that are written in Python cost more than a small call.

use super::kernel::{backward_entry, backward_of_saved_entry, forward_entry, forward_saving_entry};
use super::shim::{self, Kernel, LibraryHandle, Shim, VERSION};
use super::workers;
use crate::operator;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::sync::{Mutex, PoisonError};

const NAMESPACE: &CStr = c"spikelet";

/// The operators that are registered, by their numbers of states and parameters.
static KNOWN: Mutex<BTreeSet<(usize, usize)>> = Mutex::new(BTreeSet::new());

/// `prefix0, prefix1, …` of a type, each with a comma behind it.
fn list(kind: &str, prefix: &str, count: usize) -> String {
    (0..count)
        .map(|k| format!("{kind} {prefix}{k}, "))
        .collect()
}

/// The type of a number of tensors.
fn results(count: usize) -> String {
    match count {
        1 => "Tensor".to_string(),
        count => format!("({})", vec!["Tensor"; count].join(", ")),
    }
}

/// The names and schemas of the operators that save checkpoints of the states between the passes, in eager mode.
fn saving_schemas(states: usize, params: usize) -> [(String, String); 2] {
    let [(forward, of_forward), (backward, of_backward)] = schemas(states, params);
    let (forward_saving, of_saved) = (format!("{forward}.saving"), format!("{backward}.of_saved"));
    let (operands, _) = of_forward.split_once(" -> ").unwrap_or_default();
    let operands = operands.replacen(&forward, &forward_saving, 1);
    let first = format!("{of_saved}(Tensor saved, ");
    [
        (
            forward_saving,
            format!("{operands} -> {}", results(2 + states)),
        ),
        (
            of_saved,
            of_backward.replacen(&format!("{backward}("), &first, 1),
        ),
    ]
}

/// The names and schemas of the forward and backward operator.
pub(super) fn schemas(states: usize, params: usize) -> [(String, String); 2] {
    let forward = format!("layer_{states}_{params}");
    let backward = format!("layer_backward_{states}_{params}");
    let operands = format!(
        "Tensor x, {}{}str definition, int time_steps",
        list("Tensor?", "s", states),
        list("Tensor", "p", params)
    );
    let grads = list("Tensor?", "grad_s", states);
    [
        (
            forward.clone(),
            format!("{forward}({operands}) -> {}", results(1 + states)),
        ),
        (
            backward.clone(),
            format!(
                "{backward}(Tensor? grad_y, {grads}{operands}, int wanted) -> {}",
                results(1 + states + params)
            ),
        ),
    ]
}

/// Registers the operators with this many states and parameters, once in a process.
pub(super) fn register(
    torch: &str,
    gpu: Option<&str>,
    states: usize,
    params: usize,
) -> Result<(), String> {
    let shim = shim::load(torch, gpu)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.is_empty() {
        operator::set_threads(workers::threads());
        workers::is_forked();
    }
    if known.contains(&(states, params)) {
        return Ok(());
    }
    let text = |text: String| CString::new(text).map_err(|error| error.to_string());
    let [forward, backward] = schemas(states, params);
    let mut failed = 0;
    // SAFETY: strings outlive the calls; libraries of operators live as long as the process.
    unsafe {
        let mut library: LibraryHandle = std::ptr::null_mut();
        failed |= (shim.aoti_torch_library_init_fragment)(
            NAMESPACE.as_ptr(),
            NAMESPACE.as_ptr(),
            0,
            &mut library,
        );
        let mut define = |(name, schema): (String, String), entry: Kernel| -> Result<(), String> {
            let (name, schema) = (text(name)?, text(schema)?);
            failed |= (shim.aoti_torch_library_def)(library, schema.as_ptr());
            for key in [c"CPU", c"CUDA"] {
                failed |= implement(shim, key, &name, entry);
            }
            Ok(())
        };
        for overload in ["", ".eager"] {
            let with_overload = |(name, schema): &(String, String)| {
                let full = format!("{name}{overload}");
                (full.clone(), schema.replacen(name, &full, 1))
            };
            define(with_overload(&forward), forward_entry)?;
            define(with_overload(&backward), backward_entry)?;
        }
        let [saving, of_saved] = saving_schemas(states, params);
        define(saving, forward_saving_entry)?;
        define(of_saved, backward_of_saved_entry)?;
    }
    if failed != 0 {
        return Err(format!("libtorch did not take the operator {}", forward.1));
    }
    known.insert((states, params));
    Ok(())
}

/// Sets the kernel of an operator for a dispatch key.
///
/// # Safety
/// The operator must be defined.
unsafe fn implement(shim: &Shim, key: &CStr, name: &CStr, entry: Kernel) -> i32 {
    let mut library: LibraryHandle = std::ptr::null_mut();
    // SAFETY: strings outlive the calls; the entry points have the type of kernels.
    unsafe {
        (shim.aoti_torch_library_init_impl)(
            NAMESPACE.as_ptr(),
            key.as_ptr(),
            NAMESPACE.as_ptr(),
            0,
            &mut library,
        ) | (shim.torch_library_impl)(library, name.as_ptr(), entry, VERSION)
    }
}
