//! Sums over the threads of a block, in a fixed order.

use super::{CKernel, Kernel};

/// Threads of the largest block.
const MAX_THREADS: usize = 1024;

/// Declares the shared memory of [`reduction`].
pub(super) fn storage() -> String {
    format!("__shared__ float block_sum[{MAX_THREADS}];")
}

/// Statements for all threads of a block: the first one assigns the sum of all threads' `value` to `to`, by
/// a binary tree. The order depends only on the block's size.
pub(super) fn reduction(value: &str, to: &str) -> String {
    format!(
        "block_sum[threadIdx.x] = {value};
__syncthreads();
for (int stride = {half}; stride > 0; stride >>= 1)
{{
    if (threadIdx.x < stride && threadIdx.x + stride < blockDim.x)
    {{
        block_sum[threadIdx.x] += block_sum[threadIdx.x + stride];
    }}
    __syncthreads();
}}
if (threadIdx.x == 0)
{{
    {to} = block_sum[0];
}}",
        half = MAX_THREADS / 2
    )
}

/// Sums the partial results of another kernel's blocks in a fixed order.
///
/// | parameter | shape | |
/// |---|---|---|
/// | `x` | \[numel\] | the partial results |
/// | `sum` | \[1\] | written: their sum |
/// | `numel` | scalar | their number |
///
/// It is launched with one block.
///
/// ```
/// use spikelet_auto_cuda::{BlockSum, Kernel};
/// assert!(BlockSum::new().full_codes().contains("__syncthreads();"));
/// ```
#[derive(Clone, Debug)]
pub struct BlockSum(CKernel);

impl BlockSum {
    /// The kernel.
    pub fn new() -> Self {
        let mut kernel = CKernel::new("block_sum_kernel");
        for (ctype, cname) in [
            ("const int &", "numel"),
            ("const float *", "x"),
            ("float *", "sum"),
        ] {
            kernel
                .add_param(ctype, cname)
                .expect("the three parameters have different names");
        }
        kernel.set_core(format!(
            "{}
float partial = 0.0f;
for (int i = threadIdx.x; i < numel; i += blockDim.x)
{{
    partial += x[i];
}}
{}",
            storage(),
            reduction("partial", "sum[0]")
        ));
        Self(kernel)
    }
}

impl Default for BlockSum {
    fn default() -> Self {
        Self::new()
    }
}

impl Kernel for BlockSum {
    fn kernel(&self) -> &CKernel {
        &self.0
    }

    fn kernel_mut(&mut self) -> &mut CKernel {
        &mut self.0
    }
}
