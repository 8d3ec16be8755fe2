//! Formats of outputs by name.

use crate::command::data::writable;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightFormat {
    Safetensors,
    /// A state dict of PyTorch.
    Torch,
    /// NumPy arrays.
    Npz,
}

impl WeightFormat {
    /// The names of all.
    pub const NAMES: &str = "safetensors, pt, npz";

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Safetensors => "safetensors",
            Self::Torch => "pt",
            Self::Npz => "npz",
        }
    }

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
        match text {
            "nir" => Ok(Self::Nir),
            "safetensors" => Ok(Self::Weights(WeightFormat::Safetensors)),
            "pt" => Ok(Self::Weights(WeightFormat::Torch)),
            "npz" => Ok(Self::Weights(WeightFormat::Npz)),
            _ => {
                if let Ok(framework) = text.parse() {
                    return Ok(Self::Framework(framework));
                }
                writable(text).map(Self::Events).map_err(|known| {
                    let frameworks = Framework::ALL.map(Framework::name).join(", ");
                    let weights = WeightFormat::NAMES;
                    format!(
                        "{known}; of graphs: nir; of weights: {weights}; frameworks: {frameworks}"
                    )
                })
            }
        }
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
