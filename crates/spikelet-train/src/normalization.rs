//! How pixels are normalized.

use serde_json::{Value, json};
use spikelet_data::{Normalize, Split};
use spikelet_schema::document::{Fields, Located, Node};
use spikelet_schema::{Field, FieldValue, Kind};
use std::fmt;
use std::str::FromStr;

/// How pixels are normalized, before the training images are known.
///
/// ```
/// use spikelet_train::Normalization;
/// assert_eq!("auto".parse(), Ok(Normalization::Auto));
/// assert!("0.13/0.31".parse::<Normalization>().is_ok());
/// assert!("much".parse::<Normalization>().is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Normalization {
    /// Not at all.
    #[default]
    None,
    /// By mean and standard deviation of the training images per channel; by those of ImageNet, of images in folders.
    Auto,
    /// By these values.
    Given(Normalize),
}

/// A text that is no [`Normalization`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write none, auto, or MEAN/STD such as 0.13/0.31")]
pub struct ParseNormalizationError;

impl Normalization {
    /// The normalization of this data set: that of `auto` is [`Split::normalize`].
    ///
    /// # Errors
    /// As [`Split::normalize`].
    pub fn of(&self, data: &Split) -> spikelet_data::Result<Option<Normalize>> {
        Ok(match self {
            Self::None => None,
            Self::Auto => Some(data.normalize()?),
            Self::Given(given) => Some(given.clone()),
        })
    }

    /// The values, if they are given.
    pub fn given(&self) -> Option<&Normalize> {
        match self {
            Self::Given(given) => Some(given),
            _ => None,
        }
    }
}

const EXPECTED: &str = "\"none\", \"auto\", or { mean = [0.5], std = [0.2] }";

/// `"none"`, `"auto"`, or a table with a value or one a channel.
impl FieldValue for Normalization {
    fn kind() -> Kind {
        Kind::Other(EXPECTED, || {
            let numbers = json!({"type": "array", "items": {"type": "number"}, "minItems": 1});
            let given = json!({
                "type": "object", "properties": {"mean": numbers, "std": numbers},
                "required": ["mean", "std"], "additionalProperties": false,
            });
            json!({"anyOf": [{"enum": ["none", "auto"]}, given]})
        })
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        *self = match node.as_text() {
            Some("none") => Self::None,
            Some("auto") => Self::Auto,
            _ if node.entries().is_none() => return Err(node.wrong(field.key, EXPECTED)),
            _ => {
                let fields = Fields::new(node, format!("`{}`", field.key), &["mean", "std"])?;
                let values = |key: &str| -> Result<Vec<f32>, Located> {
                    let node = fields.require(key, "a list of a number or one a channel")?;
                    let each = node.list(key)?.iter();
                    each.map(|item| Ok(item.number(key)? as f32)).collect()
                };
                let normalize = Normalize {
                    mean: values("mean")?,
                    std: values("std")?,
                };
                let channels = normalize.mean.len().max(normalize.std.len());
                normalize
                    .check(channels)
                    .map_err(|problem| node.refused(&problem, "correct the values"))?;
                Self::Given(normalize)
            }
        };
        Ok(())
    }

    fn write(&self) -> Value {
        match self {
            Self::None => "none".into(),
            Self::Auto => "auto".into(),
            Self::Given(given) => json!({"mean": given.mean.write(), "std": given.std.write()}),
        }
    }
}

impl From<Option<Normalize>> for Normalization {
    fn from(normalize: Option<Normalize>) -> Self {
        normalize.map_or(Self::None, Self::Given)
    }
}

/// `none`, `auto`, or `MEAN/STD` with one value or one per channel, separated by commas.
impl FromStr for Normalization {
    type Err = ParseNormalizationError;

    fn from_str(text: &str) -> Result<Self, ParseNormalizationError> {
        match text {
            "none" => return Ok(Self::None),
            "auto" => return Ok(Self::Auto),
            _ => {}
        }
        let (mean, std) = text.split_once('/').ok_or(ParseNormalizationError)?;
        let values = |text: &str| -> Result<Vec<f32>, ParseNormalizationError> {
            let each = text.split(',').map(|value| value.trim().parse());
            each.collect::<Result<_, _>>()
                .map_err(|_| ParseNormalizationError)
        };
        Ok(Self::Given(Normalize {
            mean: values(mean)?,
            std: values(std)?,
        }))
    }
}

/// As it is parsed.
impl fmt::Display for Normalization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |values: &[f32]| {
            let each: Vec<String> = values.iter().map(ToString::to_string).collect();
            each.join(",")
        };
        match self {
            Self::None => f.write_str("none"),
            Self::Auto => f.write_str("auto"),
            Self::Given(given) => write!(f, "{}/{}", list(&given.mean), list(&given.std)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_are_given_or_computed() {
        let given = Normalize {
            mean: vec![0.5, 0.25, -0.5],
            std: vec![0.2],
        };
        let text = "0.5,0.25,-0.5/0.2";
        let read: Normalization = text.parse().expect("it is one");
        assert_eq!(read.to_string(), text);
        assert_eq!(read, Normalization::Given(given));
        for wrong in ["0.5", "a/b", "0.5/", "/"] {
            assert_eq!(
                wrong.parse::<Normalization>(),
                Err(ParseNormalizationError),
                "{wrong}"
            );
        }
    }
}
