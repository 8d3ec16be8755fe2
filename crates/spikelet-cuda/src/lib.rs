//! Runs a spikelet plan on NVIDIA GPUs.
//!
//! The crate is built without CUDA: the driver, NVRTC and cuBLASLt are searched for when a GPU is
//! first used ([`library`]). Kernels are generated as CUDA C++ from the plan's expressions, compiled
//! for the present GPU and cached on disk; a plan is captured once as a CUDA graph and replayed with a
//! single launch. [`kernel`] launches kernels of other crates;
//! [`OfflineTarget::kernels`] returns the texts of a plan's kernels, [`Compiler`] compiles files, both without a GPU.

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
mod shared;
mod target;
mod transfer;
mod upload;
mod while_nodes;

pub use backend::Cuda;
#[doc(hidden)]
pub use cache::kernel_files;
pub use cache::{KernelCache, kernel_cache};
pub use compiler::{CompileError, Compiled, Compiler, Message, Severity, Text};
pub use executor::CallablePlan;
pub use gpu::Properties;
pub use offline::{KernelText, OfflineTarget, Parameter};
