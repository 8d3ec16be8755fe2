//! The description of one named tensor of a sample.

use std::fmt;

use serde::{Deserialize, Serialize};
use spikelet_expr::DType;

use crate::device_frames::DeviceFrames;

/// The description of one named tensor of a sample: its name, type and shape, and how samples become a batch.
///
/// | method | batch of N samples |
/// |---|---|
/// | none | `[N, …]`: a new axis 0 |
/// | [`sequence`](Self::sequence) | `[T, N, …]`: axis 0 of a sample is time, and stays the first axis |
/// | [`pad`](Self::pad) | shorter samples are filled up with a value |
/// | [`variable_axis`](Self::variable_axis) | the size of an axis may differ between batches |
/// | [`image`](Self::image) | pixels become `f32`, augmented and normalized by the loader |
///
/// ```
/// use spikelet_data::{DType, Field};
///
/// let clip = Field::new("clip", DType::F32, [100, 40]).sequence().pad(0.0).variable_axis(0);
/// assert_eq!(clip.to_string(), "clip: f32[?, 40], a sequence, padded with 0");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Field {
    /// The name, unique in the data set.
    pub name: String,
    /// The type of the elements: u8, i64, f32 or bits. Of events, that of their times.
    pub dtype: DType,
    /// Whether the samples are [`Events`](crate::Events) of a camera or a cochlea, which are no tensors.
    pub events: bool,
    /// The size of each axis of one sample, `None` where it varies. Events have one axis.
    pub shape: Vec<Option<usize>>,
    /// Whether axis 0 of a sample is time.
    pub sequence: bool,
    /// The value with which shorter samples are filled up.
    pub pad: Option<f64>,
    /// Whether the bytes are pixels `[channels, height, width]`, with a time axis before them in a sequence.
    pub image: bool,
    /// Of labels of time steps: those without a class.
    pub unlabeled: Option<Unlabeled>,
    /// Of events in words, i64 `[M]`: the frames that the device of a training run makes of them.
    pub device_frames: Option<DeviceFrames>,
}

/// The labels of time steps without a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlabeled {
    /// Their number.
    pub label: i64,
    /// The class as which published accuracies count them; `None` if they leave them out.
    pub counted_as: Option<i64>,
}

impl Field {
    /// A field whose samples have this shape; `[]` is a single number.
    pub fn new(
        name: impl Into<String>,
        dtype: DType,
        shape: impl IntoIterator<Item = usize>,
    ) -> Self {
        Self {
            name: name.into(),
            dtype,
            events: false,
            shape: shape.into_iter().map(Some).collect(),
            sequence: false,
            pad: None,
            image: false,
            unlabeled: None,
            device_frames: None,
        }
    }

    /// The field `labels`, i64 `[T]`: a label for each of `steps` time steps.
    ///
    /// ```
    /// use spikelet_data::{Field, Unlabeled};
    /// let labels = Field::step_labels(1301, Unlabeled { label: 255, counted_as: Some(0) });
    /// assert_eq!(labels.to_string(), "labels: i64[1301], a sequence");
    /// ```
    pub fn step_labels(steps: usize, unlabeled: Unlabeled) -> Self {
        Self {
            unlabeled: Some(unlabeled),
            ..Self::new("labels", DType::I64, [steps]).sequence()
        }
    }

    /// Pixels `[channels, height, width]` in bytes. The loader applies [`Augment`](crate::Augment) and
    /// [`Normalize`](crate::Normalize) to them; in a batch they are `f32`, 0 (black) to 1 without normalization.
    pub fn image(name: impl Into<String>, shape: [usize; 3]) -> Self {
        Self {
            image: true,
            ..Self::new(name, DType::U8, shape)
        }
    }

    /// Marks bytes as pixels, see [`Self::image`]; in a sequence they have a time axis before them.
    #[must_use]
    pub fn as_image(mut self) -> Self {
        self.image = true;
        self
    }

    /// The bytes of one sample in a batch; a variable axis counts as 1, and events as none.
    pub(crate) fn bytes_in_batch(&self) -> usize {
        let sizes = self.shape.iter().map(|size| size.unwrap_or(1));
        let elements = sizes.fold(1, usize::saturating_mul);
        match self.dtype {
            _ if self.events => 0,
            _ if self.image => elements.saturating_mul(size_of::<f32>()),
            DType::Bits => elements / 8,
            dtype => elements.saturating_mul(dtype.size_in_bytes()),
        }
    }

    /// Events: one axis of any length. A batch has the events of all samples, see
    /// [`EventBatch`](crate::EventBatch).
    pub fn events(name: impl Into<String>) -> Self {
        Self {
            events: true,
            shape: vec![None],
            ..Self::new(name, DType::I64, [])
        }
    }

    /// Marks axis 0 of a sample as time: the samples `[T, …]` become the batch `[T, N, …]`.
    #[must_use]
    pub fn sequence(mut self) -> Self {
        self.sequence = true;
        self
    }

    /// Fills shorter samples up with `value`: to the size of each axis in [`Self::shape`], or to the largest sample
    /// of the batch on a variable axis. The batch has a further tensor `NAME_length`, i64 `[N]`: the size of axis 0 of
    /// each sample before it was filled up.
    #[must_use]
    pub fn pad(mut self, value: f64) -> Self {
        self.pad = Some(value);
        self
    }

    /// Lets the size of an axis vary. Without [`Self::pad`] the samples of one batch must still be of one size.
    /// An axis that the shape does not have is ignored.
    #[must_use]
    pub fn variable_axis(mut self, axis: usize) -> Self {
        if let Some(size) = self.shape.get_mut(axis) {
            *size = None;
        }
        self
    }

    /// The type of the elements of a tensor; `None` for events.
    pub(crate) fn tensor_dtype(&self) -> Option<DType> {
        (!self.events).then_some(self.dtype)
    }

    /// The name of its type: that of its elements, or `events`.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        type_name(self.tensor_dtype())
    }

    /// The name of the tensor of a batch with the sizes of axis 0 before padding.
    #[must_use]
    pub fn length_name(&self) -> String {
        format!("{}_length", self.name)
    }

    /// The sizes as text, `[?, 40]`.
    pub(crate) fn shape_text(&self) -> String {
        let sizes = self.shape.iter().map(|size| match size {
            Some(size) => size.to_string(),
            None => "?".into(),
        });
        format!("[{}]", sizes.collect::<Vec<_>>().join(", "))
    }
}

/// The name of the type of a tensor with these elements, or of events.
pub(crate) fn type_name(dtype: Option<DType>) -> &'static str {
    dtype.map_or("events", DType::name)
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}{}",
            self.name,
            self.type_name(),
            self.shape_text()
        )?;
        if self.image {
            f.write_str(", an image")?;
        }
        if self.sequence {
            f.write_str(", a sequence")?;
        }
        match self.pad {
            Some(value) => write!(f, ", padded with {value}"),
            None => Ok(()),
        }
    }
}
