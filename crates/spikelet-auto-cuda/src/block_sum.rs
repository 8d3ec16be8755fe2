//! Sums over the threads of a block, in a fixed order.

use super::{CKernel, Kernel};

/// Threads of the largest block.
const MAX_THREADS: usize = 1024;

/// Declares the shared memory of [`reduction`].
pub(super) fn storage() -> String {
    format!("__shared__ float block_sum[{MAX_THREADS}];")
}

/// Statements for all threads of a block: the first one gives `to` the sum of all threads'
/// `value`, halves added to halves. The order depends on the block's size and on nothing else.
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

/// Adds up the numbers that the blocks of another kernel left, in a fixed order.
///
/// | parameter | shape | |
/// |---|---|---|
/// | `x` | \[numel\] | the numbers |
/// | `sum` | \[1\] | takes their sum |
/// | `numel` | number | how many there are |
///
/// It is meant for one block; further blocks would do the same again.
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
                .expect("the three parameters have names of their own");
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
