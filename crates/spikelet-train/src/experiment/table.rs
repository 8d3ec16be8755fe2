//! A table of an experiment file, and its values.

use super::Experiment;
use serde_json::Value;
use spikelet_core::document::{Located, Node};

/// A table of the file.
pub(super) struct Table {
    /// Its name.
    pub(super) name: &'static str,
    /// What it holds, in one line.
    pub(super) summary: &'static str,
    /// Its keys. Those of optimizers, encoders and schedules come after these.
    pub(super) keys: &'static [Key],
    /// The schema of keys that are not in `keys`, by name.
    pub(super) constants: fn() -> Vec<(String, Value)>,
    /// Reads the keys that are given.
    pub(super) read: fn(&mut Experiment, &Node) -> Result<(), Located>,
    /// All keys with their values, in the order of the file; those without a value are left out.
    pub(super) write: fn(&Experiment) -> Vec<(String, Value)>,
}

/// A key of a table.
pub(super) struct Key {
    pub(super) name: &'static str,
    /// A description of one line.
    pub(super) doc: &'static str,
    /// Its JSON schema.
    pub(super) schema: fn() -> Value,
}

impl Table {
    /// The names of its keys.
    pub(super) fn key_names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }

    /// Its name in messages.
    pub(super) fn title(&self) -> String {
        format!("[{}]", self.name)
    }
}

/// The string that stands for a value that is not set, which TOML does not have.
pub(super) const NONE: &str = "none";

/// The string for a choice by the program.
pub(super) const AUTO: &str = "auto";

/// The value of a key; `None` if it is this word.
pub(super) fn unless<T>(
    word: &str,
    node: &Node,
    read: impl FnOnce(&Node) -> Result<T, Located>,
) -> Result<Option<T>, Located> {
    match node.as_text() == Some(word) {
        true => Ok(None),
        false => read(node).map(Some),
    }
}

/// The value of a key in the file; this word without one.
pub(super) fn value_or<T: Into<Value>>(word: &str, value: Option<T>) -> Value {
    value.map_or_else(|| Value::from(word), Into::into)
}

/// The keys of a table with their values.
pub(super) fn keyed<'a>(keys: impl IntoIterator<Item = (&'a str, Value)>) -> Vec<(String, Value)> {
    let keys = keys.into_iter();
    keys.map(|(key, value)| (key.to_string(), value)).collect()
}

/// A number in a range, which is the value of `key`.
pub(super) fn number_in(
    node: &Node,
    key: &str,
    expected: &str,
    fits: impl Fn(f64) -> bool,
) -> Result<f64, Located> {
    match node.number(key) {
        Ok(number) if fits(number) => Ok(number),
        _ => Err(node.wrong(key, expected)),
    }
}

/// A string that is read by a parser, which is the value of `key`.
pub(super) fn parsed<T: std::str::FromStr>(node: &Node, key: &str) -> Result<T, Located>
where
    T::Err: std::fmt::Display,
{
    node.text(key)?
        .parse()
        .map_err(|error: T::Err| refused(&error, node))
}

/// A value that is refused by the library, with its message and help.
pub(super) fn refused(error: &impl std::fmt::Display, node: &Node) -> Located {
    Located::refused(error, "correct the value").or_at(node.span.clone())
}
