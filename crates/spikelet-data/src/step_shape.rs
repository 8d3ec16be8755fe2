//! The shape of a time step of a sequence.

use std::fmt;

/// The shape of a time step of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepShape {
    /// A number of features.
    Features(usize),
    /// Channels, height and width of a frame.
    Frame([usize; 3]),
}

impl StepShape {
    /// The sizes of the axes.
    ///
    /// ```
    /// use spikelet_data::StepShape;
    /// assert_eq!(StepShape::Frame([2, 34, 34]).sizes(), [2, 34, 34]);
    /// ```
    #[must_use]
    pub fn sizes(&self) -> &[usize] {
        match self {
            Self::Features(features) => std::slice::from_ref(features),
            Self::Frame(sizes) => sizes,
        }
    }

    /// The shape of these sizes, of one axis or of three.
    #[must_use]
    pub fn of(sizes: &[usize]) -> Option<Self> {
        match *sizes {
            [features] => Some(Self::Features(features)),
            [channels, height, width] => Some(Self::Frame([channels, height, width])),
            _ => None,
        }
    }
}

/// As in messages: `140 features`, `frames of 2 × 34 × 34`.
impl fmt::Display for StepShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Features(features) => write!(f, "{features} features"),
            Self::Frame([channels, height, width]) => {
                write!(f, "frames of {channels} × {height} × {width}")
            }
        }
    }
}
