//! The kind of a file, by content.

use spikelet::tensors::TensorFile;
use spikelet::train::Checkpoint;
use spikelet_weights::{Error, ErrorKind, Format};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A NIR graph.
    Graph,
    /// A checkpoint of `spikelet train`.
    Checkpoint,
    /// Weights: a checkpoint of PyTorch, safetensors, or NumPy arrays.
    Weights,
    /// Events, or a pipe, which can be read only once.
    Events,
    /// None of these.
    Unknown,
}

impl Content {
    /// The kind of a file. Formats of events without a signature are told by their extensions.
    ///
    /// # Errors
    /// When the file cannot be opened, or its archive is damaged.
    pub fn of(path: &Path) -> Result<Self, Error> {
        if path
            .metadata()
            .is_ok_and(|found| !found.is_file() && !found.is_dir())
        {
            return Ok(Self::Events);
        }
        let format = match Format::detect(path) {
            Ok(format) => format,
            Err(error) => {
                let is_unknown = matches!(*error.kind, ErrorKind::Format { .. });
                return match is_unknown {
                    true if has_extension_of_events(path) || starts_as_events(path) => {
                        Ok(Self::Events)
                    }
                    true => Ok(Self::Unknown),
                    false => Err(error),
                };
            }
        };
        Ok(match format {
            Format::Nir => Self::Graph,
            Format::TorchZip => Self::Weights,
            Format::Npz | Format::Npy if starts_as_events(path) => Self::Events,
            Format::Npz => Self::Weights,
            _ if has_extension_of_events(path) => Self::Events,
            Format::Safetensors if is_checkpoint(path) => Self::Checkpoint,
            Format::Safetensors | Format::TorchStream | Format::TorchTar | Format::Npy => {
                Self::Weights
            }
        })
    }
}

/// Whether the first bytes are those of a format of events.
fn starts_as_events(path: &Path) -> bool {
    let mut start = vec![];
    let read = File::open(path).and_then(|file| {
        let mut file = file.take(spikelet_events::Format::START as u64);
        file.read_to_end(&mut start)
    });
    read.is_ok() && spikelet_events::Format::detect(&start, None).is_ok()
}

/// Whether the name ends as those of a format of events, such as `.bin`.
fn has_extension_of_events(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    spikelet_events::Format::detect(&[], extension).is_ok()
}

/// Whether the metadata of a safetensors file is that of a checkpoint.
fn is_checkpoint(path: &Path) -> bool {
    TensorFile::read_metadata(path).is_ok_and(|metadata| Checkpoint::is_in(&metadata))
}
