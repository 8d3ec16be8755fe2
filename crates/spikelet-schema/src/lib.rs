//! One declaration of a thing that has a name and fields, and its notations.
//!
//! A neuron, a layer, an optimizer or the settings of a run is a plain struct with `#[derive(Schema)]`. Its doc comments,
//! defaults and domains are the declaration; everything else is read from it:
//!
//! | notation | function |
//! |---|---|
//! | TOML and JSON, with line, column and "did you mean …?" | [`read`], [`read_into`], [`to_json`] |
//! | words for a shell, `optimizer.lr=1e-3` | [`words::tree`] |
//! | JSON schema | [`json_schema`] |
//! | tables of reference pages | [`markdown::table`] |
//! | members of a family by name | [`Registry`], [`Member`]; of a list, [`named`] |
//!
//! ```
//! use spikelet_schema::{Schema, document::Document, read};
//!
//! /// Random crops of a padded image.
//! #[derive(Clone, Debug, PartialEq, Schema)]
//! pub struct RandomCrop {
//!     /// Padding on each side.
//!     #[schema(main, default = 4, at_least = 0, unit = "pixels")]
//!     padding: usize,
//!     /// The probability of a crop.
//!     #[schema(default = 1.0, from = 0.0, to = 1.0)]
//!     p: f64,
//! }
//!
//! let given = Document::from_toml("a.toml", "p = 0.5")?;
//! let crop: RandomCrop = read(given.root()).map_err(|error| given.error(error))?;
//! assert_eq!(crop, RandomCrop { padding: 4, p: 0.5 });
//!
//! let wrong = Document::from_toml("a.toml", "p = 1.5")?;
//! let refused = read::<RandomCrop>(wrong.root()).map_err(|error| wrong.error(error)).unwrap_err();
//! assert!(refused.to_string().starts_with("a.toml:1:5: `p` is 1.5; it must be a number from 0 to 1"));
//! # Ok::<(), spikelet_schema::document::DocumentError>(())
//! ```

// The derive macro names this crate by its path.
extern crate self as spikelet_schema;

mod declaration;
pub mod document;
mod domain;
mod field_value;
pub mod human;
mod item;
mod json_schema;
pub mod markdown;
mod notation;
mod registry;
pub mod suggest;
mod unknown_name;
pub mod words;

pub use declaration::{
    Choice, Declaration, Field, Kind, Record, RecordMut, Role, Schema, flattened, flattened_mut,
};
pub use domain::Domain;
pub use field_value::{FieldValue, parsed, read_by_serde};
pub use item::Member;
pub use json_schema::json_schema;
pub use notation::serialized::member;
pub use notation::{
    KeyValue, check, domains, from_json, outside, read, read_into, read_into_named, read_tables,
    to_json, to_keys,
};
pub use registry::{Alias, Around, Entry, Family, Registry, member_to_json, named_to_json};
/// Declares a struct with fields, or an enum of words.
///
/// Of a struct: `Default`, [`Schema`], [`Record`], [`RecordMut`], [`FieldValue`], `serde::Serialize` and `serde::Deserialize`. Attributes
/// of the struct:
///
/// | `#[schema(…)]` | |
/// |---|---|
/// | `name = "lif"` | its name; by default that of the type in lower case with `-` |
/// | `earlier = path` | a function `fn(&Node) -> Option<Node>` from a table's form of before to its form of today |
/// | `own_value` | the type implements [`FieldValue`] itself, as it is no table in files |
/// | `crate = path` | the path of this crate, where it is not `spikelet::schema`; crates named `spikelet-…` use `spikelet_schema` |
/// | `check = path` | a function `fn(&Self) -> Result<(), E>` that refuses fields that do not fit together; those of flattened structs are called too |
///
/// of its fields:
///
/// | `#[schema(…)]` | |
/// |---|---|
/// | `default = expression` | the default; otherwise that of the type |
/// | `required` | the field has no default in files |
/// | `kept` | a member of a family that replaces another one in files keeps the value of the other one: see [`Registry::read_over`] |
/// | `main` | the value of `{ name = value }` |
/// | `above`, `at_least`, `from`, `below`, `at_most`, `to` = number | the domain |
/// | `unit = "steps"` | the unit |
/// | `none = "auto"` | the word for `None` in files; otherwise `none` |
/// | `key = "…"` | the key, where it is not the name of the field |
/// | `flatten` | the keys of this struct, or of this member of a family, are keys of the outer one; with `required`, the member must be named |
/// | `rest` | the keys that no other field has |
/// | `table = "training"` | the table that has the key, of a struct that is read from several: see [`read_tables`] |
/// | `skip` | the field is in no notation |
///
/// Of an enum without fields: `ALL`, `NAMES`, `name`, `summary`, `find`, [`Choice`], [`FieldValue`], `Display`, `FromStr` and serde's
/// traits. A variant is written in lower case with `-`, or as `#[schema(name = "…")]` says, or with `_` if the enum has `#[schema(snake_case)]`; `_` is read as `-`. A variant with
/// `#[schema(alias = "…")]` is read from this word too.
pub use spikelet_schema_derive::Schema;
pub use unknown_name::{UnknownName, named};

/// The problem of a message and its help, the line that begins with `help:`, if it has one.
///
/// ```
/// use spikelet_schema::problem_and_help;
/// assert_eq!(problem_and_help("0 was given\n  help: use 1"), ("0 was given", Some("use 1")));
/// ```
pub fn problem_and_help(message: &str) -> (&str, Option<&str>) {
    match message.split_once("\n  help: ") {
        Some((problem, help)) => (problem, Some(help)),
        None => (message, None),
    }
}

/// What the code of the derive macro uses.
#[doc(hidden)]
pub mod derived {
    pub use crate::notation::{choice, refused, serialized, word};
    pub use crate::registry::made;
    pub use serde;
    pub use serde_json;
}
