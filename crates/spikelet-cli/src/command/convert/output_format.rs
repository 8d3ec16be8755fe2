//! Formats of outputs by name.

use crate::command::data::writable;
use spikelet::schema::Schema;
use spikelet::weights::Framework;
use spikelet_events::Format;
use std::fmt;
use std::path::Path;

/// A format of outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// A format of events.
    Events(Format),
    /// A NIR graph.
    Nir,
    /// A format of weights.
    Weights(WeightFormat),
    /// The names and constants of a framework, in the format of weights of the extension.
    Framework(Framework),
}

/// A format of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[schema(crate = spikelet::schema)]
pub enum WeightFormat {
    Safetensors,
    /// A state dict of PyTorch.
    #[schema(name = "pt")]
    Torch,
    /// NumPy arrays.
    Npz,
}

impl WeightFormat {
    /// The format of an extension.
    pub fn of_extension(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "safetensors" => Some(Self::Safetensors),
            "pt" | "pth" | "ckpt" => Some(Self::Torch),
            "npz" => Some(Self::Npz),
            _ => None,
        }
    }
}

impl OutputFormat {
    /// The format of a name.
    ///
    /// # Errors
    /// No format has this name; the message lists all formats.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "nir" {
            return Ok(Self::Nir);
        }
        let weights = WeightFormat::find(text).map(Self::Weights);
        let found = weights.or_else(|_| Framework::find(text).map(Self::Framework));
        found.or_else(|_| {
            writable(text).map(Self::Events).map_err(|known| {
                let weights = WeightFormat::NAMES.join(", ");
                let frameworks = Framework::NAMES.join(", ");
                format!("{known}; of graphs: nir; of weights: {weights}; frameworks: {frameworks}")
            })
        })
    }
}

impl fmt::Display for OutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Events(format) => format.name(),
            Self::Nir => "nir",
            Self::Weights(format) => format.name(),
            Self::Framework(framework) => framework.name(),
        })
    }
}
