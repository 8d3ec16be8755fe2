//! The time steps of other frameworks.

use super::choices::{FeedbackFrom, Fires, Reset, VStart};
use super::error::NirError;
use spikelet_nn::neuron::Discretization;
use std::fmt;
use std::str::FromStr;

/// A framework whose time steps are used.
///
/// | | dt | discretization | fires | reset | feedback | v(0) |
/// |---|---|---|---|---|---|---|
/// | `Snntorch` | 1e-4 | euler-seq | gt | value | source | zero |
/// | `Norse` | 1e-3 | euler-seq | gt | value | edge | leak |
/// | `Spikingjelly` | 1e-4 | euler-seq | ge | value | edge | reset |
/// | `Sinabs` | 1 (time constants are in steps) | exact | ge | subtract | edge | zero |
/// | `Rockpool` | min τ/(1 + r) | exact-seq | ge | subtract | source | zero |
///
/// These are the steps of snnTorch with `reset_mechanism="zero"` and `reset_delay=False`, of Norse's `LIFBoxCell`, and
/// of SpikingJelly's nodes with a hard reset. sinabs and Rockpool emit several spikes in a step and sinabs clips
/// the potentials of IF neurons; that is not part of a convention.
///
/// Norse 1.1.0 writes time constants that are too small by its dt of 1e-3: its files have steps of 1e-6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// snnTorch 1.0.
    Snntorch,
    /// Norse 1.1 and later.
    Norse,
    /// SpikingJelly 2.0.
    Spikingjelly,
    /// sinabs 3.1.
    Sinabs,
    /// Rockpool 3.1.
    Rockpool,
}

impl Convention {
    /// All conventions.
    pub const ALL: &[Self] = &[
        Self::Snntorch,
        Self::Norse,
        Self::Spikingjelly,
        Self::Sinabs,
        Self::Rockpool,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Snntorch => "snntorch",
            Self::Norse => "norse",
            Self::Spikingjelly => "spikingjelly",
            Self::Sinabs => "sinabs",
            Self::Rockpool => "rockpool",
        }
    }

    pub(super) fn choices(self) -> Choices {
        let euler = Choices {
            dt: Some(1e-4),
            discretization: Discretization::EulerSeq,
            reset: Reset::Value,
            reset_delay: false,
            fires: Fires::Above,
            feedback: FeedbackFrom::Source,
            v_start: VStart::Zero,
        };
        let exact = Choices {
            dt: Some(1.0),
            discretization: Discretization::Exact,
            reset: Reset::Subtract,
            fires: Fires::AtLeast,
            ..euler
        };
        match self {
            Self::Snntorch => euler,
            Self::Norse => Choices {
                dt: Some(1e-3),
                feedback: FeedbackFrom::Edge,
                v_start: VStart::Leak,
                ..euler
            },
            Self::Spikingjelly => Choices {
                fires: Fires::AtLeast,
                feedback: FeedbackFrom::Edge,
                v_start: VStart::Reset,
                ..euler
            },
            Self::Sinabs => Choices {
                feedback: FeedbackFrom::Edge,
                ..exact
            },
            Self::Rockpool => Choices {
                dt: None,
                discretization: Discretization::ExactSeq,
                ..exact
            },
        }
    }
}

impl fmt::Display for Convention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Convention {
    type Err = NirError;

    fn from_str(name: &str) -> Result<Self, NirError> {
        let found = Self::ALL.iter().copied().find(|known| known.name() == name);
        found.ok_or_else(|| NirError::Choice {
            what: "the convention".to_string(),
            given: name.to_string(),
            expected: "snntorch, norse, spikingjelly, sinabs, rockpool".to_string(),
        })
    }
}

/// The choices of a framework.
pub(super) struct Choices {
    /// The length of a step, where it is not determined by the file.
    pub(super) dt: Option<f64>,
    pub(super) discretization: Discretization,
    pub(super) reset: Reset,
    pub(super) reset_delay: bool,
    pub(super) fires: Fires,
    pub(super) feedback: FeedbackFrom,
    pub(super) v_start: VStart,
}
