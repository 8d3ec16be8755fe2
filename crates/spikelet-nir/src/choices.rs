//! The choices that NIR does not define.

use spikelet_schema::Schema;

/// The reset of a neuron that fired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
#[schema(crate = spikelet_schema)]
pub enum Reset {
    /// The potential is v_reset, as NIR defines it.
    #[default]
    Value,
    /// The threshold is subtracted; v_reset is unused.
    Subtract,
}

/// Whether a potential that equals the threshold causes a spike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
#[schema(crate = spikelet_schema)]
pub enum Fires {
    /// No: v > v_threshold, as NIR defines it; snnTorch, Norse.
    #[default]
    #[schema(name = "gt")]
    Above,
    /// Yes: v ≥ v_threshold; SpikingJelly, sinabs, Rockpool.
    #[schema(name = "ge")]
    AtLeast,
}

/// Where the delay of one step is in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
#[schema(crate = spikelet_schema)]
pub enum FeedbackFrom {
    /// At the output of the neuron: nodes on the way back compute with its output of the step before. A bias on
    /// the way back acts in the first step.
    #[default]
    Source,
    /// At the edge that closes the cycle: its last value is kept, 0 before the first step. A bias on the way back
    /// acts from the second step on; NIRTorch, Norse, SpikingJelly.
    Edge,
}

/// The potential before the first step. Currents start at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
#[schema(crate = spikelet_schema)]
pub enum VStart {
    /// 0.
    #[default]
    Zero,
    /// v_leak, or 0 for neurons without.
    Leak,
    /// v_reset, or 0 for neurons without.
    Reset,
    /// Half the threshold, or 0 for neurons without: neurons of converted networks, which round.
    HalfThreshold,
}
