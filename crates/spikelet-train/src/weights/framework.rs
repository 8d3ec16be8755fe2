//! Frameworks by name.

use std::fmt;
use std::str::FromStr;

/// A framework whose weights are mapped.
///
/// ```
/// use spikelet_train::weights::Framework;
/// assert_eq!("snntorch".parse(), Ok(Framework::SnnTorch));
/// assert_eq!(Framework::SpikingJelly.to_string(), "SpikingJelly");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framework {
    /// None: names and tensors as they are in spikelet.
    Spikelet,
    /// SpikingJelly 2.0.
    SpikingJelly,
    /// snnTorch 1.0.
    SnnTorch,
    /// Norse 1.1.
    Norse,
    /// sparch.
    Sparch,
}

impl Framework {
    /// All other frameworks.
    pub const ALL: [Self; 4] = [
        Self::SpikingJelly,
        Self::SnnTorch,
        Self::Norse,
        Self::Sparch,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spikelet => "spikelet",
            Self::SpikingJelly => "spikingjelly",
            Self::SnnTorch => "snntorch",
            Self::Norse => "norse",
            Self::Sparch => "sparch",
        }
    }
}

/// A name that is not that of a framework.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("frameworks are {}; `{name}` was given", Framework::ALL.map(Framework::name).join(", "))]
pub struct UnknownFramework {
    /// The given name.
    name: String,
}

impl FromStr for Framework {
    type Err = UnknownFramework;

    fn from_str(text: &str) -> Result<Self, UnknownFramework> {
        let found = Self::ALL.into_iter().find(|known| known.name() == text);
        found.ok_or_else(|| UnknownFramework {
            name: text.to_string(),
        })
    }
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spikelet => "spikelet",
            Self::SpikingJelly => "SpikingJelly",
            Self::SnnTorch => "snnTorch",
            Self::Norse => "Norse",
            Self::Sparch => "sparch",
        })
    }
}
