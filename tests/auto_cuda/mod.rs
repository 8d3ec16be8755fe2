//! Kernels of auto_cuda with this crate's surrogates, and inside networks. Tests that need
//! a GPU or NVRTC are ignored, with that as the reason.

/// Applies kernels whose texts are the library's or the tests', which stay within their tensors.
macro_rules! apply {
    ($function:ident, $($argument:expr),* $(,)?) => {{
        // SAFETY: as it says above.
        unsafe { $function::apply($($argument),*) }
    }};
}

mod network;
mod nodes;
mod own;
mod refused;
mod same;
mod surrogates;
