//! External triggers.

/// A signal at an input of the camera, recorded among the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// The time in microseconds.
    pub t: i64,
    /// The number of the input.
    pub id: u16,
    /// The level after the signal.
    pub value: u8,
}
