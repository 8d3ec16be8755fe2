//! The public kernel writer: its texts against those that the auto_cuda reference and the CUPY
//! neuron tutorial of SpikingJelly print, what calls refuse, and what kernels compute. Tests
//! that need a GPU or NVRTC are ignored, with that as the reason.

/// Applies kernels whose texts are the library's or the tests', which stay within their tensors.
macro_rules! apply {
    ($function:ident, $($argument:expr),* $(,)?) => {{
        // SAFETY: as it says above.
        unsafe { $function::apply($($argument),*) }
    }};
}

mod calls;
mod checks;
mod compiles;
mod functions;
mod launches;
mod machine;
mod neuron_calls;
mod neurons;
mod parameters;
mod planned;
mod py_dict;
mod reference;
mod tensors;
mod texts;
