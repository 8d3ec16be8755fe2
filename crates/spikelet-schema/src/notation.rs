//! Reading and writing of declared values.

use crate::declaration::Role;
use crate::document::{Fields, Located, Node};
use crate::{Choice, UnknownName, suggest};
use crate::{Declaration, Domain, Field, FieldValue, Kind, Record, RecordMut, Schema};
use serde_json::{Map, Value as Json};

/// A value of a table of a document. Fields that are not given have their defaults.
///
/// # Errors
/// When it is no table, a key is unknown or missing, or a value is wrong.
pub fn read<T: Schema>(node: &Node) -> Result<T, Located> {
    let mut made = T::default();
    match T::DECLARATION.tables().is_empty() {
        true => read_table(&mut made, owner(T::DECLARATION), node, true)?,
        false => read_tables(&mut made, node, &[])?,
    }
    Ok(made)
}

/// Changes the fields that a table of a document has.
///
/// # Errors
/// As [`read`], but for missing keys. The value may have been changed in part.
pub fn read_into(record: &mut dyn RecordMut, node: &Node) -> Result<(), Located> {
    let name = owner(record.declaration());
    read_into_named(record, name, node)
}

/// As [`read_into`], of a value with a name of its own, which messages have in place of its declaration's.
///
/// ```
/// use spikelet_schema::{Schema, document::Document, read_into_named};
///
/// /// The options of a family of networks.
/// #[derive(Schema)]
/// struct Options {
///     /// Channels of the first stage.
///     width: usize,
/// }
///
/// let given = Document::from_toml("a.toml", "with = 3")?;
/// let read = read_into_named(&mut Options::default(), "the network `resnet18`", given.root());
/// let error = read.map_err(|error| given.error(error)).unwrap_err().to_string();
/// assert!(error.contains("the network `resnet18` has no key `with`"), "{error}");
/// # Ok::<(), spikelet_schema::document::DocumentError>(())
/// ```
///
/// # Errors
/// As [`read_into`].
pub fn read_into_named(
    record: &mut dyn RecordMut,
    name: impl Into<String>,
    node: &Node,
) -> Result<(), Located> {
    read_table(record, name.into(), node, false)
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

fn read_table(
    record: &mut dyn RecordMut,
    owner: String,
    node: &Node,
    complete: bool,
) -> Result<(), Located> {
    let earlier = record.earlier(node);
    let node = earlier.as_ref().unwrap_or(node);
    let fields = fields_of(record, "", node, owner)?;
    let missing = record
        .declaration()
        .fields
        .iter()
        .find(|field| complete && field.required && node.get(field.key_in_files()).is_none());
    if let Some(missing) = missing {
        fields.require(missing.key_in_files(), &missing.phrase())?;
    }
    set(record, "", &fields)?;
    record
        .check_fields()
        .map_err(|error| error.or_at(node.span.clone()))
}

/// The fields of a table, whose keys are known.
fn fields_of<'a>(
    record: &dyn Record,
    table: &str,
    node: &'a Node,
    owner: String,
) -> Result<Fields<'a>, Located> {
    let mut known = keys(record, table, node);
    let takes_all = record
        .declaration()
        .fields
        .iter()
        .any(|field| field.role == Role::Rest && field.table == table);
    let given = node
        .entries()
        .unwrap_or_default()
        .iter()
        .map(|entry| entry.key.as_str());
    let others: Vec<&str> = given
        .filter(|key| takes_all && !known.contains(key))
        .collect();
    known.extend(others);
    Fields::new(node, owner, &known)
}

/// The keys that a table may have.
fn keys<'a>(record: &dyn Record, table: &str, node: &'a Node) -> Vec<&'a str> {
    let mut known = vec![];
    for (index, field) in record.declaration().fields.iter().enumerate() {
        let value = record.field(index);
        match (field.role, value.record()) {
            (Role::Flatten, Some(inner)) if field.table.is_empty() => {
                known.extend(keys(inner, table, node))
            }
            (Role::Flatten, Some(inner)) if field.table == table => {
                known.extend(keys(inner, "", node))
            }
            _ if field.table != table => {}
            (Role::Flatten, _) => known.extend(value.member_keys(node)),
            (Role::Rest, _) => {}
            _ => known.push(field.key),
        }
    }
    known
}

/// Sets the fields of a table that are given.
pub(crate) fn set(
    record: &mut dyn RecordMut,
    table: &str,
    fields: &Fields<'_>,
) -> Result<(), Located> {
    let given = fields.table();
    let known: Vec<String> = keys(&*record, table, &given)
        .into_iter()
        .map(String::from)
        .collect();
    for (index, field) in record.declaration().fields.iter().enumerate() {
        let of_table = field.table == table;
        let value = record.field_mut(index);
        match field.role {
            Role::Flatten => match value.record_mut() {
                Some(inner) if field.table.is_empty() => set(inner, table, fields)?,
                Some(inner) if of_table => set(inner, "", fields)?,
                None if of_table => {
                    let of_member = value.member_keys(&given);
                    let member = given.only(|key| of_member.contains(&key));
                    if member.entries().is_some_and(|entries| !entries.is_empty()) {
                        value.read(field, &member)?;
                    }
                }
                _ => {}
            },
            Role::Rest if of_table => {
                value.read(
                    field,
                    &given.only(|key| known.iter().all(|known| known != key)),
                )?;
            }
            _ if of_table => {
                let field = fields.field(field);
                if let Some(node) = fields.get(field.key) {
                    value.read(&field, node)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Changes the fields that the tables of a document have, of a struct whose fields belong to several tables. `others` are the
/// tables that are read elsewhere.
///
/// ```
/// use spikelet_schema::{Schema, document::Document, read_tables, to_json};
///
/// /// The settings of a run.
/// #[derive(Clone, Debug, PartialEq, Schema)]
/// struct Settings {
///     /// Passes over the training set.
///     #[schema(table = "training", default = 20, at_least = 1)]
///     epochs: usize,
///     /// The learning rate.
///     #[schema(table = "optimizer", default = 1e-3, at_least = 0)]
///     lr: f64,
/// }
///
/// let given = Document::from_toml("run.toml", "[training]\nepochs = 3\n[network]\nname = \"csnn\"")?;
/// let mut settings = Settings::default();
/// read_tables(&mut settings, given.root(), &["network"]).map_err(|error| given.error(error))?;
/// assert_eq!(settings, Settings { epochs: 3, lr: 1e-3 });
/// assert_eq!(to_json(&settings)["optimizer"]["lr"], 1e-3);
/// # Ok::<(), spikelet_schema::document::DocumentError>(())
/// ```
///
/// # Errors
/// When a table or a key is unknown, or a value is wrong. The value may have been changed in part.
pub fn read_tables(
    record: &mut dyn RecordMut,
    root: &Node,
    others: &[&str],
) -> Result<(), Located> {
    let earlier = record.earlier(root);
    let root = earlier.as_ref().unwrap_or(root);
    let tables = record.declaration().tables();
    let known: Vec<&str> = tables.iter().chain(others).copied().collect();
    let given = Fields::new(root, owner(record.declaration()), &known)?;
    for table in tables {
        let Some(node) = given.get(table) else {
            continue;
        };
        let owner = match member_of(record, table) {
            None => format!("[{table}]"),
            Some(present) => {
                let name = node.get("name").and_then(Node::as_text);
                format!("the {table} `{}`", name.unwrap_or(present))
            }
        };
        let fields = fields_of(record, table, node, owner)?;
        set(record, table, &fields)?;
    }
    check_at(record, root)
}

/// The name of the member of a family whose keys are those of a table.
fn member_of(record: &dyn Record, table: &str) -> Option<&'static str> {
    let mut fields = record.declaration().fields.iter().enumerate();
    fields.find_map(|(index, field)| {
        let value = record.field(index);
        match (field.role, value.record()) {
            (Role::Flatten, Some(inner)) if field.table.is_empty() => member_of(inner, table),
            (Role::Flatten, Some(inner)) if field.table == table => member_of(inner, ""),
            (Role::Flatten, None) if field.table == table => {
                value.member().map(|member| member.declaration().name)
            }
            _ => None,
        }
    })
}

/// [`Record::check_fields`], whose errors are at the first key that they name, in the tables of the struct that refuses.
fn check_at(record: &dyn Record, root: &Node) -> Result<(), Located> {
    for (index, field) in record.declaration().fields.iter().enumerate() {
        let inner = record.field(index).record();
        let Some(inner) = inner.filter(|_| field.role == Role::Flatten) else {
            continue;
        };
        let tables = match field.table {
            "" => inner.declaration().tables(),
            table => vec![table],
        };
        check_at(inner, &root.only(|table| tables.contains(&table)))?;
    }
    record.check_own().map_err(|error| error.or_at_key(root))
}

/// A key of a table with its value.
#[derive(Clone, Debug)]
pub struct KeyValue {
    /// The table; empty where a value is one table.
    pub table: &'static str,
    /// The key.
    pub key: String,
    /// The value; `null` where it is not set.
    pub value: Json,
    /// The field; of the name of a flattened member of a family, that of the member.
    pub field: &'static Field,
}

impl KeyValue {
    /// Its path, such as `optimizer.lr`; the key alone where a value is one table.
    pub fn path(&self) -> String {
        match self.table {
            "" => self.key.clone(),
            table => format!("{table}.{}", self.key),
        }
    }
}

/// A field that is visited, or the name of a flattened member of a family.
enum Visited<'a> {
    Field(&'static Field, &'a dyn FieldValue),
    Name(&'static Field, &'static str),
}

/// Visits the fields of a value, of flattened structs and of flattened members of families, each with its table.
fn each<'a, R: Record + ?Sized>(
    record: &'a R,
    table: &'static str,
    visit: &mut dyn FnMut(&'static str, Visited<'a>),
) {
    for (index, field) in record.declaration().fields.iter().enumerate() {
        let value = record.field(index);
        let table = match field.table {
            "" => table,
            own => own,
        };
        match (field.role, value.record(), value.member()) {
            (Role::Flatten, Some(inner), _) => each(inner, table, visit),
            (Role::Flatten, None, Some(member)) => {
                visit(table, Visited::Name(field, member.declaration().name));
                each(member, table, visit);
            }
            _ => visit(table, Visited::Field(field, value)),
        }
    }
}

/// All keys with their values, in the order of the declaration.
pub fn to_keys(record: &dyn Record) -> Vec<KeyValue> {
    let mut found = vec![];
    each(record, "", &mut |table, visited| match visited {
        Visited::Field(field, value) if field.role == Role::Rest => {
            let Json::Object(rest) = value.write() else {
                return;
            };
            found.extend(rest.into_iter().map(|(key, value)| KeyValue {
                table,
                key,
                value,
                field,
            }));
        }
        Visited::Field(field, value) => found.push(KeyValue {
            table,
            key: field.key.to_string(),
            value: value.write(),
            field,
        }),
        Visited::Name(field, name) => found.push(KeyValue {
            table,
            key: "name".to_string(),
            value: Json::from(name),
            field,
        }),
    });
    found
}

/// The fields as a JSON object; those that are not set are `null`. Where they belong to several tables, an object of tables.
pub fn to_json(record: &dyn Record) -> Map<String, Json> {
    let mut object = Map::new();
    for KeyValue {
        table, key, value, ..
    } in to_keys(record)
    {
        let inner = match table {
            "" => &mut object,
            table => {
                let inner = object
                    .entry(table)
                    .or_insert_with(|| Json::Object(Map::new()));
                let Json::Object(inner) = inner else { continue };
                inner
            }
        };
        inner.insert(key, value);
    }
    object
}

/// The numbers of the fields with their domains: those of the declaration, and all finite numbers for others.
pub fn domains<R: Record + ?Sized>(record: &R) -> Vec<(&'static str, f64, Domain)> {
    let mut found = vec![];
    each(record, "", &mut |_, visited| {
        if let Visited::Field(field, value) = visited
            && let Some(domain) = domain_of(field)
        {
            let numbers = value.numbers().into_iter();
            found.extend(numbers.map(|number| (field.key, number, domain)));
        }
    });
    found
}

/// The domain of the number of a field. An integer without one is not checked.
fn domain_of(field: &Field) -> Option<Domain> {
    let kind = match (field.kind)() {
        Kind::Optional(kind) => *kind,
        kind => kind,
    };
    match kind {
        Kind::Integer => field.domain.map(Domain::integers),
        Kind::Number => Some(field.domain.unwrap_or(Domain::FINITE)),
        _ => field.domain,
    }
}

/// The first number that is outside the domain of its field.
pub fn outside<R: Record + ?Sized>(record: &R) -> Option<(&'static str, f64, Domain)> {
    let mut numbers = domains(record).into_iter();
    numbers.find(|(_, number, domain)| !domain.contains(*number))
}

/// Checks a value that was made by a program as [`read`] checks a file.
///
/// # Errors
/// The first field that is outside its domain, or what does not fit together.
pub fn check(record: &dyn Record) -> Result<(), Located> {
    match outside(record) {
        Some((key, number, domain)) => {
            Err(Located::new(crate::document::DocumentProblem::WrongValue {
                key: key.to_string(),
                given: number.to_string(),
                expected: domain.to_string(),
            }))
        }
        None => {
            record.check_fields()?;
            let mut indices = 0..record.declaration().fields.len();
            indices.try_for_each(|index| record.field(index).check())
        }
    }
}

/// The value of a word; `family` is the name of its type.
#[doc(hidden)]
pub fn word<T: Choice>(word: &str, family: &'static str) -> Result<T, UnknownName> {
    let own = T::NAMES.iter().copied().zip(T::ALL.iter().copied());
    let mut all = own.chain(T::ALIASES.iter().copied());
    let found = suggest::find(word, all.clone().map(|(name, _)| name));
    let meant = all.find(|(name, _)| Some(*name) == found);
    meant.map(|(_, value)| value).ok_or_else(|| UnknownName {
        family,
        given: word.to_string(),
        known: T::NAMES.to_vec(),
    })
}

/// The value of a field that is one of several words.
#[doc(hidden)]
pub fn choice<T: Choice>(field: &Field, node: &Node) -> Result<T, Located> {
    let found = node.as_text().and_then(|given| word(given, "").ok());
    match found {
        Some(value) => Ok(value),
        // An error, since no word is meant.
        None => node
            .choice(field.key, T::NAMES)
            .and_then(|name| word(name, "").map_err(UnknownName::located)),
    }
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

    /// A member of a family, for fields with `#[serde(with = "…")]`.
    pub mod member {
        use crate::{Family, document::Node, member_to_json};
        use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
        use std::sync::Arc;

        /// The name and the fields as a map.
        ///
        /// # Errors
        /// Those of the serializer.
        pub fn serialize<T: Family + ?Sized, S: Serializer>(
            member: &Arc<T>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            member_to_json(&**member).serialize(to)
        }

        /// A member of a map.
        ///
        /// # Errors
        /// Those of the deserializer; as [`Registry::read`](crate::Registry::read).
        pub fn deserialize<'de, T: Family + ?Sized, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Arc<T>, D::Error> {
            let value = serde_json::Value::deserialize(from)?;
            let read = Node::from_json(&value)
                .and_then(|node| T::registry().read(T::registry().family, &node));
            read.map_err(|error| D::Error::custom(error.problem))
        }
    }

    /// A value of a word.
    ///
    /// # Errors
    /// Those of the deserializer; when the word is unknown.
    pub fn choice<'de, T: crate::Choice, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        let word = String::deserialize(from)?;
        super::word(&word, "value").map_err(D::Error::custom)
    }
}
