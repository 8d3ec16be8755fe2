//! Kernels of auto_cuda with this crate's surrogates, and inside networks. Tests that need
//! a GPU or NVRTC are ignored, with that as the reason.

mod network;
mod nodes;
mod own;
mod refused;
mod same;
mod surrogates;
