//! Checkpoints of PyTorch.
//!
//! | file | content |
//! |---|---|
//! | `zip.rs`, `stream.rs`, `tar.rs` | the formats of `torch.save`, from the newest to the oldest |
//! | `pickle/` | the pickle in them |
//! | `state_dict.rs` | the state dict in what was saved |
//! | `storages.rs` | the elements |
//! | `write.rs` | the zip format is written |

mod pickle;
mod state_dict;
mod storages;
mod stream;
mod tar;
mod write;
mod zip;

use crate::error::{ErrorKind, Result};
use crate::format::Format;
use crate::limits::Budget;
use crate::source::FileSource;
use crate::tensor::Tensor;
use pickle::{Heap, Value};
use storages::Storages;

pub(crate) use write::write;

/// The tensors of a state dict in order, and the names of its other entries.
pub(crate) struct Checkpoint {
    pub tensors: Vec<(String, Tensor)>,
    pub skipped: Vec<String>,
}

/// What a reader needs beside the file.
struct Reading<'a> {
    budget: Budget,
    stored: Budget,
    key: Option<&'a str>,
}

impl Reading<'_> {
    /// The checkpoint of what was unpickled.
    fn finish(&mut self, heap: &Heap, root: Value, storages: &Storages<'_>) -> Result<Checkpoint> {
        let state = state_dict::find(heap, root, self.key)?;
        let tensors = storages.tensors(&state.tensors, &mut self.budget, &mut self.stored)?;
        Ok(Checkpoint {
            tensors,
            skipped: state.skipped,
        })
    }
}

/// Reads a checkpoint.
pub(crate) fn read(
    source: &FileSource,
    format: Format,
    options: &super::WeightOptions,
) -> Result<Checkpoint> {
    let budget = || Budget::new(&options.limits, source.len());
    let mut reading = Reading {
        budget: budget(),
        stored: budget(),
        key: options.state_dict.as_deref(),
    };
    match format {
        Format::TorchZip => zip::read(source, &mut reading),
        Format::TorchStream => stream::read(source, &mut reading),
        Format::TorchTar => tar::read(source, &mut reading),
        other => Err(ErrorKind::Format {
            found: other.to_string(),
            expected: "a PyTorch checkpoint",
            help: "read it with the reader of its format",
        }
        .into()),
    }
}
