//! The samples that a classifier takes.

use spikelet_data::{DeviceFrames, DeviceSlicing, Field, SequenceLabels, StepShape};

/// The shape of the samples of a classifier.
///
/// ```
/// use spikelet_train::SampleShape;
/// assert_eq!(SampleShape::from([1, 28, 28]), SampleShape::Image([1, 28, 28]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SampleShape {
    /// Channels, height and width of images: the input `images`, which the encoder turns into a sequence.
    Image([usize; 3]),
    /// Sequences of features or frames: the input `x`, without an encoder.
    Sequence {
        /// The time steps T.
        steps: usize,
        /// The shape of a time step.
        shape: StepShape,
        /// One label for each sequence or for each time step.
        labels: SequenceLabels,
        /// Whether sequences may be shorter than T: the input `x_length` has the number of time steps of each.
        varies: bool,
        /// Set where the device makes the frames: the input is `events`, with `events_length`, in place of `x`.
        device_frames: Option<DeviceFrames>,
    },
}

impl SampleShape {
    /// The shape of samples with these fields: `images`, or sequences `x` with these labels. `None` if they have neither,
    /// or not all have one shape.
    pub(crate) fn of_fields(
        fields: &[Field],
        labels: SequenceLabels,
        device_frames: Option<DeviceFrames>,
    ) -> Option<Self> {
        let shape_of = |name: &str| -> Option<Vec<usize>> {
            let field = fields.iter().find(|field| field.name == name)?;
            field.shape.iter().copied().collect()
        };
        if let Some(images) = shape_of("images") {
            return images.try_into().ok().map(Self::Image);
        }
        if let Some(frames) = device_frames {
            return Some(Self::Sequence {
                steps: frames.steps,
                shape: StepShape::Frame(frames.shape()),
                labels,
                varies: matches!(frames.slicing, DeviceSlicing::Duration(_)),
                device_frames,
            });
        }
        let x = shape_of("x")?;
        let (&steps, shape) = x.split_first()?;
        Some(Self::Sequence {
            steps,
            shape: StepShape::of(shape)?,
            labels,
            device_frames: None,
            varies: fields
                .iter()
                .any(|field| field.name == "x" && field.pad.is_some()),
        })
    }

    /// Whether the samples are sequences whose lengths vary.
    pub(crate) fn varies(self) -> bool {
        matches!(self, Self::Sequence { varies: true, .. })
    }

    /// The shape of images; `None` for sequences.
    pub fn image(self) -> Option<[usize; 3]> {
        match self {
            Self::Image(image) => Some(image),
            Self::Sequence { .. } => None,
        }
    }
}

impl From<[usize; 3]> for SampleShape {
    fn from(image: [usize; 3]) -> Self {
        Self::Image(image)
    }
}

/// The samples of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleBatch {
    /// The number of samples.
    pub batch: usize,
    /// The shape of each.
    pub sample: SampleShape,
}

/// The shape of the images of a batch, `[N, channels, height, width]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchShape {
    /// Images.
    pub batch: usize,
    /// Channels, height, width.
    pub image: [usize; 3],
}

impl From<BatchShape> for SampleBatch {
    fn from(shape: BatchShape) -> Self {
        Self {
            batch: shape.batch,
            sample: shape.image.into(),
        }
    }
}
