//! Kernels of custom operations, with their arguments.

use crate::error::{Context, failure};
use crate::gpu::Gpu;
use crate::kernel_source::Binding;
use crate::launch::Launch;
use crate::memory::DeviceMemory;
use crate::shared::Shared;
use spikelet_graph::Result;
use spikelet_graph::op::{DeviceArgument, DeviceKernel};
use std::sync::Arc;

/// Alignment of constants, sufficient for every CUDA type.
const ALIGNMENT: usize = 256;

enum KernelArg {
    Address(u64),
    /// The constants at this offset in bytes.
    Constant(usize),
    Value(Vec<u8>),
}

/// A kernel before compilation.
pub(super) struct CustomKernel {
    kernel: DeviceKernel,
    arguments: Vec<KernelArg>,
    /// The index of the plan's kernel.
    pub(super) index: usize,
}

impl CustomKernel {
    /// A kernel; `address_of` returns the addresses of operands, results and workspace.
    pub(super) fn new(
        mut kernel: DeviceKernel,
        index: usize,
        constants: &mut Constants,
        address_of: impl Fn(Binding) -> u64,
    ) -> Self {
        let arguments = std::mem::take(&mut kernel.arguments);
        let arguments = arguments.into_iter().map(|argument| match argument {
            DeviceArgument::Input(k) => KernelArg::Address(address_of(Binding::Read(k))),
            DeviceArgument::Output(k) => KernelArg::Address(address_of(Binding::Write(k))),
            DeviceArgument::InputAt(k, at) => {
                KernelArg::Address(address_of(Binding::Read(k)) + at as u64)
            }
            DeviceArgument::OutputAt(k, at) => {
                KernelArg::Address(address_of(Binding::Write(k)) + at as u64)
            }
            DeviceArgument::Scratch(at) => KernelArg::Address(address_of(Binding::Workspace(at))),
            DeviceArgument::Constant(bytes) => KernelArg::Constant(constants.add(&bytes)),
            DeviceArgument::Value(bytes) => KernelArg::Value(bytes),
        });
        Self {
            arguments: arguments.collect(),
            kernel,
            index,
        }
    }

    /// Compiles it, for constants of this name.
    pub(super) fn launch(self, gpu: &Gpu, constants: u64) -> Result<Launch> {
        let Self {
            kernel, arguments, ..
        } = self;
        let function = gpu.function(&kernel.source, &kernel.name)?;
        let max_threads = function
            .max_threads()
            .context(&gpu.name, "querying the threads of a kernel")?;
        if i64::from(kernel.block) > i64::from(max_threads) {
            return Err(failure(
                &gpu.name,
                format!(
                    "kernel `{}` can have at most {max_threads} threads in a block because of the registers \
                     that it needs, {} were requested; use a smaller block, or write \
                     `__launch_bounds__({})` before the name",
                    kernel.name, kernel.block, kernel.block
                ),
            ));
        }
        gpu.allow_shared(&function, kernel.shared)?;
        let mut launch = Launch::new(&kernel.name, function, kernel.grid, [kernel.block, 1, 1]);
        launch.shared = kernel.shared;
        for argument in arguments {
            match argument {
                KernelArg::Address(name) => launch.name(name),
                KernelArg::Constant(at) => launch.name(constants + at as u64),
                KernelArg::Value(bytes) => launch.bytes(&bytes),
            }
        }
        launch.check_arguments(gpu)?;
        Ok(launch)
    }
}

/// The constants that kernels take by address, concatenated.
#[derive(Default)]
pub(super) struct Constants {
    bytes: Vec<u8>,
}

impl Constants {
    fn add(&mut self, bytes: &[u8]) -> usize {
        let at = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(at, 0);
        self.bytes.extend(bytes);
        at
    }

    /// Copies them to the device; `None` without constants.
    pub(super) fn upload(&self, shared: &Shared, gpu: &Arc<Gpu>) -> Result<Option<DeviceMemory>> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let memory = DeviceMemory::new(gpu, self.bytes.len(), "constants of custom operations")?;
        let _lock = shared.lock_stream()?;
        // SAFETY: the memory is as large as the bytes, and the copy is waited for here.
        unsafe { gpu.stream.upload(memory.pointer, &self.bytes) }
            .context(&gpu.name, "copying constants to the GPU")?;
        gpu.synchronize()?;
        Ok(Some(memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_do_not_overlap_and_are_aligned_for_any_type() {
        let mut constants = Constants::default();
        let offsets = [&[1_u8, 2][..], &[3; 256], &[4]].map(|bytes| constants.add(bytes));
        assert_eq!(offsets, [0, 256, 512]);
        assert_eq!(constants.bytes.len(), 513);
        assert_eq!(constants.bytes[..3], [1, 2, 0]);
        assert_eq!((constants.bytes[256], constants.bytes[512]), (3, 4));
    }

    #[test]
    fn operands_results_and_workspace_are_lowered_to_addresses() {
        let kernel = DeviceKernel::new("f", "")
            .output(1)
            .constant(7_i32)
            .input(0)
            .scratch(8)
            .input_at(2, 16)
            .output_at(0, 4)
            .value(2.0_f32);
        let mut constants = Constants::default();
        let address_of = |binding| match binding {
            Binding::Read(k) => 100 + k as u64,
            Binding::Write(k) => 200 + k as u64,
            Binding::Workspace(at) => 300 + at as u64,
        };
        let custom = CustomKernel::new(kernel, 3, &mut constants, address_of);
        let words: Vec<u64> = custom
            .arguments
            .iter()
            .map(|arguments| match arguments {
                KernelArg::Address(address) => *address,
                KernelArg::Constant(at) => *at as u64,
                KernelArg::Value(bytes) => bytes.len() as u64,
            })
            .collect();
        assert_eq!(words, [201, 0, 100, 308, 118, 204, 4]);
        assert_eq!((custom.index, constants.bytes), (3, vec![7, 0, 0, 0]));
    }
}
