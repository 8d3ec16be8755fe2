//! Weight files are read and written: tensors by name, from checkpoints of PyTorch (zip, stream and tar), safetensors and
//! `.npz`.
//!
//! A pickle is read by a machine that knows tensors and containers and nothing else: no code of a file runs.
//! [`Weights::match_names`] maps the names of another framework. [`arrays`] has the formats of NumPy and MATLAB below it.
//!
//! ```
//! use spikelet_weights::{Tensor, Weights};
//! # let folder = tempfile::tempdir()?;
//! # let (input, output) = (folder.path().join("checkpoint.pt"), folder.path().join("weights.safetensors"));
//! # let mut weights = Weights::default();
//! # weights.insert("module.net.fc.bias", Tensor::from_f32(&[1], &[0.5])?)?;
//! # weights.write_torch(&input)?;
//!
//! let mut weights = Weights::read(&input)?;
//! weights.strip_module();
//! weights.strip_prefix("net.")?;
//! weights.write_safetensors(&output)?;
//! # assert!(Weights::read(&output)?.get("fc.bias").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No input makes a reader panic, allocate what a header merely claims, or run without an end. Files are written beside
//! their path and moved there, so that they appear complete or not at all.

pub mod arrays;
pub mod atomic;
mod dtype;
mod error;
mod format;
mod limits;
mod npz;
mod record;
mod safetensors;
mod source;
mod strided;
mod tensor;
mod torch;
mod weights;

pub use dtype::Dtype;
pub use error::{Error, ErrorKind, Result};
pub use format::Format;
pub use limits::{Budget, Limits};

pub use source::FileSource;
pub use tensor::{Tensor, element_count, swap_bytes};
pub use weights::{Expected, NameMap, NameMatch, WeightOptions, Weights};
