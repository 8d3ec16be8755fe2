//! Generates CUDA kernels as text, and calls them.
//!
//! The crate follows the auto_cuda reference of SpikingJelly. A kernel is a name, parameters and a core;
//! [`CKernel1D`] and [`CKernel2D`] add the loop over elements or time steps, [`cfunction`] prints the
//! statements of a core for `float` and `half2`, and [`neuron_kernel`] has the forward (FPTT) and backward
//! (BPTT) kernels of neurons, for which a new neuron defines only its own equations. Texts are generated
//! without a GPU.
//!
//! Kernels are called on [`CudaTensor`]s ([`Callable`]), or become part of a network's plan:
//! [`neuron_kernel::NeuronATGF`] creates a differentiable operation from a neuron's two kernels,
//! [`Callable::device_kernel`] passes any kernel to a custom operation.
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
//! Kernels are compiled with the options of all kernels of `spikelet-cuda`: IEEE arithmetic without
//! contraction.

/// Values as variants of an enum.
macro_rules! from_values {
    ($to:ty: $($from:ty => $variant:ident),*) => {$(
        impl From<$from> for $to {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

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
mod library_surrogate;
pub mod neuron_kernel;
mod operand;
mod pad;
mod params;
mod planned;
mod py_dict;
mod scalar_bytes;
mod sections;
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
pub use library_surrogate::{CudaCodes, ReferenceSurrogate, reference, surrogate};
pub use planned::PlannedArgument;
pub use py_dict::{OwnedArgument, PyDict, arguments, new_tensors, scalar_to_cupy};
pub use sections::Sections;
pub use simple::{THREADS, cal_blocks};
pub use spikelet_cuda::kernel::DeviceEnvironment;
pub use surrogate::{ExprSurrogate, SurrogateCodes, cuda_codes};
pub use tensor::CudaTensor;
pub use typer::{CodeBlock, CodeTyper};
