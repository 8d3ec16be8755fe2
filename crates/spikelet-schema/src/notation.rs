//! Reading and writing of declared values.

use crate::declaration::Role;
use crate::document::{Fields, Located, Node};
use crate::{Declaration, Domain, Record, Schema};
use serde_json::{Map, Value as Json};

/// A value of a table of a document. Fields that are not given have their defaults.
///
/// # Errors
/// When it is no table, a key is unknown or missing, or a value is wrong.
pub fn read<T: Schema>(node: &Node) -> Result<T, Located> {
    let mut made = T::default();
    read_table(&mut made, node, true)?;
    Ok(made)
}

/// Changes the fields that a table of a document has.
///
/// # Errors
/// As [`read`], but for missing keys. The value may have been changed in part.
pub fn read_into(record: &mut dyn Record, node: &Node) -> Result<(), Located> {
    read_table(record, node, false)
}

/// A value of JSON, as [`to_json`] writes it.
///
/// # Errors
/// As [`read`].
pub fn from_json<T: Schema>(value: &Json) -> Result<T, Located> {
    read(&Node::from_json(value)?)
}

/// The name of a declaration in messages.
fn owner(declaration: &Declaration) -> String {
    format!("`{}`", declaration.name)
}

fn read_table(record: &mut dyn Record, node: &Node, complete: bool) -> Result<(), Located> {
    let declaration = record.declaration();
    let all = declaration.all_fields();
    let known = keys(record, "", node);
    let fields = Fields::new(node, owner(declaration), &known)?;
    if complete
        && let Some(missing) = all
            .iter()
            .find(|f| f.role.is_required() && fields.get(f.key).is_none())
    {
        fields.require(missing.key, &missing.summary())?;
    }
    set(record, "", &fields)?;
    record
        .check_fields()
        .map_err(|error| error.or_at(node.span.clone()))
}

/// The keys that a table may have.
fn keys(record: &dyn Record, table: &str, node: &Node) -> Vec<&'static str> {
    let mut known = vec![];
    for (index, field) in record.declaration().fields.iter().enumerate() {
        let value = record.field(index);
        match (field.role, value.record()) {
            (Role::Flatten, Some(inner)) => known.extend(keys(inner, table, node)),
            _ if field.table != table => {}
            (Role::Flatten, None) => known.extend(value.member_keys(node)),
            _ => known.push(field.key),
        }
    }
    known
}

/// Sets the fields of a table that are given.
pub(crate) fn set(
    record: &mut dyn Record,
    table: &str,
    fields: &Fields<'_>,
) -> Result<(), Located> {
    for (index, field) in record.declaration().fields.iter().enumerate() {
        let of_table = field.table == table;
        let node = of_table.then(|| fields.get(field.key)).flatten();
        let value = record.field_mut(index);
        match (field.role, node) {
            (Role::Flatten, _) => match value.record_mut() {
                Some(inner) => set(inner, table, fields)?,
                None if of_table => {
                    let given = fields.only(&value.member_keys(&fields.table()));
                    if given.entries().is_some_and(|given| !given.is_empty()) {
                        value.read(field, &given)?;
                    }
                }
                None => {}
            },
            (_, Some(node)) => value.read(field, node)?,
            (_, None) => {}
        }
    }
    Ok(())
}

/// Changes the fields that the tables of a document have, of a struct whose fields belong to several tables. `others` are the
/// tables that are read elsewhere.
///
/// ```
/// use spikelet_schema::{Schema, document::Document, read_tables, to_tables};
///
/// /// The settings of a run.
/// #[derive(Clone, Debug, PartialEq, Schema)]
/// struct Settings {
///     /// Passes over the training set.
///     #[schema(table = "training", default = 20, at_least = 1)]
///     epochs: usize,
///     /// The learning rate.
///     #[schema(table = "optimizer", key = "lr", default = 1e-3, at_least = 0)]
///     learning_rate: f64,
/// }
///
/// let given = Document::from_toml("run.toml", "[training]\nepochs = 3\n[network]\nname = \"csnn\"")?;
/// let mut settings = Settings::default();
/// read_tables(&mut settings, given.root(), &["network"]).map_err(|error| given.error(error))?;
/// assert_eq!(settings, Settings { epochs: 3, learning_rate: 1e-3 });
/// assert_eq!(to_tables(&settings)["optimizer"]["lr"], 1e-3);
/// # Ok::<(), spikelet_schema::document::DocumentError>(())
/// ```
///
/// # Errors
/// When a table or a key is unknown, or a value is wrong. The value may have been changed in part.
pub fn read_tables(record: &mut dyn Record, root: &Node, others: &[&str]) -> Result<(), Located> {
    let tables = record.declaration().tables();
    let known: Vec<&str> = tables.iter().chain(others).copied().collect();
    let given = Fields::new(root, owner(record.declaration()), &known)?;
    for table in tables {
        let Some(node) = given.get(table) else {
            continue;
        };
        let known = keys(record, table, node);
        let fields = Fields::new(node, format!("[{table}]"), &known)?;
        set(record, table, &fields)?;
    }
    record.check_fields()
}

/// The tables of a struct whose fields belong to several, as JSON; a field that is not set is written as its word.
pub fn to_tables(record: &dyn Record) -> Map<String, Json> {
    let mut tables = Map::new();
    each(record, &mut |field, value| {
        let table = tables
            .entry(field.table)
            .or_insert_with(|| Json::Object(Map::new()));
        let Json::Object(table) = table else { return };
        match value.write() {
            Json::Object(member) if field.role == Role::Flatten => table.extend(member),
            Json::Null => {
                table.insert(field.key.to_string(), Json::from(field.none));
            }
            value => {
                table.insert(field.key.to_string(), value);
            }
        }
    });
    tables
}

/// Visits the fields of a value and of flattened structs.
fn each<'a>(
    record: &'a dyn Record,
    visit: &mut dyn FnMut(&'static crate::Field, &'a dyn crate::FieldValue),
) {
    for (index, field) in record.declaration().fields.iter().enumerate() {
        let value = record.field(index);
        match value.record() {
            Some(inner) if field.role == Role::Flatten => each(inner, visit),
            _ => visit(field, value),
        }
    }
}

/// The fields as a JSON object; those that are not set are `null`.
pub fn to_json(record: &dyn Record) -> Map<String, Json> {
    let mut object = Map::new();
    each(record, &mut |field, value| {
        object.insert(field.key.to_string(), value.write());
    });
    object
}

/// The numbers of the fields that have a domain.
pub fn domains(record: &dyn Record) -> Vec<(&'static str, f64, Domain)> {
    let mut found = vec![];
    each(record, &mut |field, value| {
        if let (Some(domain), Some(number)) = (field.domain, value.number()) {
            found.push((field.key, number, domain));
        }
    });
    found
}

/// Checks a value that was made by a program as [`read`] checks a file.
///
/// # Errors
/// The first field that is outside its domain, or what does not fit together.
pub fn check(record: &dyn Record) -> Result<(), Located> {
    let outside = domains(record)
        .into_iter()
        .find(|(_, number, domain)| !domain.contains(*number));
    match outside {
        Some((key, number, domain)) => {
            Err(Located::new(crate::document::DocumentProblem::WrongValue {
                key: key.to_string(),
                given: number.to_string(),
                expected: domain.to_string(),
            }))
        }
        None => record.check_fields(),
    }
}

/// The value of a word; `family` is the name of its type.
#[doc(hidden)]
pub fn word<T: crate::Choice>(word: &str, family: &'static str) -> Result<T, crate::UnknownName> {
    T::find(word).ok_or_else(|| crate::UnknownName {
        family,
        given: word.to_string(),
        known: T::NAMES.to_vec(),
    })
}

/// What a function of `#[schema(check = …)]` says.
#[doc(hidden)]
pub fn refused(error: impl std::fmt::Display) -> Located {
    Located::refused(&error, "correct the value")
}

/// A declared value as serde reads and writes it, for the code of the derive macro.
pub mod serialized {
    use super::{Json, Map, Record, Schema, from_json, to_json};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    /// The fields as a map.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(record: &dyn Record, to: S) -> Result<S::Ok, S::Error> {
        to_json(record).serialize(to)
    }

    /// A value of a map.
    ///
    /// # Errors
    /// Those of the deserializer; when a key is unknown or missing, or a value is wrong.
    pub fn deserialize<'de, T: Schema, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        let map = Map::<String, Json>::deserialize(from)?;
        from_json(&Json::Object(map)).map_err(|error| D::Error::custom(error.problem))
    }

    /// A value of a word.
    ///
    /// # Errors
    /// Those of the deserializer; when the word is unknown.
    pub fn choice<'de, T: crate::Choice, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        let word = String::deserialize(from)?;
        T::find(&word)
            .ok_or_else(|| D::Error::custom(format!("{word:?} is none of {}", T::NAMES.join(", "))))
    }
}
