//! The surrogates of the library in kernels that are written as text.
//!
//! [`CudaCodes::cuda_codes`] of every surrogate, and two ways to give a surrogate to a backward kernel: [`reference()`]
//! prints SpikingJelly's text, [`surrogate`] one with the bits of the CPU. Such kernels fire with Θ, whatever
//! [`Surrogate::forward`] does.

use crate::{AutoCudaError, Dtype, ExprSurrogate, SurrogateCodes, cfunction};
use spikelet_expr::Expr;
use spikelet_nn::surrogate::{Sigmoid, Surrogate};

/// A surrogate as the `surrogate_function` of a backward kernel, printed with this library's functions, which give
/// the same bits on every device.
///
/// # Errors
/// If the derivative depends on anything but its argument.
///
/// ```
/// use spikelet_auto_cuda::neuron_kernel::IFNodeBPTTKernel;
/// use spikelet_auto_cuda::{self as auto_cuda, Dtype, Kernel};
/// use spikelet_nn::prelude::*;
/// let atan = auto_cuda::surrogate(&Atan::default())?;
/// let kernel = IFNodeBPTTKernel::new(atan, true, false, Dtype::Half2);
/// assert!(kernel.full_codes().contains("const half2 grad_s_to_h = "));
/// # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
/// ```
pub fn surrogate(surrogate: &dyn Surrogate) -> Result<ExprSurrogate, AutoCudaError> {
    ExprSurrogate::new(|x| surrogate.derivative(x))
}

/// A surrogate as the `surrogate_function` of a backward kernel, printed as [`CudaCodes::cuda_codes`] prints it.
///
/// # Errors
/// If the derivative depends on anything but its argument.
///
/// ```
/// use spikelet_auto_cuda::neuron_kernel::NeuronBPTTKernel;
/// use spikelet_auto_cuda::{self as auto_cuda, Dtype, Kernel};
/// use spikelet_nn::prelude::*;
/// let surrogate_function = auto_cuda::reference(&Sigmoid::default())?;
/// let base_kernel = NeuronBPTTKernel::new(surrogate_function, true, false, Dtype::Float);
/// assert!(base_kernel.full_codes().contains("1.0f / (1.0f + expf(- (4.0f) * over_th))"));
/// # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
/// ```
pub fn reference(surrogate: &dyn Surrogate) -> Result<ReferenceSurrogate, AutoCudaError> {
    let derivative = self::surrogate(surrogate)?;
    let spec = surrogate.spec();
    let alpha = spec["alpha"].as_f64();
    let alpha = alpha.filter(|_| spec["name"] == "sigmoid");
    // With a factor, and in a custom surrogate of the same name, the derivative is another one.
    let codes = |of: &ExprSurrogate| of.cuda_codes("y", "x", Dtype::Float);
    let sigmoid = alpha.filter(|alpha| {
        let own = self::surrogate(&Sigmoid { alpha: *alpha });
        own.is_ok_and(|own| codes(&own) == codes(&derivative))
    });
    Ok(ReferenceSurrogate {
        derivative,
        sigmoid,
    })
}

/// A surrogate with SpikingJelly's text; [`reference()`] makes it.
#[derive(Clone, Debug)]
pub struct ReferenceSurrogate {
    derivative: ExprSurrogate,
    /// α of a sigmoid, the only surrogate whose text differs from that of its expression.
    sigmoid: Option<f64>,
}

impl SurrogateCodes for ReferenceSurrogate {
    fn cuda_codes(&self, y: &str, x: &str, dtype: Dtype) -> String {
        match self.sigmoid {
            Some(alpha) => cfunction::sigmoid_backward(y, x, alpha, dtype),
            None => self.derivative.cuda_codes(y, x, dtype),
        }
    }

    fn expression(&self) -> Option<Expr> {
        self.derivative.expression()
    }
}

/// `cuda_codes` of every surrogate.
pub trait CudaCodes: Surrogate {
    /// Statements of CUDA C++ that give `y` the derivative at `x`, as SpikingJelly's `cuda_codes`: the text of the
    /// function of [`cfunction`] that has the surrogate's name, else the printed [`Surrogate::derivative`]. `y` may be
    /// a declaration such as `const float grad_s_to_h`.
    ///
    /// # Errors
    /// If the derivative depends on anything but its argument.
    ///
    /// ```
    /// use spikelet_auto_cuda::{CudaCodes, Dtype};
    /// use spikelet_nn::prelude::*;
    /// let text = Sigmoid::default().cuda_codes("grad_s", "over_th", Dtype::Float)?;
    /// assert_eq!(
    ///     text,
    ///     "const float sigmoid_backward__sigmoid_ax = 1.0f / (1.0f + expf(- (4.0f) * over_th));\n\
    ///      grad_s = (1.0f - sigmoid_backward__sigmoid_ax) * sigmoid_backward__sigmoid_ax * (4.0f);"
    /// );
    /// # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
    /// ```
    fn cuda_codes(&self, y: &str, x: &str, dtype: Dtype) -> Result<String, AutoCudaError>;
}

impl<S: Surrogate> CudaCodes for S {
    fn cuda_codes(&self, y: &str, x: &str, dtype: Dtype) -> Result<String, AutoCudaError> {
        Ok(reference(self)?.cuda_codes(y, x, dtype))
    }
}

impl CudaCodes for dyn Surrogate {
    fn cuda_codes(&self, y: &str, x: &str, dtype: Dtype) -> Result<String, AutoCudaError> {
        Ok(reference(self)?.cuda_codes(y, x, dtype))
    }
}
