//! A call of an operator: tensors in, tensors out.

use super::layout::{Layout, place};
use super::shim::shim;
use super::tensor::{self, Axes, Device, Tensor, Text, elements};
use super::workers::TorchThreads;
use super::workspace;
use crate::errors::in_python;
use crate::operator::{Call, Compiled, Definition, Pass, Place, compiled, signature};
use spikelet_graph::TensorType;
use std::sync::Arc;

/// The most tensors of a call.
const MAX: usize = 64;

fn stream(place: Place) -> Result<usize, String> {
    let Place::Cuda(index) = place else {
        return Ok(0);
    };
    let get = (shim().current_stream).ok_or("this libtorch has no CUDA")?;
    let mut stream = std::ptr::null_mut();
    // SAFETY: one pointer is written.
    match unsafe { get(index, &mut stream) } {
        0 => Ok(stream as usize),
        code => Err(format!(
            "libtorch has no current stream for cuda:{index} (error {code})"
        )),
    }
}

/// The operands or results of a call.
struct Slots {
    tensors: [Option<Tensor>; MAX],
    count: usize,
}

impl Slots {
    fn new() -> Self {
        Self {
            tensors: [const { None }; MAX],
            count: 0,
        }
    }

    fn push(&mut self, tensor: Option<Tensor>) {
        self.tensors[self.count] = tensor;
        self.count += 1;
    }

    /// The addresses of the tensors that a plan needs, with checks of their types.
    fn addresses(
        &self,
        name: &str,
        kind: &str,
        wanted: &[(usize, TensorType)],
        device: Device,
    ) -> Result<[usize; MAX], String> {
        let mut all = [0; MAX];
        for (slot, ty) in wanted {
            let tensor = self.tensors.get(*slot).and_then(Option::as_ref);
            let Some(tensor) = tensor else {
                return Err(format!("{name}: {kind} {slot} is missing"));
            };
            let view = tensor.view()?;
            if view.dtype != tensor::code(ty.dtype)
                || elements(view.sizes) != ty.len()
                || view.device != device
            {
                return Err(format!(
                    "{name}: {kind} {slot} has shape {:?}, expected {} elements of {} on the device of x; states and \
                     parameters of 16-bit inputs are float32",
                    view.sizes,
                    ty.len(),
                    ty.dtype
                ));
            }
            all[*slot] = view.address;
        }
        Ok(all)
    }
}

/// A tensor in the layout of a sequence or of a step.
fn operand(
    name: &str,
    what: &str,
    tensor: Option<Tensor>,
    [sizes, strides]: [Axes; 2],
) -> Result<Option<Tensor>, String> {
    let Some(tensor) = tensor else {
        return Ok(None);
    };
    let (sizes, strides) = (sizes.get(), strides.get());
    let given = tensor.view()?.sizes;
    if given != sizes {
        return Err(format!(
            "{name}: {what} has shape {given:?}, expected {sizes:?}"
        ));
    }
    tensor.with_strides(strides).map(Some)
}

/// State `k` in the layout of a step, with checks of its type and its device.
fn state(
    definition: &Definition,
    layout: &Layout,
    tensor: Option<Tensor>,
    k: usize,
) -> Result<Option<Tensor>, String> {
    let name = definition.name();
    // The operator may have more states than the layer.
    let what = || {
        let shape: Vec<usize> = layout
            .sizes
            .get()
            .iter()
            .map(|size| *size as usize)
            .collect();
        let known = signature(definition, &shape).ok();
        let state = known.and_then(|known| known.states.into_iter().nth(k));
        state.map_or_else(
            || format!("state {k}"),
            |state| format!("the state `{}`", definition.own_name(&state.name)),
        )
    };
    if let Some(tensor) = &tensor {
        let view = tensor.view()?;
        if view.device != layout.device {
            return Err(format!("{name}: {} is on another device than x", what()));
        }
        if view.dtype != layout.float() {
            let of = |code| {
                tensor::dtype(code).map_or("another type".to_string(), |dtype| dtype.to_string())
            };
            return Err(format!(
                "{name}: {} is {}, expected {} for an x of {}; states of 16-bit inputs are float32",
                what(),
                of(view.dtype),
                of(layout.float()),
                layout.dtype
            ));
        }
    }
    let like = layout.state(definition, k)?;
    let given = tensor.as_ref().map(Tensor::view).transpose()?;
    match given.is_some_and(|view| view.sizes != like[0].get()) {
        true => operand(name, &what(), tensor, like),
        false => operand(name, "a state", tensor, like),
    }
}

/// The arguments of a forward call: x, states, parameters, definition, time steps.
struct Arguments {
    /// In this order, in the layout of the call.
    operands: Slots,
    layout: Layout,
    definition: Arc<Definition>,
    /// The states that are given.
    given: u64,
}

impl Arguments {
    /// # Safety
    /// The words must be the arguments of a call, which the kernel owns.
    unsafe fn take(words: &[u64], states: usize, params: usize) -> Result<Self, String> {
        // All are taken first: an error frees them.
        let mut given = Slots::new();
        for (k, word) in words[..=states + params].iter().enumerate() {
            given.push(match (1..=states).contains(&k) {
                // SAFETY: the types are those of the schema.
                true => unsafe { Tensor::optional(*word) },
                // SAFETY: as above.
                false => Some(unsafe { Tensor::argument(*word) }),
            });
        }
        // SAFETY: as above.
        let text = unsafe { Text::argument(words[states + params + 1]) };
        let definition =
            Definition::find(text.get()?).map_err(|error| in_python(&error.to_string()))?;
        let name = definition.name();
        let [x, rest @ ..] = given.tensors;
        let x = x.ok_or_else(|| format!("{name}: x is missing"))?;
        let layout = Layout::new(&definition, &x, words[states + params + 2] as i64)?;
        let mut operands = Slots::new();
        operands.push(Some(x.with_strides(layout.strides.get())?));
        let mut mask = 0;
        for (k, tensor) in rest.into_iter().take(states + params).enumerate() {
            if k < states {
                mask |= u64::from(tensor.is_some()) << k;
                operands.push(state(&definition, &layout, tensor, k)?);
            } else if let Some(tensor) = tensor {
                let strides = Axes::contiguous(tensor.view()?.sizes)?;
                operands.push(Some(tensor.with_strides(strides.get())?));
            }
        }
        Ok(Self {
            operands,
            layout,
            definition,
            given: mask,
        })
    }

    fn compiled(&self, pass: Pass) -> Result<Arc<Compiled>, String> {
        let request = self.layout.request(&self.definition, pass, self.given);
        compiled(&self.definition, place(self.layout.device)?, &request)
            .map_err(|error| in_python(&error.to_string()))
    }
}

impl Arguments {
    /// The backward pass: that of the saved values, if they are those that it reads.
    fn backward_pass(
        &self,
        saved: Option<&Tensor>,
        present: u64,
        wanted: u64,
    ) -> Result<Arc<Compiled>, String> {
        // Bytes one behind another, on the device of the others: not what another operator made of them.
        let has_values = |saved: &Tensor| {
            saved.view().map(|view| {
                let bytes = view.dtype == shim().byte && view.strides == [1];
                bytes && view.device == self.layout.device && elements(view.sizes) > 0
            })
        };
        if let Some(saved) = saved
            && has_values(saved)?
        {
            let forward = self.compiled(Pass::ForwardSaving)?;
            let backward = self.compiled(Pass::BackwardOfSaved { present, wanted })?;
            let bytes = elements(saved.view()?.sizes);
            if backward.saved() == forward.saved() && backward.saved_bytes() == bytes {
                return Ok(backward);
            }
        }
        self.compiled(Pass::Backward { present, wanted })
    }
}

/// Runs a compiled pass; `saved` has the values that are saved between the passes.
fn run(
    name: &str,
    compiled: &Compiled,
    device: Device,
    operands: &Slots,
    results: &Slots,
    saved: Option<&Tensor>,
) -> Result<(), String> {
    let place = place(device)?;
    let from = operands.addresses(name, "operand", compiled.operands(), device)?;
    let to = results.addresses(name, "result", compiled.results(), device)?;
    let saved = saved.map(Tensor::address).transpose()?.unwrap_or(0);
    let call = |workspace: usize| {
        let call = Call {
            saved,
            operands: &from[..operands.count],
            results: &to[..results.count],
            workspace,
            stream: stream(place)?,
            workers: &TorchThreads,
        };
        // SAFETY: types, sizes and devices were compared; tensors are dense with one order of their elements; memory
        // that libtorch's allocator gets back is only used again behind the work of the stream.
        unsafe { compiled.run(&call) }.map_err(|error| in_python(&error.to_string()))
    };
    match (compiled.workspace_bytes(), place) {
        (0, _) => call(0),
        (bytes, Place::Cpu) => workspace::with(bytes, call),
        (bytes, Place::Cuda(_)) => {
            let memory = Tensor::empty(&[bytes as i64], &[1], shim().byte, device)?;
            call(memory.address()?)
        }
    }
}

/// Moves results to the stack.
///
/// # Safety
/// The stack must have room for the results.
unsafe fn give(stack: *mut u64, results: Slots) {
    for (k, tensor) in results.tensors.into_iter().flatten().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { stack.add(k).write(tensor.into_word()) };
    }
}

/// Whether a pass saves values for the other, or reads those that the other saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saving {
    Nothing,
    Checkpoints,
}

/// The forward operator: x, states, parameters, definition, time steps. With checkpoints there is one more result, their
/// memory; it may be empty.
///
/// # Safety
/// The stack must be that of a call of the operator, with room for the arguments and the results.
pub(super) unsafe fn forward(
    stack: *mut u64,
    inputs: usize,
    outputs: usize,
    saving: Saving,
) -> Result<(), String> {
    // SAFETY: the caller's promise.
    let words = unsafe { std::slice::from_raw_parts(stack, inputs) };
    let saves = saving == Saving::Checkpoints;
    let states = outputs - 1 - usize::from(saves);
    // SAFETY: the types are those of the schema.
    let arguments = unsafe { Arguments::take(words, states, inputs - 3 - states) }?;
    let layout = &arguments.layout;
    let pass = match saves && arguments.definition.elementwise {
        true => Pass::ForwardSaving,
        false => Pass::Forward,
    };
    let compiled = match layout.is_empty() {
        true => None,
        false => Some(arguments.compiled(pass)?),
    };
    let of_y = |compiled: &Arc<Compiled>| {
        let y = compiled.results().iter().find(|(slot, _)| *slot == 0);
        y.map(|(_, ty)| ty.shape[0])
    };
    let steps = compiled.as_ref().and_then(of_y);
    let definition = &arguments.definition;
    let device = layout.device;
    let empty = |[sizes, strides]: [Axes; 2], code| {
        Tensor::empty(sizes.get(), strides.get(), code, device).map(Some)
    };
    let mut results = Slots::new();
    let of_y = layout.output(definition, steps.unwrap_or(layout.time_steps))?;
    results.push(empty(of_y, tensor::code(layout.dtype))?);
    for k in 0..states {
        results.push(empty(layout.state(definition, k)?, layout.float())?);
    }
    let mut saved = None;
    if saves {
        let bytes = compiled
            .as_ref()
            .map_or(0, |compiled| compiled.saved_bytes());
        saved = Some(Tensor::empty(&[bytes as i64], &[1], shim().byte, device)?);
    }
    if let Some(compiled) = compiled {
        let name = arguments.definition.name();
        // One output and the states: a result that no kernel writes would be uninitialized.
        if compiled.results().len() != results.count {
            return Err(format!(
                "{name}: the operator has {states} states, the layer has {}; use the operator with as many",
                compiled.results().len().saturating_sub(1)
            ));
        }
        run(
            name,
            &compiled,
            device,
            &arguments.operands,
            &results,
            saved.as_ref(),
        )?;
    }
    if saves {
        results.push(saved);
    }
    // SAFETY: the stack has room for the results.
    unsafe { give(stack, results) };
    Ok(())
}

/// The backward operator: the gradients of y and of the last states, the arguments of the forward operator, and a mask of
/// the operands whose gradients are wanted. The gradients of the others are tensors without elements. With checkpoints
/// their memory is the first argument.
///
/// # Safety
/// As [`forward`].
pub(super) unsafe fn backward(
    stack: *mut u64,
    inputs: usize,
    outputs: usize,
    saving: Saving,
) -> Result<(), String> {
    // SAFETY: the caller's promise.
    let words = unsafe { std::slice::from_raw_parts(stack, inputs) };
    let (saved, words) = match saving {
        Saving::Nothing => (None, words),
        // SAFETY: the types are those of the schema.
        Saving::Checkpoints => (Some(unsafe { Tensor::argument(words[0]) }), &words[1..]),
    };
    // 1 + states gradients, 1 + states + params operands, a definition, the time steps and a mask; 1 + states + params
    // results.
    let states = words.len() - outputs - 4;
    let params = outputs - 1 - states;
    let mut grads = Slots::new();
    for word in &words[..=states] {
        // SAFETY: the types are those of the schema.
        grads.push(unsafe { Tensor::optional(*word) });
    }
    // SAFETY: as above.
    let arguments = unsafe { Arguments::take(&words[1 + states..], states, params) }?;
    let wanted = words[words.len() - 1];
    let layout = &arguments.layout;
    let name = arguments.definition.name();
    let present = (0..=states).filter(|k| grads.tensors[*k].is_some());
    let present = present.fold(0, |mask, k| mask | 1 << k);
    let compiled = match layout.is_empty() || present == 0 || wanted == 0 {
        true => None,
        false => Some(arguments.backward_pass(saved.as_ref(), present, wanted)?),
    };
    let mut results = Slots::new();
    for k in 0..outputs {
        let is_wanted = wanted >> k & 1 == 1;
        let made = match k {
            _ if !is_wanted => Tensor::empty(&[0], &[1], layout.float(), layout.device)?,
            0 => Tensor::empty(
                layout.sizes.get(),
                layout.strides.get(),
                tensor::code(layout.dtype),
                layout.device,
            )?,
            k if k <= states => {
                let [sizes, strides] = layout.state(&arguments.definition, k - 1)?;
                Tensor::empty(sizes.get(), strides.get(), layout.float(), layout.device)?
            }
            _ => {
                let param = arguments.operands.tensors[k].as_ref();
                let view = param.ok_or("a parameter is missing")?.view()?;
                let strides = Axes::contiguous(view.sizes)?;
                Tensor::empty(view.sizes, strides.get(), layout.float(), layout.device)?
            }
        };
        if is_wanted && compiled.is_none() {
            made.clear()?;
        }
        results.push(Some(made));
    }
    if let Some(compiled) = compiled {
        let y_steps = |tensor: &Tensor| tensor.view().map(|view| view.sizes[0] as usize);
        let mut operands = Slots::new();
        for (k, grad) in grads.tensors.into_iter().take(1 + states).enumerate() {
            operands.push(match k {
                0 => {
                    let steps = grad.as_ref().map(y_steps).transpose()?;
                    let steps = steps.unwrap_or(layout.time_steps);
                    let like = layout.output(&arguments.definition, steps)?;
                    operand(name, "the gradient of y", grad, like)?
                }
                _ => {
                    let like = layout.state(&arguments.definition, k - 1)?;
                    operand(name, "the gradient of a state", grad, like)?
                }
            });
        }
        let device = layout.device;
        let Arguments {
            operands: own,
            definition,
            ..
        } = arguments;
        for tensor in own.tensors.into_iter().take(1 + states + params) {
            operands.push(tensor);
        }
        let name = definition.name();
        let gradients = (0..outputs).filter(|k| wanted >> k & 1 == 1).count();
        if compiled.results().len() != gradients {
            return Err(format!(
                "{name}: gradients of {gradients} operands were asked for, the layer has those of {}; use the operator \
                 with as many states and parameters as the layer",
                compiled.results().len()
            ));
        }
        run(name, &compiled, device, &operands, &results, saved.as_ref())?;
    }
    // SAFETY: the stack has room for the results.
    unsafe { give(stack, results) };
    Ok(())
}
