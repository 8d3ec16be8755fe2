//! The shape of a time step of a sequence.

use std::fmt;

/// The shape of a time step of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepShape {
    /// A number of features.
    Features(usize),
    /// Channels and length of a signal of one dimension.
    Signal([usize; 2]),
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
            Self::Signal(sizes) => sizes,
            Self::Frame(sizes) => sizes,
        }
    }

    /// The help for two shapes that differ in the order of height and width only.
    ///
    /// ```
    /// use spikelet_data::StepShape;
    /// let [a, b] = [[2, 346, 260], [2, 260, 346]].map(StepShape::Frame);
    /// assert!(a.transposed_help(b).is_some());
    /// assert_eq!(a.transposed_help(a), None);
    /// ```
    #[must_use]
    pub fn transposed_help(self, other: Self) -> Option<&'static str> {
        let (Self::Frame([channels, height, width]), Self::Frame(other)) = (self, other) else {
            return None;
        };
        let transposed = height != width && other == [channels, width, height];
        transposed.then_some(
            "one of the two is perhaps transposed: images, frames and networks have the height before the width, a sensor \
             its width before the height",
        )
    }

    /// The shape of these sizes, of one to three axes.
    #[must_use]
    pub fn of(sizes: &[usize]) -> Option<Self> {
        match *sizes {
            [features] => Some(Self::Features(features)),
            [channels, length] => Some(Self::Signal([channels, length])),
            [channels, height, width] => Some(Self::Frame([channels, height, width])),
            _ => None,
        }
    }
}

/// As in messages: `140 features`, `signals of 2 × 100`, `frames of 2 × 34 × 34`.
impl fmt::Display for StepShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Features(features) => write!(f, "{features} features"),
            Self::Signal([channels, length]) => write!(f, "signals of {channels} × {length}"),
            Self::Frame([channels, height, width]) => {
                write!(f, "frames of {channels} × {height} × {width}")
            }
        }
    }
}
