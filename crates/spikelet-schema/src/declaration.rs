//! The declaration of a thing with a name and fields.

use crate::document::{Located, Node};
use crate::{Domain, FieldValue};
use std::any::Any;
use std::fmt;

/// A type that is declared by `#[derive(Schema)]`.
pub trait Schema: RecordMut + Default + Sized + 'static {
    /// Its declaration.
    const DECLARATION: &'static Declaration;
}

/// The declaration of a struct.
pub struct Declaration {
    /// Its name in files, such as `lif`.
    pub name: &'static str,
    /// The name of its type, such as `Lif`.
    pub type_name: &'static str,
    /// The doc comment of the type.
    pub doc: &'static str,
    /// Its fields, in the order of the source.
    pub fields: &'static [Field],
    /// A value with the defaults of all fields.
    pub default: fn() -> Box<dyn Record>,
}

/// A field of a [`Declaration`].
#[derive(Clone)]
pub struct Field {
    /// Its key in files.
    pub key: &'static str,
    /// The doc comment of the field.
    pub doc: &'static str,
    /// The unit of its value; may be empty.
    pub unit: &'static str,
    /// The type of its value.
    pub kind: fn() -> Kind,
    /// The values that it may have, if it is a number or a list of numbers.
    pub domain: Option<Domain>,
    /// The word for a value that is not set.
    pub none: &'static str,
    /// The table of a file that has the key; empty where a value is one table.
    pub table: &'static str,
    /// How the field is written.
    pub role: Role,
    /// Whether the value must be given.
    pub required: bool,
    /// Whether a member of a family has the value of the member that it replaces, where a file has none.
    pub kept: bool,
}

/// How a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `key = value`.
    Key,
    /// `key = value`, or the value after the name: `{ name = value }`.
    Main,
    /// The keys of the inner struct, or of the member of a family, are keys of the outer one.
    Flatten,
    /// The keys that no other field has.
    Rest,
}

/// The type of a field's value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// A finite number.
    Number,
    /// An integer.
    Integer,
    /// `true` or `false`.
    Flag,
    /// A string.
    Text,
    /// One of several words.
    Word(&'static [&'static str]),
    /// A list; with a length, if all have the same.
    List(Box<Kind>, Option<usize>),
    /// A value that may be missing, which is written as a word.
    Optional(Box<Kind>),
    /// A table with the keys of a declaration.
    Table(&'static Declaration),
    /// A member of a family: its name, which may be one of the other names, or a table with `name`.
    Member {
        /// The kind of its members, such as `neuron`.
        family: &'static str,
        /// The declarations of all members.
        members: fn() -> Vec<&'static Declaration>,
        /// All names.
        names: fn() -> Vec<&'static str>,
    },
    /// Any other value, with its JSON schema.
    Other(&'static str, fn() -> serde_json::Value),
}

/// The fields of a value by number, for code that does not depend on its type.
pub trait Record {
    /// The declaration of the type.
    fn declaration(&self) -> &'static Declaration;

    /// The value of the field of this number.
    fn field(&self, index: usize) -> &dyn FieldValue;

    /// Refuses fields that do not fit together, those of flattened structs first.
    ///
    /// # Errors
    /// What the functions of `#[schema(check = …)]` say.
    fn check_fields(&self) -> Result<(), Located> {
        let fields = self.declaration().fields.iter().enumerate();
        let flat = fields.filter(|(_, field)| field.role == Role::Flatten);
        let mut inner = flat.filter_map(|(index, _)| self.field(index).record());
        inner.try_for_each(Record::check_fields)?;
        self.check_own()
    }

    /// Refuses fields of the type itself that do not fit together.
    ///
    /// # Errors
    /// What the function of `#[schema(check = …)]` says.
    fn check_own(&self) -> Result<(), Located> {
        Ok(())
    }

    /// The value, to be downcast to its type; `None` for a type that borrows.
    fn as_type(&self) -> Option<&dyn Any> {
        None
    }

    /// The table in today's form, if it has one of before.
    fn earlier(&self, table: &Node) -> Option<Node> {
        let _ = table;
        None
    }
}

/// The fields of a value that is not shared, to be set.
pub trait RecordMut: Record {
    /// As [`Record::field`].
    fn field_mut(&mut self, index: usize) -> &mut dyn FieldValue;
}

impl<T: Record + ?Sized> Record for std::sync::Arc<T> {
    fn declaration(&self) -> &'static Declaration {
        (**self).declaration()
    }

    fn field(&self, index: usize) -> &dyn FieldValue {
        (**self).field(index)
    }

    fn check_own(&self) -> Result<(), Located> {
        (**self).check_own()
    }

    fn as_type(&self) -> Option<&dyn Any> {
        (**self).as_type()
    }
}

/// The flattened struct of this type in a record, or in a struct that is flattened into the record.
pub fn flattened<T: 'static>(record: &(impl Record + ?Sized)) -> Option<&T> {
    let fields = record.declaration().fields.iter().enumerate();
    let mut values = fields
        .filter(|(_, field)| field.role == Role::Flatten)
        .map(|(index, _)| record.field(index));
    values.find_map(|value| {
        let found = (value as &dyn Any).downcast_ref();
        found.or_else(|| flattened(value.record()?))
    })
}

/// As [`flattened`], to be changed.
pub fn flattened_mut<T: 'static>(record: &mut dyn RecordMut) -> Option<&mut T> {
    let holds = |value: &dyn FieldValue| {
        (value as &dyn Any).is::<T>() || value.record().is_some_and(|r| flattened::<T>(r).is_some())
    };
    let fields = record.declaration().fields.iter().enumerate();
    let (index, _) = fields
        .filter(|(_, field)| field.role == Role::Flatten)
        .find(|(index, _)| holds(record.field(*index)))?;
    let value = record.field_mut(index);
    match (&*value as &dyn Any).is::<T>() {
        true => (value as &mut dyn Any).downcast_mut(),
        false => flattened_mut(value.record_mut()?),
    }
}

/// An enum without fields that is declared by `#[derive(Schema)]`: a value is one of several words.
pub trait Choice: Copy + PartialEq + 'static {
    /// All values.
    const ALL: &'static [Self];

    /// Their words.
    const NAMES: &'static [&'static str];

    /// The first paragraphs of their doc comments.
    const SUMMARIES: &'static [&'static str];

    /// Other words, with their values.
    const ALIASES: &'static [(&'static str, Self)];
}

impl Declaration {
    /// The title: the first paragraph of the doc comment, without the dot at its end.
    ///
    /// ```
    /// use spikelet_schema::Schema;
    /// /// Leaky integrate-and-fire neuron.
    /// ///
    /// /// Its potential decays.
    /// #[derive(Schema)]
    /// struct Lif {}
    /// assert_eq!(Lif::DECLARATION.summary(), "Leaky integrate-and-fire neuron");
    /// ```
    pub fn summary(&self) -> &'static str {
        first_paragraph(self.doc).trim_end_matches('.')
    }

    /// The fields with those of flattened structs. A flattened member of a family has other keys for each member.
    pub fn all_fields(&self) -> Vec<&'static Field> {
        let each = self.fields.iter().flat_map(|field| match field.role {
            Role::Flatten => match (field.kind)() {
                Kind::Table(inner) => inner.all_fields(),
                _ => vec![],
            },
            Role::Rest => vec![],
            _ => vec![field],
        });
        each.collect()
    }

    /// The fields with those of flattened structs, each with its table. A flattened member of a family is one field.
    pub fn fields_of_tables(&self) -> Vec<(&'static str, &'static Field)> {
        let each = self.fields.iter().flat_map(|field| match field.role {
            Role::Flatten => match (field.kind)() {
                Kind::Table(inner) => {
                    let inner = inner.fields_of_tables().into_iter();
                    let own = |(table, inner)| match field.table {
                        "" => (table, inner),
                        own => (own, inner),
                    };
                    inner.map(own).collect()
                }
                _ => vec![(field.table, field)],
            },
            _ => vec![(field.table, field)],
        });
        each.collect()
    }

    /// The tables that its fields belong to, in the order of the fields.
    pub fn tables(&self) -> Vec<&'static str> {
        let mut found = vec![];
        for (table, _) in self.fields_of_tables() {
            if !table.is_empty() && !found.contains(&table) {
                found.push(table);
            }
        }
        found
    }

    /// The field that is the value after the name; it may be that of a flattened struct.
    pub fn main(&self) -> Option<&'static Field> {
        let mut all = self.all_fields().into_iter();
        all.find(|field| field.role == Role::Main)
    }

    /// Whether a declared name is meant: names are equal but for case, `-` and `_`.
    pub fn is_called(&self, name: &str) -> bool {
        crate::suggest::find(name, [self.name]).is_some()
    }
}

/// The first paragraph of a text.
pub(crate) fn first_paragraph(text: &'static str) -> &'static str {
    text.split("\n\n").next().unwrap_or_default().trim()
}

impl Field {
    /// Its key in files; that of a flattened member of a family is `name`.
    pub(crate) fn key_in_files(&self) -> &'static str {
        match self.role {
            Role::Flatten => "name",
            _ => self.key,
        }
    }

    /// The field in a table where this is the key of the main field, and where no word stands for a value that is not set.
    pub(crate) fn with_main(&self, main: Option<&'static str>) -> Self {
        let own = self.clone();
        match (main, self.role) {
            (None, _) => own,
            (Some(key), Role::Main) => Self {
                key,
                none: "",
                ..own
            },
            (Some(_), _) => Self { none: "", ..own },
        }
    }

    /// Its meaning: the first paragraph of the doc comment on one line.
    pub fn summary(&self) -> String {
        first_paragraph(self.doc).replace('\n', " ")
    }

    /// Its meaning inside a sentence: without the capital letter of a word at its beginning, and without the dot.
    pub fn phrase(&self) -> String {
        let summary = self.summary();
        let text = summary.trim_end_matches('.');
        let mut rest = text.chars();
        match rest.next() {
            Some(first) if rest.clone().next().is_some_and(char::is_lowercase) => {
                first.to_lowercase().chain(rest).collect()
            }
            Some('A') if rest.as_str().starts_with(' ') => format!("a{}", rest.as_str()),
            _ => text.to_string(),
        }
    }
}

impl fmt::Debug for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = self.fields.iter().map(|field| field.key).collect();
        f.debug_struct("Declaration")
            .field("name", &self.name)
            .field("keys", &keys)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field")
            .field("key", &self.key)
            .field("kind", &(self.kind)())
            .finish_non_exhaustive()
    }
}
