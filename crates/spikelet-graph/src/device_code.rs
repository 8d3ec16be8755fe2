//! The GPU code of a custom operation, as plain data.
//!
//! This crate does not depend on CUDA: a backend compiles and launches the described kernels.

use crate::types::TensorType;
use half::{bf16, f16};

/// The types for which a custom operation's code is requested.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCall<'a> {
    /// The types of the operands.
    pub inputs: &'a [TensorType],
    /// The types of the results.
    pub outputs: &'a [TensorType],
    /// Which results have memory: all but unread results that may be skipped ([`CustomOp::may_skip`]). The
    /// address of a result without memory is zero.
    ///
    /// [`CustomOp::may_skip`]: crate::op::CustomOp::may_skip
    pub wanted: &'a [bool],
}

/// The kernels of an operation, which run one after the other.
///
/// ```
/// use spikelet_graph::op::{DeviceCode, DeviceKernel};
/// let source = r#"
/// extern "C" __global__ void squares(const float* x, float* partial, unsigned n) { /* … */ }
/// extern "C" __global__ void total(const float* partial, float* y) { /* … */ }
/// "#;
/// let n = 100_000;
/// let squares = DeviceKernel::new("squares", source)
///     .threads(n)
///     .input(0)
///     .scratch(0)
///     .value(n as u32);
/// let total = DeviceKernel::new("total", source).threads(32).scratch(0).output(0);
/// // SAFETY: each kernel compares its thread with `n`, and writes one number a block.
/// let code = unsafe { DeviceCode::new([squares, total]) }.scratch(4 * 391);
/// assert_eq!(code.kernels()[0].grid, [391, 1, 1]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceCode {
    kernels: Vec<DeviceKernel>,
    scratch: usize,
}

impl DeviceCode {
    /// Kernels that run in this order, without scratch memory.
    ///
    /// # Safety
    /// The text of a kernel is not checked. With its grid, its block and its arguments, each kernel must
    /// stay within its operands, results and scratch memory, for all operands of the given types: a
    /// wrong index overwrites other memory of the program.
    pub unsafe fn new(kernels: impl IntoIterator<Item = DeviceKernel>) -> Self {
        Self {
            kernels: kernels.into_iter().collect(),
            scratch: 0,
        }
    }

    /// Sets the bytes of scratch memory that all kernels share. It is part of the plan's arena, starts at a
    /// multiple of 256, and has any content when the first kernel starts.
    pub fn scratch(mut self, bytes: usize) -> Self {
        self.scratch = bytes;
        self
    }

    /// The kernels in order.
    pub fn kernels(&self) -> &[DeviceKernel] {
        &self.kernels
    }

    /// The bytes of scratch memory.
    pub fn scratch_bytes(&self) -> usize {
        self.scratch
    }
}

/// One kernel and its launch.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceKernel {
    /// CUDA C++ in which `name` is an `extern "C" __global__` function. Several kernels may share
    /// a source.
    pub source: String,
    /// The function's name.
    pub name: String,
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block, along x.
    pub block: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
    /// The arguments, in the order of the function's parameters.
    pub arguments: Vec<DeviceArgument>,
}

/// The default number of threads of a block.
const BLOCK: u32 = 256;

impl DeviceKernel {
    /// One block of 256 threads, without arguments yet.
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            name: name.into(),
            grid: [1, 1, 1],
            block: BLOCK,
            shared: 0,
            arguments: vec![],
        }
    }

    /// Sets the grid so that each of `count` items has a thread, with blocks of 256 threads; the last block
    /// may have threads without an item. A grid that is too large is rejected when the plan is loaded.
    pub fn threads(self, count: usize) -> Self {
        let blocks = count.div_ceil(BLOCK as usize);
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        self.grid([blocks, 1, 1]).block(BLOCK)
    }

    /// Sets the number of blocks along x, y and z.
    pub fn grid(mut self, grid: [u32; 3]) -> Self {
        self.grid = grid;
        self
    }

    /// Sets the number of threads of a block.
    pub fn block(mut self, threads: u32) -> Self {
        self.block = threads;
        self
    }

    /// Sets the bytes of dynamic shared memory of a block.
    pub fn shared(mut self, bytes: u32) -> Self {
        self.shared = bytes;
        self
    }

    /// Adds an argument.
    pub fn argument(mut self, argument: DeviceArgument) -> Self {
        self.arguments.push(argument);
        self
    }

    /// Adds the address of operand `k`.
    pub fn input(self, k: usize) -> Self {
        self.argument(DeviceArgument::Input(k))
    }

    /// Adds the address of result `k`.
    pub fn output(self, k: usize) -> Self {
        self.argument(DeviceArgument::Output(k))
    }

    /// Adds the address of this byte of operand `k`.
    pub fn input_at(self, k: usize, offset: usize) -> Self {
        self.argument(DeviceArgument::InputAt(k, offset))
    }

    /// Adds the address of this byte of result `k`, which must not be one that can be skipped.
    pub fn output_at(self, k: usize, offset: usize) -> Self {
        self.argument(DeviceArgument::OutputAt(k, offset))
    }

    /// Adds the address of this byte of the scratch memory.
    pub fn scratch(self, offset: usize) -> Self {
        self.argument(DeviceArgument::Scratch(offset))
    }

    /// Adds a number that is passed by value: `unsigned n`, `float limit`.
    pub fn value(self, number: impl DeviceNumber) -> Self {
        self.argument(DeviceArgument::Value(number.bytes()))
    }

    /// Adds a number that is passed by address or reference: `const int & numel`, `const float*`.
    pub fn constant(self, number: impl DeviceNumber) -> Self {
        self.argument(DeviceArgument::Constant(number.bytes()))
    }
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceArgument {
    /// The address of operand k.
    Input(usize),
    /// The address of result k; zero if it has no memory.
    Output(usize),
    /// The address of this byte of operand k, from which on the kernel reads.
    InputAt(usize, usize),
    /// The address of this byte of result k, which must have memory.
    OutputAt(usize, usize),
    /// The address of this byte of the scratch memory.
    Scratch(usize),
    /// The address of these bytes in device memory, copied there when the plan is loaded: values that the
    /// kernel takes by pointer or by reference, and only reads.
    Constant(Vec<u8>),
    /// These bytes by value: numbers or a `struct`.
    Value(Vec<u8>),
}

/// A number in the GPU's representation; an array of numbers is a short vector (`float4`, `half2`) or a
/// table.
///
/// ```
/// use spikelet_graph::op::DeviceNumber;
/// assert_eq!(1_i32.bytes(), [1, 0, 0, 0]);
/// assert_eq!([1.0_f32, -2.0].bytes().len(), 8);
/// ```
pub trait DeviceNumber {
    /// The bytes.
    fn bytes(&self) -> Vec<u8>;
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl DeviceNumber for $type {
            fn bytes(&self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        }
    )*};
}

numbers!(i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64);

impl<T: DeviceNumber, const N: usize> DeviceNumber for [T; N] {
    fn bytes(&self) -> Vec<u8> {
        self.iter().flat_map(T::bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_has_a_thread() {
        let blocks = |n: usize| DeviceKernel::new("k", "").threads(n).grid[0];
        assert_eq!([0, 1, 256, 257, 1 << 20].map(blocks), [0, 1, 1, 2, 1 << 12]);
        assert_eq!(blocks(usize::MAX), u32::MAX);
        assert_eq!(DeviceKernel::new("k", "").block(64).threads(10).block, 256);
    }

    #[test]
    fn arguments_keep_their_order_and_numbers_their_size() {
        let kernel = DeviceKernel::new("k", "")
            .input(1)
            .value(f16::ONE)
            .constant([f16::ONE, f16::NEG_ONE])
            .scratch(8)
            .value(3_i64)
            .output(0);
        let sizes: Vec<usize> = kernel
            .arguments
            .iter()
            .map(|a| match a {
                DeviceArgument::Constant(bytes) | DeviceArgument::Value(bytes) => bytes.len(),
                _ => 0,
            })
            .collect();
        assert_eq!(sizes, [0, 2, 4, 0, 8, 0]);
        assert_eq!(
            kernel.arguments[2],
            DeviceArgument::Constant(vec![0x00, 0x3c, 0x00, 0xbc])
        );
    }
}
