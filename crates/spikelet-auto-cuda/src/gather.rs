//! Copies a tensor to contiguous memory.

use super::{AutoCudaError, CudaTensor, Element};
use spikelet_cuda::kernel::{LaunchArg, LoadedKernel, StreamLock};
use std::fmt::Write;

const NAME: &str = "gather";
const BLOCK: usize = 256;

/// The kernel, with the axes as constants.
fn source(element: Element, shape: &[usize], strides: &[usize]) -> String {
    // Elements are copied as bits.
    let unit = match element.bytes() {
        2 => "unsigned short",
        _ => "unsigned",
    };
    let mut axes = String::new();
    for (n, stride) in shape.iter().zip(strides).rev() {
        writeln!(
            axes,
            "    at += rest % {n}ull * {stride}ull;\n    rest /= {n}ull;"
        )
        .expect("writing to a string does not fail");
    }
    format!(
        "typedef unsigned long long Size;
extern \"C\" __global__ void {NAME}(const {unit}* from, {unit}* to, Size count) {{
  const Size threads = (Size)gridDim.x * blockDim.x;
  for (Size i = (Size)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {{
    Size rest = i, at = 0;
{axes}    to[i] = from[at];
  }}
}}
"
    )
}

/// A contiguous copy.
pub(super) fn contiguous(tensor: &CudaTensor) -> Result<CudaTensor, AutoCudaError> {
    let (element, shape) = (tensor.element(), tensor.shape());
    let cuda = tensor.memory.cuda();
    let copy = CudaTensor::uninitialized(cuda, element, shape.to_vec())?;
    let kernel = LoadedKernel::new(cuda, &source(element, shape, tensor.strides()), NAME)?;
    let arguments = [
        LaunchArg::Address(tensor.memory.address()),
        LaunchArg::Address(copy.memory.address()),
        LaunchArg::Size(tensor.len() as u64),
    ];
    let grid = [blocks(tensor.len(), BLOCK), 1, 1];
    let stream = StreamLock::new(cuda)?;
    // SAFETY: every index of the shape is inside the tensor's memory, and the copy has as many elements.
    // Freeing either waits for the kernel.
    unsafe { stream.launch(&kernel, grid, [BLOCK as u32, 1, 1], 0, &arguments) }?;
    Ok(copy)
}

/// The number of blocks of a kernel with a grid-stride loop.
pub(super) fn blocks(items: usize, block: usize) -> u32 {
    items.div_ceil(block).clamp(1, 1 << 16) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_cuda::kernel::compile;

    #[test]
    #[ignore = "needs NVRTC"]
    fn the_kernel_compiles_for_every_element() {
        for element in [Element::F32, Element::F16, Element::I32] {
            let text = source(element, &[3, 2], &[1, 3]);
            compile(&text, NAME, (9, 0)).unwrap();
        }
        compile(&source(Element::F32, &[], &[]), NAME, (9, 0)).unwrap();
    }
}
