//! Tables of reference pages.

use crate::{Declaration, Field, Kind};
use serde_json::Value as Json;
use std::fmt::Write;

/// The fields of a declaration as a table in Markdown: key, values, default, meaning.
///
/// ```
/// use spikelet_schema::{Schema, markdown};
/// /// A neuron.
/// #[derive(Schema)]
/// struct Lif {
///     /// Membrane time constant.
///     #[schema(default = 2.0, above = 1.0, unit = "steps")]
///     tau: f64,
/// }
/// let table = "| key | values | default | |\n|---|---|---|---|\n\
///              | `tau` | a number above 1 | 2.0 | Membrane time constant, in steps. |\n";
/// assert_eq!(markdown::table(Lif::DECLARATION), table);
/// ```
pub fn table(declaration: &Declaration) -> String {
    let defaults = crate::to_json(&*(declaration.default)());
    let mut text = "| key | values | default | |\n|---|---|---|---|\n".to_string();
    for field in declaration.all_fields() {
        let default = match defaults.get(field.key) {
            _ if field.required => String::new(),
            Some(Json::Null) | None => field.none.to_string(),
            Some(Json::String(word)) => word.clone(),
            Some(value) => value.to_string(),
        };
        let meaning = meaning(field).replace('|', "\\|");
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| `{}` | {} | {default} | {meaning} |",
            field.key,
            values(field)
        );
    }
    text
}

/// The meaning of a field with its unit, as a sentence.
pub fn meaning(field: &Field) -> String {
    let summary = field.summary();
    match field.unit {
        "" => summary,
        unit => format!("{}, in {unit}.", summary.trim_end_matches('.')),
    }
}

/// The values that a field may have.
pub fn values(field: &Field) -> String {
    of_kind(&(field.kind)(), field)
}

fn of_kind(kind: &Kind, field: &Field) -> String {
    let number = |domain: Option<crate::Domain>| domain.unwrap_or(crate::Domain::FINITE);
    match kind {
        Kind::Number => number(field.domain).to_string(),
        Kind::Integer => number(field.domain).integers().to_string(),
        Kind::Flag => "true or false".to_string(),
        Kind::Text => "a string".to_string(),
        Kind::Word(words) => words.join(", "),
        Kind::List(of, None) => format!("a list: {}", of_kind(of, field)),
        Kind::List(of, Some(length)) => format!("a list of {length}: {}", of_kind(of, field)),
        Kind::Optional(of) => format!("{}, or {}", of_kind(of, field), field.none),
        Kind::Table(declaration) => {
            let keys: Vec<&str> = declaration.all_fields().iter().map(|f| f.key).collect();
            format!("a table with {}", keys.join(", "))
        }
        Kind::Member(family, _) => format!("a {family}"),
        Kind::Other(text, _) => (*text).to_string(),
    }
}
