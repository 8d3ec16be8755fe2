//! Families of named, serializable types. A new neuron or surrogate needs one file and one line.

use crate::DefinitionError;
use crate::domain::{Constant, Domain};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// Builds a member of a family from its constants.
pub type Build<T> = fn(&Map<String, Value>) -> Result<Arc<T>, DefinitionError>;

/// A member of a family: its name, its constants with defaults, and its constructor.
pub struct Entry<T: ?Sized> {
    /// The name, as in files and on the command line.
    pub name: &'static str,
    /// A summary of one line.
    pub summary: &'static str,
    /// The constants and their defaults.
    pub defaults: fn() -> Map<String, Value>,
    /// Builds the member; constants that are not given have their defaults.
    pub build: Build<T>,
    /// The name of its type.
    pub type_name: &'static str,
    /// Its source file.
    pub file: &'static str,
}

impl<T: ?Sized> Entry<T> {
    /// The module documentation of its file, in Markdown: title, equation, source.
    pub fn head(&self) -> String {
        let lines = self.file.lines().map_while(|line| line.strip_prefix("//!"));
        plain(lines)
    }

    /// The documentation of the type, in Markdown, without examples: a sentence and the table of its fields.
    pub fn description(&self) -> String {
        description(self.file, self.type_name)
    }

    /// The documentation of its constants. Those of types within it, such as threshold and reset, are there if its table has them.
    pub fn fields(&self) -> Vec<Field> {
        fields_of(self.file, self.type_name)
    }
}

/// A documented constant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type in Rust; empty for a constant of a type within.
    pub ty: String,
    /// Its meaning and its unit.
    pub doc: String,
}

/// The lines before that of a type's declaration, the last first.
fn before<'a>(file: &'a str, type_name: &str) -> impl Iterator<Item = &'a str> {
    let declared = format!("pub struct {type_name}");
    let is_it = |line: &&str| {
        let rest = line.strip_prefix(&declared);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let at = file.lines().position(|line| is_it(&line)).unwrap_or(0);
    let lines: Vec<&str> = file.lines().take(at).collect();
    lines.into_iter().rev()
}

/// The documentation of a type in a source file.
fn description(file: &str, type_name: &str) -> String {
    let above = before(file, type_name).take_while(|line| !line.is_empty());
    let mut lines: Vec<&str> = above.filter_map(|line| line.strip_prefix("///")).collect();
    lines.reverse();
    plain(lines.into_iter())
}

/// The documented constants of a type in a source file: the rows of the table of its documentation, with names, perhaps units
/// and defaults, and meanings; then fields that it has beside them.
pub(crate) fn fields_of(file: &str, type_name: &str) -> Vec<Field> {
    let mut found: Vec<Field> = vec![];
    for row in description(file, type_name).lines() {
        let Some(row) = row.strip_prefix('|').and_then(|row| row.strip_suffix('|')) else {
            continue;
        };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let meaning = cells.last().copied().unwrap_or_default();
        let doc = match cells[..] {
            [_, unit, _, _] if !unit.is_empty() => format!("{meaning}, in {unit}"),
            _ => meaning.to_string(),
        };
        // Names are the parts of the first cell in backticks.
        for name in cells[0].split('`').skip(1).step_by(2) {
            let (name, ty) = (name.to_string(), String::new());
            let doc = doc.clone();
            found.push(Field { name, ty, doc });
        }
    }
    let above = before(file, type_name).count();
    let mut comment: Vec<&str> = vec![];
    for line in file.lines().skip(above).take_while(|line| *line != "}") {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///") {
            comment.push(text);
        } else if let Some((name, ty)) = line.strip_prefix("pub ").and_then(|l| l.split_once(": "))
        {
            let doc = plain(std::mem::take(&mut comment).into_iter()).replace('\n', " ");
            let ty = ty.trim_end_matches(',').to_string();
            match found.iter_mut().find(|field| field.name == name) {
                Some(field) => {
                    field.ty = ty;
                    if field.doc.is_empty() {
                        field.doc = doc;
                    }
                }
                None => found.push(Field {
                    name: name.to_string(),
                    ty,
                    doc,
                }),
            }
        }
    }
    found
}

/// The lines of a comment as text without code and without links to items.
fn plain<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut code = false;
    let mut text = String::new();
    for line in lines {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if line.starts_with("```") {
            code = !code;
        } else if !code {
            text.push_str(line);
            text.push('\n');
        }
    }
    let mut linked = text.split("[`");
    let mut plain = linked.next().unwrap_or_default().to_string();
    for part in linked {
        let (name, rest) = part.split_once("`]").unwrap_or((part, ""));
        let target = rest.strip_prefix('(').and_then(|r| r.split_once(')'));
        plain.push_str(&format!(
            "`{name}`{}",
            target.map_or(rest, |(_, rest)| rest)
        ));
    }
    plain.trim_end().replace("\\[", "[").replace("\\]", "]")
}

/// The fields of a value as JSON.
pub(crate) fn fields<S: serde::Serialize>(value: &S) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// Deserializes a member. The error for an unknown constant or a wrong type lists the allowed ones.
pub(crate) fn from_fields<S>(
    name: &str,
    given: &Map<String, Value>,
    domains: &[Constant],
) -> Result<S, DefinitionError>
where
    S: serde::Serialize + serde::de::DeserializeOwned + Default,
{
    let known = fields(&S::default());
    let read = |all: Map<String, Value>| serde_json::from_value::<S>(Value::Object(all));
    let all = with_defaults(name, given, &known)?;
    read(all).map_err(|source| {
        let is_wrong = &|all| read(all).is_err();
        unreadable(name, (given, &known), domains, source, is_wrong)
    })
}

/// A member with some of its constants changed.
pub(crate) fn with_constants<S>(
    own: &S,
    name: &str,
    given: &Map<String, Value>,
) -> Result<S, DefinitionError>
where
    S: serde::Serialize + serde::de::DeserializeOwned,
{
    let known = fields(own);
    let read = |all: Map<String, Value>| serde_json::from_value::<S>(Value::Object(all));
    read(with_defaults(name, given, &known)?).map_err(|source| {
        let is_wrong = &|all| read(all).is_err();
        unreadable(name, (given, &known), &[], source, is_wrong)
    })
}

/// The given constants and the defaults of the others.
fn with_defaults(
    name: &str,
    given: &Map<String, Value>,
    known: &Map<String, Value>,
) -> Result<Map<String, Value>, DefinitionError> {
    if let Some(unknown) = given.keys().find(|k| !known.contains_key(*k)) {
        return Err(DefinitionError::UnknownConstant {
            owner: name.to_string(),
            constant: unknown.clone(),
            known: known.keys().cloned().collect(),
        });
    }
    let mut all = known.clone();
    all.extend(given.clone());
    Ok(all)
}

/// The error for constants that cannot be deserialized, with the first that is invalid by itself.
fn unreadable(
    name: &str,
    (given, known): (&Map<String, Value>, &Map<String, Value>),
    domains: &[Constant],
    source: serde_json::Error,
    is_wrong: &dyn Fn(Map<String, Value>) -> bool,
) -> DefinitionError {
    let owner = name.to_string();
    let wrong_alone = |(key, value): &(&String, &Value)| {
        let mut all = known.clone();
        all.insert((*key).clone(), (*value).clone());
        is_wrong(all)
    };
    let Some((key, value)) = given.iter().find(wrong_alone) else {
        return DefinitionError::Unreadable {
            owner,
            constant: None,
            source,
        };
    };
    let expected = match (&known[key], domains.iter().find(|d| d.name == key)) {
        (_, Some(constant)) => constant.domain.to_string(),
        (Value::Bool(_), _) => "true or false".to_string(),
        (Value::Number(_), _) => Domain::FINITE.to_string(),
        _ if key == "v_reset" => format!("{}, or null for the soft reset", Domain::FINITE),
        _ => {
            return DefinitionError::Unreadable {
                owner,
                constant: Some(key.clone()),
                source,
            };
        }
    };
    DefinitionError::WrongType {
        owner,
        constant: key.clone(),
        value: value.clone(),
        expected,
    }
}

/// The entry of this name among those of a family.
pub(crate) fn find<T: ?Sized>(
    family: &'static str,
    entries: Vec<Entry<T>>,
    name: &str,
) -> Result<Entry<T>, DefinitionError> {
    let known = entries.iter().map(|entry| entry.name).collect();
    let found = entries.into_iter().find(|entry| entry.name == name);
    found.ok_or_else(|| DefinitionError::UnknownName {
        family,
        name: name.to_string(),
        known,
    })
}

/// Builds a member from its name, or from an object with `name` and constants.
pub(crate) fn from_spec<T: ?Sized>(
    family: &'static str,
    find: fn(&str) -> Result<Entry<T>, DefinitionError>,
    spec: &Value,
) -> Result<Arc<T>, DefinitionError> {
    let mut constants = spec.as_object().cloned().unwrap_or_default();
    let named = match spec {
        Value::String(_) => Some(spec.clone()),
        _ => constants.remove("name"),
    };
    let Some(Value::String(name)) = named else {
        return Err(DefinitionError::NotASpecification {
            family,
            key: "name",
            given: spec.clone(),
        });
    };
    (find(&name)?.build)(&constants)
}

/// A member's name and constants, as files hold them.
pub(crate) fn spec_of<S: serde::Serialize>(name: &str, value: &S) -> Value {
    let mut map = Map::from_iter([("name".to_string(), Value::from(name))]);
    map.extend(fields(value));
    Value::Object(map)
}

/// Defines the specification of an `impl Surrogate`, `{"name": …, constants}`.
macro_rules! spec {
    ($name:literal) => {
        fn spec(&self) -> serde_json::Value {
            $crate::registry::spec_of($name, self)
        }
    };
}

/// Declares the members of a family: modules, re-exports and the list of entries.
///
/// The family has a name for error messages. Each line is `module::Type = "name", "summary";`. `check`
/// returns an error for a member whose constants are outside their domains.
macro_rules! family {
    ($family:literal, $trait:ident, $check:path; $($module:ident::$type:ident = $name:literal, $summary:literal;)*) => {
        $(mod $module; pub use $module::$type;)*

        /// The members, for glob imports.
        pub mod members {
            $(pub use super::$module::$type;)*
        }

        /// The entry of this name.
        ///
        /// # Errors
        /// [`DefinitionError::UnknownName`], with all names.
        pub fn find(name: &str) -> Result<Entry<dyn $trait>, DefinitionError> {
            $crate::registry::find($family, entries(), name)
        }

        /// All members, in the order of their declaration.
        pub fn entries() -> Vec<$crate::registry::Entry<dyn $trait>> {
            vec![$($crate::registry::Entry {
                name: $name,
                summary: $summary,
                defaults: || $crate::registry::fields(&$type::default()),
                build: |given| {
                    let domains = $trait::domains(&$type::default());
                    let made: $type = $crate::registry::from_fields($name, given, &domains)?;
                    $check(&made)?;
                    Ok(std::sync::Arc::new(made))
                },
                type_name: stringify!($type),
                file: include_str!(concat!(stringify!($module), ".rs")),
            }),*]
        }
    };
}

pub(crate) use {family, spec};

impl<T: ?Sized> fmt::Debug for Entry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("name", &self.name)
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_text_that_stands_by_itself() {
        let entry: Entry<dyn std::fmt::Debug> = Entry {
            name: "one",
            summary: "first of its kind",
            defaults: Map::new,
            build: |_| Ok(Arc::new(())),
            type_name: "One",
            file: "//! One.\n//!\n//! H = X, see [`Two`](crate::Two).\n\nuse std;\n\n/// As [`Three`].\n///\n/// ```\n/// code\n/// ```\n///\n/// | field | unit | default | |\n/// |---|---|---|---|\n/// | `tau` | steps | 2 | time |\npub struct One {\n    /// Time.\n    pub tau: f64,\n    /// In\n    /// or out.\n    pub way: bool,\n}\n/// Others.\npub struct OneMore;\n",
        };
        assert_eq!(entry.head(), "One.\n\nH = X, see `Two`.");
        assert!(entry.description().starts_with("As `Three`.\n\n\n| field"));
        let fields = entry.fields();
        let fields = fields.iter().map(|f| [&f.name[..], &f.ty, &f.doc]);
        assert_eq!(
            fields.collect::<Vec<_>>(),
            [
                ["tau", "f64", "time, in steps"],
                ["way", "bool", "In or out."]
            ]
        );
    }
}
