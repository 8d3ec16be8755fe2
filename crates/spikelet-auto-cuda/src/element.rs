//! The element types of tensors that kernels are called with.

use spikelet_cuda::kernel::Plain;
use spikelet_graph::f16;
use std::fmt;

/// The element type of a [`CudaTensor`](super::CudaTensor).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// 32-bit floating point: `float`.
    F32,
    /// 16-bit floating point: `half2`, two at a time, or `half`.
    F16,
    /// 32-bit integers: `int`.
    I32,
}

impl Element {
    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            Element::F32 | Element::I32 => 4,
            Element::F16 => 2,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Element::F32 => "f32",
            Element::F16 => "f16",
            Element::I32 => "i32",
        })
    }
}

/// An element type of the host for a [`CudaTensor`](super::CudaTensor): f32, f16 or i32.
pub trait Number: Plain + Default {
    /// The element type on a device.
    const ELEMENT: Element;
}

impl Number for f32 {
    const ELEMENT: Element = Element::F32;
}

impl Number for f16 {
    const ELEMENT: Element = Element::F16;
}

impl Number for i32 {
    const ELEMENT: Element = Element::I32;
}
