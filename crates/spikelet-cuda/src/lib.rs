//! Runs a spikelet plan on NVIDIA GPUs.
//!
//! Nothing of CUDA is needed to build this crate: the driver, NVRTC and cuBLASLt are looked for
//! when a GPU is first used ([`library`]). Kernels are written as text from the plan's
//! expressions, compiled for the GPU at hand and kept on disk; a plan is recorded once as a CUDA
//! graph and replayed with a single launch. [`kernel`] launches kernels of other crates;
//! [`scan_source`] shows those of neurons, [`source_file`] compiles files, both without a GPU.

mod backend;
mod bytes;
mod cache;
mod compiler;
mod dnn;
mod error;
mod executor;
mod fetch;
mod gemm;
mod gpu;
mod group;
mod horizontal_fusion;
pub mod kernel;
mod kernel_source;
mod launch;
pub mod library;
mod library_plans;
mod memory;
mod offline;
mod op;
mod recent;
pub mod scan_source;
pub mod source_file;
mod transfer;
mod upload;

pub use backend::Cuda;
#[doc(hidden)]
pub use cache::kernel_files;
pub use cache::{KernelCache, kernel_cache};
pub use compiler::CompileError;
pub use gpu::Properties;
pub use offline::OfflineTarget;
