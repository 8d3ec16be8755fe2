//! Every surrogate is a `surrogate_function` of auto_cuda's backward kernels.

use super::Surrogate;
use crate::auto_cuda::{Dtype, SurrogateCodes};
use spikelet_expr::Expr;

/// As [`Surrogate::cuda_codes`]; a derivative that cannot be printed is a text that does not
/// compile, and the compiler's error says why.
///
/// ```
/// use spikelet::auto_cuda::neuron_kernel::IFNodeBPTTKernel;
/// use spikelet::auto_cuda::{Dtype, Kernel};
/// use spikelet::prelude::*;
/// use std::sync::Arc;
/// let atan: Arc<dyn Surrogate> = Arc::new(Atan::default());
/// let kernel = IFNodeBPTTKernel::new(atan, true, false, Dtype::Half2);
/// assert!(kernel.full_codes().contains("const half2 grad_s_to_h = "));
/// ```
impl SurrogateCodes for dyn Surrogate {
    fn cuda_codes(&self, y: &str, x: &str, dtype: Dtype) -> String {
        Surrogate::cuda_codes(self, y, x, dtype).unwrap_or_else(|error| {
            let message = format!("{self:?}: {error}").replace(['"', '\\', '\n'], " ");
            format!("static_assert(false, \"{message}\");")
        })
    }

    fn expression(&self) -> Option<Expr> {
        Some(self.derivative(&Expr::symbol("x")))
    }
}
