//! Layers as functions on memory of another program: `(definition, addresses, shape, stream)`.
//!
//! A layer is traced for the shape of its input, compiled once, and called with addresses. This module knows of no
//! framework: memory comes from the caller's allocator, threads and streams are the caller's.

mod cache;
mod compiled;
mod definition;
mod device;
mod trace;

pub(crate) use cache::compiled;
pub(crate) use compiled::{Call, Compiled, kernel_texts};
pub(crate) use definition::{Definition, Shapes};
pub(crate) use device::{Place, set_threads};
pub(crate) use trace::{Pass, Request, Signature, signature};
