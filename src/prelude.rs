//! The names that most programs use: `use spikelet::prelude::*;`.
//!
//! All neurons and encoders are among them, and those of other families by name. [`Error`] and
//! [`Result`] are exported because nearly every program ends with them; a program with another
//! `Result` imports that one by name, which takes precedence over a glob import.

#[doc(inline)]
pub use spikelet_train::prelude::*;

#[cfg(feature = "auto-cuda")]
#[doc(no_inline)]
pub use crate::auto_cuda::CudaCodes;
