//! The types that a field may have.

use crate::document::{Content, Located, Node};
use crate::{Domain, Field, Kind, Record, RecordMut};
use serde_json::Value as Json;
use std::any::Any;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A type that a field of a declaration may have.
pub trait FieldValue: Any {
    /// The type in schemas and tables.
    fn kind() -> Kind
    where
        Self: Sized;

    /// Sets the value from a document.
    ///
    /// # Errors
    /// When it is of another type or outside the field's domain.
    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located>;

    /// The value as JSON; `null` where it is not set.
    fn write(&self) -> Json;

    /// The value if it is one number, of which a domain can be asked.
    fn number(&self) -> Option<f64> {
        None
    }

    /// The numbers of the value or of its elements, of which a domain can be asked.
    fn numbers(&self) -> Vec<f64> {
        self.number().into_iter().collect()
    }

    /// Checks a value with fields of its own, as [`check`](crate::check).
    ///
    /// # Errors
    /// When a field is wrong.
    fn check(&self) -> Result<(), Located> {
        Ok(())
    }

    /// The fields, if the value has fields.
    fn record(&self) -> Option<&dyn Record> {
        None
    }

    /// As [`FieldValue::record`], to be set.
    fn record_mut(&mut self) -> Option<&mut dyn RecordMut> {
        None
    }

    /// The fields of a member of a family.
    fn member(&self) -> Option<&dyn Record> {
        None
    }

    /// The keys of a member of a family that is flattened into a table, as the table names it.
    fn member_keys<'a>(&self, table: &'a Node) -> Vec<&'a str> {
        let _ = table;
        vec![]
    }
}

/// A value that serde reads, for fields of types that have no declaration.
///
/// # Errors
/// When serde refuses it.
pub fn read_by_serde<T: serde::de::DeserializeOwned>(
    field: &Field,
    node: &Node,
) -> Result<T, Located> {
    serde_json::from_value(node.to_json()).map_err(|error| {
        let problem = format!("`{}`: {error}", field.key);
        Located::other(problem, "correct this value").or_at(node.span.clone())
    })
}

/// A value that is written as a text, for fields of types that have no declaration.
///
/// # Errors
/// When it is no text, or its type refuses it.
pub fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    field: &Field,
    node: &Node,
) -> Result<T, Located> {
    node.text(field.key)?
        .parse()
        .map_err(|error| node.refused(&error, "correct this value"))
}

/// The number of a node in the domain of a field.
fn number(field: &Field, node: &Node) -> Result<f64, Located> {
    let domain = field.domain.unwrap_or(Domain::FINITE);
    match node.number(field.key) {
        Ok(number) if domain.contains(number) => Ok(number),
        _ => Err(node.wrong(field.key, domain.to_string())),
    }
}

impl FieldValue for f64 {
    fn kind() -> Kind {
        Kind::Number
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        *self = number(field, node)?;
        Ok(())
    }

    fn write(&self) -> Json {
        Json::from(*self)
    }

    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

impl FieldValue for f32 {
    fn kind() -> Kind {
        Kind::Number
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        let read = number(field, node)? as Self;
        if !read.is_finite() {
            return Err(node.wrong(field.key, format!("a number up to {:e}", Self::MAX)));
        }
        *self = read;
        Ok(())
    }

    /// The shortest decimal number that is this value.
    fn write(&self) -> Json {
        Json::from(self.to_string().parse::<f64>().unwrap_or(f64::from(*self)))
    }

    fn number(&self) -> Option<f64> {
        Some(f64::from(*self))
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl FieldValue for $type {
            fn kind() -> Kind {
                Kind::Integer
            }

            fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
                let of_type = match node.content {
                    Content::Integer(given) => Self::try_from(given).ok(),
                    _ => None,
                };
                let domain = field.domain.unwrap_or(match Self::MIN {
                    0 => Domain::at_least(0.0),
                    _ => Domain::FINITE,
                });
                let read = of_type.filter(|read| domain.contains(*read as f64));
                *self = read.ok_or_else(|| node.wrong(field.key, domain.integers().to_string()))?;
                Ok(())
            }

            fn write(&self) -> Json {
                Json::from(*self)
            }

            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }
        }
    )*};
}

integers! { u8 u16 u32 u64 usize i32 i64 }

impl FieldValue for bool {
    fn kind() -> Kind {
        Kind::Flag
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        *self = node.flag(field.key)?;
        Ok(())
    }

    fn write(&self) -> Json {
        Json::from(*self)
    }
}

impl FieldValue for String {
    fn kind() -> Kind {
        Kind::Text
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        *self = node.text(field.key)?.to_string();
        Ok(())
    }

    fn write(&self) -> Json {
        Json::from(self.as_str())
    }
}

impl FieldValue for PathBuf {
    fn kind() -> Kind {
        Kind::Text
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        *self = Self::from(node.text(field.key)?);
        Ok(())
    }

    fn write(&self) -> Json {
        Json::from(self.to_string_lossy())
    }
}

impl<T: FieldValue + Default> FieldValue for Vec<T> {
    fn kind() -> Kind {
        Kind::List(Box::new(T::kind()), None)
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        let items = node.list(field.key)?.iter();
        *self = items
            .map(|item| element(field, item))
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    fn write(&self) -> Json {
        self.iter().map(FieldValue::write).collect()
    }

    fn numbers(&self) -> Vec<f64> {
        self.iter().flat_map(FieldValue::numbers).collect()
    }

    fn check(&self) -> Result<(), Located> {
        self.iter().try_for_each(FieldValue::check)
    }
}

impl<T: FieldValue + Default, const N: usize> FieldValue for [T; N] {
    fn kind() -> Kind {
        Kind::List(Box::new(T::kind()), Some(N))
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        match node.list(field.key) {
            Ok(items) if items.len() == N => {
                for (own, item) in self.iter_mut().zip(items) {
                    *own = element(field, item)?;
                }
                Ok(())
            }
            _ => Err(node.wrong(field.key, format!("a list of {N} values"))),
        }
    }

    fn write(&self) -> Json {
        self.iter().map(FieldValue::write).collect()
    }

    fn numbers(&self) -> Vec<f64> {
        self.iter().flat_map(FieldValue::numbers).collect()
    }
}

fn element<T: FieldValue + Default>(field: &Field, item: &Node) -> Result<T, Located> {
    let mut read = T::default();
    read.read(field, item)?;
    Ok(read)
}

/// Any value.
impl FieldValue for Json {
    fn kind() -> Kind {
        Kind::Other("any value", || serde_json::json!({}))
    }

    fn read(&mut self, _: &Field, node: &Node) -> Result<(), Located> {
        *self = node.to_json();
        Ok(())
    }

    fn write(&self) -> Json {
        self.clone()
    }
}

/// A table with any keys and values.
impl FieldValue for serde_json::Map<String, Json> {
    fn kind() -> Kind {
        BTreeMap::<String, Json>::kind()
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        match node.to_json() {
            Json::Object(table) => *self = table,
            _ => return Err(node.wrong(field.key, "a table")),
        }
        Ok(())
    }

    fn write(&self) -> Json {
        Json::Object(self.clone())
    }
}

/// A table with any keys.
impl<T: FieldValue + Default> FieldValue for BTreeMap<String, T> {
    fn kind() -> Kind {
        Kind::Other("a table", || serde_json::json!({"type": "object"}))
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        let entries = node
            .entries()
            .ok_or_else(|| node.wrong(field.key, "a table"))?;
        let each = entries
            .iter()
            .map(|entry| Ok((entry.key.clone(), element(field, &entry.value)?)));
        *self = each.collect::<Result<_, Located>>()?;
        Ok(())
    }

    fn write(&self) -> Json {
        let each = self.iter().map(|(key, value)| (key.clone(), value.write()));
        Json::Object(each.collect())
    }
}

/// `null` or the word of the field is `None`. Without a word, a value is given.
impl<T: FieldValue + Default> FieldValue for Option<T> {
    fn kind() -> Kind {
        Kind::Optional(Box::new(T::kind()))
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        let is_none = node.content == Content::Null || node.as_text() == Some(field.none);
        *self = match is_none {
            _ if field.none.is_empty() => Some(element(field, node)?),
            true => None,
            false => Some(element(field, node).map_err(|error| error.or_word(field.none))?),
        };
        Ok(())
    }

    fn write(&self) -> Json {
        self.as_ref().map_or(Json::Null, FieldValue::write)
    }

    fn number(&self) -> Option<f64> {
        self.as_ref().and_then(FieldValue::number)
    }

    fn numbers(&self) -> Vec<f64> {
        self.as_ref().map_or(vec![], FieldValue::numbers)
    }

    fn check(&self) -> Result<(), Located> {
        self.as_ref().map_or(Ok(()), FieldValue::check)
    }
}
