//! The time steps of other frameworks.

use super::choices::{FeedbackFrom, Fires, Reset, VStart};
use spikelet_nn::neuron::Discretization;
use spikelet_schema::Schema;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[schema(crate = spikelet_schema)]
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
