//! The height and width of images, as networks and their files have them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use spikelet_core::{Error, Result};

/// The height and width of an image: one number if they are equal, otherwise a list of both.
///
/// ```
/// use spikelet_nn::network::ImageSize;
/// assert_eq!(ImageSize::from(28), ImageSize { height: 28, width: 28 });
/// assert_eq!(ImageSize::from([48, 32]), ImageSize { height: 48, width: 32 });
/// let read = |text| serde_json::from_str::<ImageSize>(text).ok();
/// assert_eq!(read("[48, 32]"), Some([48, 32].into()));
/// assert_eq!(read("0"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageSize {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels of a row.
    pub width: usize,
}

impl ImageSize {
    /// The values that it is read from, for messages.
    pub const EXPECTED: &'static str =
        "an integer of at least 1, or a list of height and width such as [48, 64]";

    /// The size of a number or a list of two.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let side = |value: &Value| {
            let number = usize::try_from(value.as_u64()?).ok()?;
            (number > 0).then_some(number)
        };
        match value.as_array().map(Vec::as_slice) {
            None => Some(side(value)?.into()),
            Some([height, width]) => Some([side(height)?, side(width)?].into()),
            Some(_) => None,
        }
    }

    /// The shape of an image of this size.
    pub(super) fn image(self, channels: usize) -> [usize; 3] {
        [channels, self.height, self.width]
    }

    /// Height and width after pooling by 2 `halvings` times.
    pub(super) fn halved(self, halvings: u32) -> Result<[usize; 2]> {
        let left = [self.height, self.width].map(|side| side.checked_shr(halvings).unwrap_or(0));
        match left.contains(&0) {
            false => Ok(left),
            true => Err(Error::invalid(
                "size",
                format!(
                    "images of height {} and width {} cannot be halved {halvings} times",
                    self.height, self.width
                ),
                match 1_usize.checked_shl(halvings) {
                    Some(least) => format!("set `size` to at least {least}, or [{least}, {least}]"),
                    None => "use fewer pools".to_string(),
                },
            )),
        }
    }
}

impl From<usize> for ImageSize {
    fn from(side: usize) -> Self {
        [side, side].into()
    }
}

impl From<[usize; 2]> for ImageSize {
    /// Of height and width.
    fn from([height, width]: [usize; 2]) -> Self {
        Self { height, width }
    }
}

impl From<ImageSize> for Value {
    fn from(size: ImageSize) -> Self {
        match size.height == size.width {
            true => json!(size.height),
            false => json!([size.height, size.width]),
        }
    }
}

impl Serialize for ImageSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::from(*self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ImageSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let expected = || format!("an image size must be {}", Self::EXPECTED);
        Self::of(&value).ok_or_else(|| serde::de::Error::custom(expected()))
    }
}
