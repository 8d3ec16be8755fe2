//! Members of families on the command line: `NAME`, or `NAME KEY=VALUE …`.

use crate::failure::Failure;
use serde_json::{Map, Value};
use spikelet::document::Node;
use spikelet::schema::{Family, words};
use std::sync::Arc;

/// The name of a member of a family and the fields that are given with it, as [`words::item`] reads them.
///
/// # Errors
/// When no member has this name, or a field has no value.
pub fn named<T: Family + ?Sized>(text: &str) -> Result<Map<String, Value>, String> {
    let item = words::item(text).map_err(|error| error.problem.to_string())?;
    let fields = item.to_json().as_object().cloned().unwrap_or_default();
    let name = fields.get("name").and_then(Value::as_str);
    let found = T::registry().find(name.unwrap_or(text));
    found.map_err(|error| error.to_string())?;
    Ok(fields)
}

/// The member with these fields: the present one with others changed, or another one if they name it.
///
/// # Errors
/// When a field is unknown, missing or wrong.
pub fn member_over<T: Family + ?Sized>(
    present: &T,
    fields: Map<String, Value>,
) -> Result<Arc<T>, Failure> {
    let family = T::registry().family;
    let own = present.record().declaration().name;
    let name = fields.get("name").and_then(Value::as_str).unwrap_or(own);
    let owner = format!("the {family} `{name}`");
    let table = Node::from_json(&fields.into());
    let read = table.and_then(|table| T::registry().read_over(family, present, &table));
    read.map_err(|error| {
        let problem = format!("{owner}: {}", error.problem);
        Failure::argument(problem, error.problem.help())
    })
}

/// The names of all members of a family.
pub fn names_of<T: Family + ?Sized>() -> String {
    T::registry().all_names().join(", ")
}
