//! External triggers.

/// A signal at an input of the camera, recorded among the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// The time in microseconds.
    pub t: i64,
    /// The number of the input; the kind of the trigger in AEDAT 4, which has one input: 1 a rising edge, 2 a falling one, 3 a
    /// pulse, 4 and 5 edges of the generator, 6 to 9 images and exposures.
    pub id: u16,
    /// The level after the signal.
    pub value: u8,
}
