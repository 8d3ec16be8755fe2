//! SpikingJelly's `auto_cuda`: kernels written as text, and the surrogates of this library in them.
//!
//! The contents are those of [`spikelet_auto_cuda`].

use crate::surrogate::Surrogate;
pub use spikelet_auto_cuda::*;

/// A surrogate as the `surrogate_function` of a backward kernel. Such kernels fire with Θ, whatever
/// [`Surrogate::forward`] does.
///
/// # Errors
/// If the derivative depends on anything but its argument.
///
/// ```
/// use spikelet::auto_cuda::neuron_kernel::IFNodeBPTTKernel;
/// use spikelet::auto_cuda::{self, Dtype, Kernel};
/// use spikelet::prelude::*;
/// let atan = auto_cuda::surrogate(&Atan::default())?;
/// let kernel = IFNodeBPTTKernel::new(atan, true, false, Dtype::Half2);
/// assert!(kernel.full_codes().contains("const half2 grad_s_to_h = "));
/// # Ok::<(), spikelet::auto_cuda::AutoCudaError>(())
/// ```
pub fn surrogate(surrogate: &dyn Surrogate) -> Result<ExprSurrogate, AutoCudaError> {
    ExprSurrogate::new(|x| surrogate.derivative(x))
}
