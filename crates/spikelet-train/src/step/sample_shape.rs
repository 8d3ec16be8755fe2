//! The samples that a classifier takes.

use super::LABELS;
use spikelet_core::{Error, Result};
use spikelet_data::{Dataset, DeviceFrames, DeviceSlicing, Field, StepShape, Unlabeled};

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
        /// Set where each time step has a label, instead of each sequence.
        step_labels: Option<Unlabeled>,
        /// Whether sequences may be shorter than T: the input `x_length` has the number of time steps of each.
        varies: bool,
        /// Set where the device makes the frames: the input is `events`, with `events_length`, in place of `x`.
        device_frames: Option<DeviceFrames>,
    },
}

impl SampleShape {
    /// The shape of samples with these fields: `images`, or sequences `x` with their `labels`. `None` if they have neither,
    /// or not all have one shape.
    ///
    /// ```
    /// use spikelet_train::SampleShape;
    /// let digits = spikelet_data::synthetic::digits_of(0, 10, 10);
    /// assert_eq!(SampleShape::of_fields(&digits.train.fields()), Some([1, 28, 28].into()));
    /// ```
    pub fn of_fields(fields: &[Field]) -> Option<Self> {
        let field = |name: &str| fields.iter().find(|field| field.name == name);
        let shape_of =
            |name: &str| -> Option<Vec<usize>> { field(name)?.shape.iter().copied().collect() };
        if let Some(images) = shape_of("images") {
            return images.try_into().ok().map(Self::Image);
        }
        let step_labels = field(LABELS).and_then(|labels| labels.unlabeled);
        if let Some(frames) = field("events").and_then(|events| events.device_frames) {
            return Some(Self::Sequence {
                steps: frames.steps,
                shape: StepShape::Frame(frames.shape()),
                step_labels,
                varies: matches!(frames.slicing, DeviceSlicing::Duration(_)),
                device_frames: Some(frames),
            });
        }
        let x = shape_of("x")?;
        let (&steps, shape) = x.split_first()?;
        Some(Self::Sequence {
            steps,
            shape: StepShape::of(shape)?,
            step_labels,
            device_frames: None,
            varies: field("x").is_some_and(|x| x.pad.is_some()),
        })
    }

    /// The shape of the samples of a data set.
    ///
    /// # Errors
    /// If they are not those of a classifier.
    pub fn of_dataset(dataset: &dyn Dataset) -> Result<Self> {
        Self::of_all_fields(&dataset.fields())
    }

    /// As [`Self::of_fields`].
    pub(crate) fn of_all_fields(fields: &[Field]) -> Result<Self> {
        Self::of_fields(fields).ok_or_else(|| {
            let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
            Error::invalid(
                "data",
                format!("the samples are {}", fields.join(", ")),
                format!(
                    "a classifier needs `images` of one shape [channels, height, width], or sequences `x` of one shape \
                     [time, channels], and `{LABELS}`; resize images of several sizes with a transform, or train a \
                     `Step` with `Trainer::over`"
                ),
            )
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
