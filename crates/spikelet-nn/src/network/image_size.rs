//! The height and width of images, as networks and their files have them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use spikelet_core::{Error, Result};
use spikelet_schema::document::{Content, Located, Node};
use spikelet_schema::{Field, FieldValue, Kind};

/// The values that a size is read from, for messages.
const EXPECTED: &str = "an integer of at least 1, or a list of height and width such as [48, 64]";

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
    /// The size of a number or a list of two, which is the value of `key`.
    fn of(key: &str, node: &Node) -> Result<Self, Located> {
        let side = |node: &Node| node.integer(key, 1..=usize::MAX).ok();
        let read = match &node.content {
            Content::List(sides) => match &sides[..] {
                [height, width] => side(height).zip(side(width)),
                _ => None,
            },
            _ => side(node).map(|side| (side, side)),
        };
        let (height, width) = read.ok_or_else(|| node.wrong(key, EXPECTED))?;
        Ok(Self { height, width })
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
                "`size`",
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

impl FieldValue for ImageSize {
    fn kind() -> Kind {
        Kind::Other("an integer, or a list of height and width", || {
            let side = || json!({"type": "integer", "minimum": 1});
            let sides = json!({"type": "array", "items": side(), "minItems": 2, "maxItems": 2});
            json!({"anyOf": [side(), sides]})
        })
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        *self = Self::of(field.key, node)?;
        Ok(())
    }

    fn write(&self) -> Value {
        (*self).into()
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
        let read = Node::from_json(&value).and_then(|node| Self::of("size", &node));
        read.map_err(|error| serde::de::Error::custom(error.problem))
    }
}
