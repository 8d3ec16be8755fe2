//! The purpose of a trace.

/// The purpose of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    /// Dropout is active, batch norm uses the statistics of the batch.
    pub training: bool,
    /// States are inputs and outputs, so that the next call continues the sequence. Otherwise each call starts
    /// from the reset values.
    pub carry_state: bool,
}

impl Mode {
    /// Training; each call starts from the reset values.
    pub const TRAIN: Self = Self {
        training: true,
        carry_state: false,
    };
    /// Evaluation; each call starts from the reset values.
    pub const EVAL: Self = Self {
        training: false,
        carry_state: false,
    };
    /// Evaluation call by call: states are carried.
    pub const STREAM: Self = Self {
        training: false,
        carry_state: true,
    };
}
