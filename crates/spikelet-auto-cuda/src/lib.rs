//! Writes CUDA kernels as text, and calls them.
//!
//! This is the kernel writer of SpikingJelly's auto_cuda reference. A kernel is a name,
//! parameters and a core; [`CKernel1D`] and [`CKernel2D`] put the loop over elements or time steps
//! around it, [`cfunction`] prints the statements of a core for `float` and `half2` alike, and
//! [`neuron_kernel`] has the forward (FPTT) and backward (BPTT) kernels of neurons, of which a new
//! neuron gives only what is its own. Texts are made without a GPU.
//!
//! Kernels are called on [`CudaTensor`]s ([`Callable`]), or become part of a network's plan:
//! [`neuron_kernel::NeuronATGF`] makes an operation with a gradient of a neuron's two kernels,
//! [`Callable::device_kernel`] gives any kernel to a custom operation.
//!
//! ```
//! use spikelet_auto_cuda::{CKernel1D, Kernel};
//! let mut heaviside = CKernel1D::new("heaviside");
//! heaviside.add_param("const float *", "x")?;
//! heaviside.add_param("float *", "y")?;
//! heaviside.set_core("y[index] = x[index] >= 0.0f ? 1.0f: 0.0f;");
//! println!("{}", heaviside.full_codes());
//! # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
//! ```
//!
//! Kernels are compiled with the options of all kernels of `spikelet-cuda`: every operation is IEEE's,
//! nothing is contracted.

mod argument;
mod attribute;
mod block_sum;
mod call;
pub mod cfunction;
mod check;
mod ckernel;
mod dtype;
mod element;
mod error;
mod gather;
mod indent;
mod kernel;
pub mod neuron_kernel;
mod operand;
mod pad;
mod params;
mod planned;
mod scalar_bytes;
mod simple;
mod surrogate;
mod tensor;
mod typer;

pub use argument::{Argument, Described, Description, describe};
pub use attribute::Attribute;
pub use block_sum::BlockSum;
pub use call::{Callable, Dims};
pub use ckernel::{CKernel, CKernel1D, CKernel2D};
pub use dtype::Dtype;
pub use element::{Element, Number};
pub use error::AutoCudaError;
pub use kernel::{Kernel, Layout};
pub use planned::PlannedArgument;
pub use simple::{THREADS, cal_blocks};
pub use surrogate::{ExprSurrogate, SurrogateCodes, cuda_codes};
pub use tensor::CudaTensor;
pub use typer::{CodeBlock, CodeTyper};
