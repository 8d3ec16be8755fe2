//! JSON text from and for Python.

use super::error::invalid;
use pyo3::prelude::*;
use serde_json::Value;

/// The value of a JSON text, which the Python side makes with `json.dumps`.
pub(super) fn parse(what: &str, text: &str) -> PyResult<Value> {
    serde_json::from_str(text).map_err(|error| {
        invalid(
            what,
            error.to_string(),
            "give numbers, strings, lists and dictionaries",
        )
    })
}
