//! A member of a family as a value.

use crate::document::{DocumentError, Located, Node};
use crate::{Family, Field, FieldValue, Kind, Record, Role, member_to_json, notation, words};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json, json};
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

/// A member of a family that is an element of a list, or a value that may be left out. It is read by
/// [`Registry::read_item`](crate::Registry::read_item), and its text has the words of [`words::item`].
///
/// ```
/// use spikelet_schema::{Member, Record, Schema, registry};
///
/// trait Shape: Record + std::fmt::Debug {}
///
/// /// A square.
/// #[derive(Debug, Schema)]
/// struct Square {
///     /// The length of a side.
///     #[schema(main, default = 1.0, above = 0.0)]
///     side: f64,
/// }
///
/// impl Shape for Square {}
///
/// registry! {
///     /// All shapes.
///     static SHAPES: dyn Shape = "shape" { Square }
/// }
///
/// let square: Member<dyn Shape> = "square=3".parse()?;
/// assert_eq!(square.to_string(), "square side=3.0");
/// assert_eq!(square.to_file(), serde_json::json!({"square": 3.0}));
/// assert_eq!(square, Square { side: 3.0 }.into());
/// assert_eq!(Member::<dyn Shape>::default().to_file(), "square");
/// # Ok::<(), spikelet_schema::document::DocumentError>(())
/// ```
pub struct Member<T: ?Sized>(pub Arc<T>);

impl<T: Family + ?Sized> Member<T> {
    /// The member of a document, which is the value of `key`, by [`Registry::read_item`](crate::Registry::read_item).
    ///
    /// # Errors
    /// When the name is unknown or missing, or a field is wrong.
    pub fn read_item(key: &str, node: &Node) -> Result<Self, Located> {
        T::registry().read_item(key, node).map(Self)
    }

    /// The value in a file: the name, `{ name = value }` where only the main field differs from its default, or a table.
    pub fn to_file(&self) -> Json {
        let record = T::record(&self.0);
        let declaration = record.declaration();
        let mut fields = notation::to_json(record);
        let defaults = notation::to_json(&*(declaration.default)());
        let differs = |key: &str| fields[key] != defaults[key];
        let changed: Vec<&String> = fields.keys().filter(|key| differs(key)).collect();
        let required = declaration.fields.iter().filter(|field| field.required);
        match (&changed[..], declaration.main()) {
            ([], _) if required.count() == 0 => Json::from(declaration.name),
            ([key], Some(main)) if *key == main.key && !fields[*key].is_object() => {
                json!({ declaration.name: fields.remove(main.key) })
            }
            _ => {
                let all = member_to_json(&**self).into_iter();
                Json::Object(Map::from_iter(all.filter(|(_, value)| !value.is_null())))
            }
        }
    }
}

impl<T: Family + ?Sized> Member<T> {
    /// Whether files can name it: it is a member of its family, not a type of a user.
    pub fn is_registered(&self) -> bool {
        T::registry()
            .find(T::record(&self.0).declaration().name)
            .is_ok()
    }
}

impl<T: ?Sized> Deref for Member<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> Clone for Member<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: ?Sized> From<Arc<T>> for Member<T> {
    fn from(member: Arc<T>) -> Self {
        Self(member)
    }
}

/// The first member of the family.
impl<T: Family + ?Sized> Default for Member<T> {
    fn default() -> Self {
        Self((T::registry().entries[0].default)())
    }
}

impl<T: fmt::Debug + ?Sized> fmt::Debug for Member<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Family + ?Sized> PartialEq for Member<T> {
    fn eq(&self, other: &Self) -> bool {
        member_to_json(&**self) == member_to_json(&**other)
    }
}

/// The name and the values of all fields.
impl<T: Family + ?Sized> fmt::Display for Member<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = T::record(&self.0);
        f.write_str(record.declaration().name)?;
        let mut given = notation::to_keys(record);
        given.retain(|pair| !pair.value.is_null());
        given
            .iter()
            .try_for_each(|pair| write!(f, " {}={}", pair.key, words::value(&pair.value)))
    }
}

impl<T: Family + ?Sized> FromStr for Member<T> {
    type Err = DocumentError;

    fn from_str(text: &str) -> Result<Self, DocumentError> {
        let read = Self::read_item(T::registry().family, &Node::text_of(text.trim()));
        read.map_err(|error| error.without_text(&format!("`{text}`")))
    }
}

impl<T: Family + ?Sized> FieldValue for Member<T> {
    fn kind() -> Kind {
        Arc::<T>::kind()
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        match field.role {
            Role::Flatten => self.0.read(field, node),
            _ => Self::read_item(field.key, node).map(|member| *self = member),
        }
    }

    fn write(&self) -> Json {
        self.to_file()
    }

    fn check(&self) -> Result<(), Located> {
        self.0.check()
    }

    fn member(&self) -> Option<&dyn Record> {
        self.0.member()
    }

    fn member_keys<'a>(&self, table: &'a Node) -> Vec<&'a str> {
        self.0.member_keys(table)
    }
}

impl<T: Family + ?Sized> Serialize for Member<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        member_to_json(&**self).serialize(to)
    }
}

impl<'de, T: Family + ?Sized> Deserialize<'de> for Member<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Json::deserialize(from)?;
        let read =
            Node::from_json(&value).and_then(|node| Self::read_item(T::registry().family, &node));
        read.map_err(|error| serde::de::Error::custom(error.problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Schema, registry};

    trait Change: Record + fmt::Debug {}

    /// Values that are dropped.
    #[derive(Debug, Schema)]
    #[schema(earlier = with_ratio)]
    struct Drop {
        /// The part of the values.
        #[schema(main, default = 0.1, from = 0.0, to = 1.0)]
        p: f64,
        /// The kind of the values.
        #[schema(default = "all".to_string())]
        of: String,
        /// The axes.
        axes: Vec<usize>,
        /// The seed.
        seed: Option<u64>,
    }

    /// The part was called `ratio`.
    fn with_ratio(table: &Node) -> Option<Node> {
        let ratio = table.get("ratio")?;
        Some(table.without("ratio").with("p", ratio.clone()))
    }

    /// Nothing.
    #[derive(Debug, Schema)]
    struct Nothing {}

    impl Change for Drop {}
    impl Change for Nothing {}

    registry! {
        static CHANGES: dyn Change = "change" { Nothing, Drop } or { "drop-rows" = "drop", "of = 'rows'" }
    }

    #[test]
    fn every_spelling_of_a_member_is_read() {
        let read = |node: Json| -> Member<dyn Change> { serde_json::from_value(node).unwrap() };
        let expected = read(serde_json::json!({"name": "drop", "p": 0.5, "of": "rows"}));
        for given in [
            serde_json::json!({"drop-rows": 0.5}),
            serde_json::json!({"drop_rows": {"p": 0.5}}),
            serde_json::json!({"drop": 0.5, "of": "rows"}),
            serde_json::json!({"name": "drop-rows", "ratio": 0.5}),
            serde_json::json!("drop-rows=0.5"),
            serde_json::json!("drop of=rows ratio=0.5"),
        ] {
            assert_eq!(read(given), expected);
        }
        assert_eq!(CHANGES.find("drop-rows").unwrap().name(), "drop");
    }

    #[test]
    fn the_text_and_the_value_in_a_file_are_read_again() {
        let drop = Drop {
            of: "0 or 1".to_string(),
            axes: vec![1, 2],
            ..Drop::default()
        };
        let drop = Member::<dyn Change>::from(drop);
        assert_eq!(drop.to_string(), r#"drop p=0.1 of="0 or 1" axes=[1,2]"#);
        assert_eq!(
            drop.to_string().parse::<Member<dyn Change>>().unwrap(),
            drop
        );
        let again: Member<dyn Change> = serde_json::from_value(drop.to_file()).unwrap();
        assert_eq!(again, drop);
    }

    #[test]
    fn wrong_items_name_what_is_known() {
        for (text, expected) in [
            ("drip", "did you mean `drop`?"),
            ("drop=2", "`p` is 2; it must be a number from 0 to 1"),
            ("drop q=1", "has no key `q`"),
            ("drop p", "a key and a value"),
            ("nothing=1", "its name alone"),
            ("", "no change is called ``"),
        ] {
            let refused = text
                .parse::<Member<dyn Change>>()
                .expect_err(text)
                .to_string();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
