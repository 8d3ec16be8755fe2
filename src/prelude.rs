//! The names that most programs use: `use spikelet::prelude::*;`.
//!
//! All others are in their modules: [`layer`](crate::layer), [`neuron`](crate::neuron), [`encoder`](crate::encoder),
//! [`surrogate`](crate::surrogate), [`optim`](crate::optim) and so on. [`Error`] and [`Result`] are exported because nearly every
//! program ends with them; a program with another `Result` imports that one by name, which takes precedence over a glob import.

#[doc(inline)]
pub use spikelet_train::prelude::*;
