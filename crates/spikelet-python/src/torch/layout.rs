//! The layout of the tensors of a call.

use super::shim::shim;
use super::tensor::{self, Axes, Device, Tensor, elements, is_dense};
use crate::operator::{Definition, Pass, Place, Request, Shapes};
use spikelet_graph::DType;

/// The input of a layer: its properties, and the layout that all tensors of a call have.
pub(super) struct Layout {
    pub(super) dtype: DType,
    pub(super) device: Device,
    pub(super) sizes: Axes,
    /// Of `[T, N, …]`; those of a step are behind the first. In the order of x's memory if the layer allows it, or
    /// else contiguous.
    pub(super) strides: Axes,
    pub(super) time_steps: usize,
}

/// Where a tensor is.
pub(super) fn place(device: Device) -> Result<Place, String> {
    match device.0 {
        kind if kind == shim().cpu => Ok(Place::Cpu),
        kind if kind == shim().cuda => Ok(Place::Cuda(device.1)),
        _ => Err("expected a tensor on the CPU or on a CUDA device".to_string()),
    }
}

impl Layout {
    pub(super) fn new(
        definition: &Definition,
        x: &Tensor,
        time_steps: i64,
    ) -> Result<Self, String> {
        let view = x.view()?;
        let name = definition.name();
        if view.sizes.len() < 2 && !(definition.elementwise && view.sizes.len() == 1) {
            return Err(format!(
                "{name}: x has shape {:?}, expected [T, N, ...]; add the axes of time and of the batch",
                view.sizes
            ));
        }
        if let Some(Shapes { input, .. }) = definition.shapes() {
            let axes = view.sizes.get(2..).unwrap_or_default();
            if !axes.iter().eq(sizes(input).iter()) {
                return Err(format!(
                    "{name}: x has shape {:?}, expected [T, N, ...] with the axes {input:?} behind time and batch",
                    view.sizes
                ));
            }
        }
        let dtype = tensor::dtype(view.dtype)
            .map_err(|problem| format!("{name}: x: {problem}; use x.float()"))?;
        let of_x = view.sizes[0];
        let time_steps = match time_steps {
            0 => of_x,
            given if given > 0 && of_x == 1 => given,
            given => {
                return Err(format!(
                    "{name}: time_steps is {given} and x has {of_x} steps; repeat an x of one step"
                ));
            }
        };
        if time_steps == 0 {
            return Err(format!(
                "{name}: x has no time steps; expected [T, N, ...] with T of at least 1"
            ));
        }
        let follows = definition.elementwise && is_dense(&view.sizes[1..], &view.strides[1..]);
        let mut strides = match follows {
            true => Axes::new(view.strides)?,
            false => Axes::contiguous(view.sizes)?,
        };
        strides.get_mut()[0] = (elements(&view.sizes[1..]) as i64).max(1);
        Ok(Self {
            dtype,
            device: view.device,
            sizes: Axes::new(view.sizes)?,
            strides,
            time_steps: time_steps as usize,
        })
    }

    /// The sizes and strides of the output, with `steps` steps.
    pub(super) fn output(
        &self,
        definition: &Definition,
        steps: usize,
    ) -> Result<[Axes; 2], String> {
        let Some(shapes) = definition.shapes() else {
            let mut sizes = self.sizes;
            sizes.get_mut()[0] = steps as i64;
            return Ok([sizes, self.strides]);
        };
        let batch = self.sizes.get()[1];
        let made = Axes::new(&[&[steps as i64, batch], &sizes(&shapes.output)[..]].concat())?;
        Ok([made, Axes::contiguous(made.get())?])
    }

    /// The sizes and strides of state `k`.
    pub(super) fn state(&self, definition: &Definition, k: usize) -> Result<[Axes; 2], String> {
        let Some(shape) = definition.shapes().and_then(|all| all.states.get(k)) else {
            let of_step = |axes: &Axes| Axes::new(&axes.get()[1..]);
            return Ok([of_step(&self.sizes)?, of_step(&self.strides)?]);
        };
        let made = Axes::new(&[&self.sizes.get()[1..2], &sizes(shape)[..]].concat())?;
        Ok([made, Axes::contiguous(made.get())?])
    }

    pub(super) fn is_empty(&self) -> bool {
        elements(self.sizes.get()) == 0
    }

    /// The type of states, parameters and their gradients.
    pub(super) fn float(&self) -> i32 {
        match self.dtype {
            DType::F64 => tensor::code(DType::F64),
            _ => tensor::code(DType::F32),
        }
    }

    pub(super) fn request(&self, definition: &Definition, pass: Pass, given: u64) -> Request {
        let sizes = self.sizes.get();
        let shape = match definition.elementwise {
            true => vec![sizes[0] as usize, elements(&sizes[1..])],
            false => sizes.iter().map(|size| *size as usize).collect(),
        };
        Request {
            pass,
            dtype: self.dtype,
            shape,
            time_steps: self.time_steps,
            given,
        }
    }
}

fn sizes(shape: &[usize]) -> Vec<i64> {
    shape.iter().map(|size| *size as i64).collect()
}
