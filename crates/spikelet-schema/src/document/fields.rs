//! The keys of a table.

use super::{Content, DocumentProblem, Entry, Located, Node, Span};
use crate::Field;
use std::ops::RangeInclusive;

/// A table whose keys are all known.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    owner: String,
    entries: &'a [Entry],
    span: Option<Span>,
    known: Vec<String>,
    /// The key of the main field, where it is the name of a member.
    main: Option<&'static str>,
}

impl<'a> Fields<'a> {
    /// The fields of a table. `owner` is its name in messages, `known` the keys that it may have.
    ///
    /// # Errors
    /// When the value is not a table, or has another key.
    pub fn new(node: &'a Node, owner: impl Into<String>, known: &[&str]) -> Result<Self, Located> {
        let owner = owner.into();
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        let Some(entries) = node.entries() else {
            let expected = format!("a table with {}", known.join(", "));
            return Err(node.wrong(&owner, expected));
        };
        if let Some(entry) = entries.iter().find(|entry| !known.contains(&entry.key)) {
            let problem = DocumentProblem::UnknownKey {
                owner,
                key: entry.key.clone(),
                known,
            };
            return Err(Located::new(problem).or_at(entry.span.clone()));
        }
        Ok(Self {
            owner,
            entries,
            span: node.span.clone(),
            known,
            main: None,
        })
    }

    /// The fields of a table without keys.
    pub fn empty(owner: impl Into<String>, known: &[&str], span: Option<Span>) -> Self {
        Self {
            owner: owner.into(),
            entries: &[],
            span,
            known: known.iter().map(ToString::to_string).collect(),
            main: None,
        }
    }

    /// These fields, with this key of the main one: see [`Field::with_main`].
    pub(crate) fn with_main(self, main: Option<&'static str>) -> Self {
        Self { main, ..self }
    }

    /// A field as this table has it.
    pub(crate) fn field(&self, field: &Field) -> Field {
        field.with_main(self.main)
    }

    /// The key with its value and its position, if it is given.
    pub fn entry(&self, key: &str) -> Option<&'a Entry> {
        debug_assert!(self.known.iter().any(|known| known == key), "{key}");
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of a key, if it is given.
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// When it is not given.
    pub fn require(&self, key: &str, expected: &str) -> Result<&'a Node, Located> {
        self.get(key).ok_or_else(|| {
            let problem = DocumentProblem::MissingKey {
                owner: self.owner.clone(),
                key: key.to_string(),
                expected: expected.to_string(),
            };
            Located::new(problem).or_at(self.span.clone())
        })
    }

    /// The table.
    pub(crate) fn table(&self) -> Node {
        Node {
            content: Content::Table(self.entries.to_vec()),
            span: self.span.clone(),
        }
    }

    /// The position of the table.
    pub fn span(&self) -> Option<Span> {
        self.span.clone()
    }

    /// The value of `key` by [`Node::integer`], if it is given.
    ///
    /// # Errors
    /// When it is not an integer in this range.
    pub fn integer(
        &self,
        key: &str,
        range: RangeInclusive<usize>,
    ) -> Result<Option<usize>, Located> {
        let read = |node: &Node| node.integer(key, range);
        self.get(key).map(read).transpose()
    }

    /// The value of `key` by [`Node::number`], if it is given.
    ///
    /// # Errors
    /// When it is not a number.
    pub fn number(&self, key: &str) -> Result<Option<f64>, Located> {
        self.get(key).map(|node| node.number(key)).transpose()
    }

    /// The value of `key` by [`Node::flag`], if it is given.
    ///
    /// # Errors
    /// When it is neither `true` nor `false`.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, Located> {
        self.get(key).map(|node| node.flag(key)).transpose()
    }

    /// The value of `key` by [`Node::text`], if it is given.
    ///
    /// # Errors
    /// When it is not a string.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>, Located> {
        self.get(key).map(|node| node.text(key)).transpose()
    }
}
