//! Kernels of auto_cuda with this crate's surrogates, and inside networks. Without a GPU or NVRTC
//! the tests that need one say `skipped:`.

mod network;
mod nodes;
mod own;
mod refused;
mod same;
mod surrogates;
