//! The public kernel writer: its texts against those that the auto_cuda reference and the CUPY
//! neuron tutorial of SpikingJelly print, what calls refuse, and what kernels compute. Tests
//! that need a GPU or NVRTC are ignored, with that as the reason.

mod calls;
mod checks;
mod compiles;
mod functions;
mod machine;
mod neuron_calls;
mod neurons;
mod parameters;
mod planned;
mod reference;
mod tensors;
