//! Tables of reference pages.

use crate::declaration::first_paragraph;
use crate::{Declaration, Field, Kind, Registry, Role};
use serde_json::Value as Json;
use std::fmt::Write;
use std::path::Path;

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
    table_of(declaration, |_, _| true).unwrap_or_else(|| HEAD.to_string())
}

const HEAD: &str = "| key | values | default | |\n|---|---|---|---|\n";

/// The members of a family as one table in Markdown: name, keys with the main one in bold, values, default, meaning. Other names
/// follow.
///
/// ```
/// use spikelet_schema::{Record, Schema, markdown, registry};
/// trait Shape: Record {}
/// /// A square. It has four sides.
/// ///
/// /// Its area is their square.
/// #[derive(Schema)]
/// struct Square {
///     /// The length of a side.
///     #[schema(main, default = 1.0, above = 0)]
///     side: f64,
/// }
/// impl Shape for Square {}
/// registry! { static SHAPES: dyn Shape = "shape" { Square } or { "large" = "square", "side = 9" } }
///
/// let table = "| name | key | values | default | |\n|---|---|---|---|---|\n\
///              | `square` | | | | A square. It has four sides. |\n\
///              | | **`side`** | a number above 0 | 1.0 | The length of a side. |\n\
///              | `large` | | | | `square` with `side = 9` |\n";
/// assert_eq!(markdown::family(&SHAPES), table);
/// ```
pub fn family<T: ?Sized>(registry: &Registry<T>) -> String {
    let mut text = "| name | key | values | default | |\n|---|---|---|---|---|\n".to_string();
    for declaration in registry.declarations() {
        let summary = cell(&first_paragraph(declaration.doc).replace('\n', " "));
        let main = declaration.main().map(|field| field.key);
        let _ = writeln!(text, "| `{}` | | | | {summary} |", declaration.name);
        text += &rows(
            declaration,
            |_, _| true,
            |key| match main == Some(key) {
                true => format!("| | **`{key}`**"),
                false => format!("| | `{key}`"),
            },
        );
    }
    for alias in registry.aliases {
        let with = match alias.fields {
            "" => String::new(),
            fields => format!(" with `{fields}`"),
        };
        let _ = writeln!(text, "| `{}` | | | | `{}`{with} |", alias.name, alias.of);
    }
    text
}

/// As [`table`], of some fields, chosen by the field and its default; `None` without any.
pub fn table_of(declaration: &Declaration, keep: impl Fn(&Field, &Json) -> bool) -> Option<String> {
    let rows = rows(declaration, keep, |key| format!("| `{key}`"));
    (!rows.is_empty()).then(|| format!("{HEAD}{rows}"))
}

/// The keys of one table of a struct whose fields belong to several, as a table in Markdown. The keys of a member of a family are
/// its name: see [`family`].
///
/// ```
/// use spikelet_schema::{Schema, markdown};
/// /// The settings of a run.
/// #[derive(Schema)]
/// struct Settings {
///     /// Passes over the training set.
///     #[schema(table = "training", default = 20, at_least = 1)]
///     epochs: usize,
/// }
/// let table = "| key | values | default | |\n|---|---|---|---|\n\
///              | `epochs` | a whole number of at least 1 | 20 | Passes over the training set. |\n";
/// assert_eq!(markdown::keys(Settings::DECLARATION, "training"), table);
/// ```
pub fn keys(declaration: &Declaration, table: &str) -> String {
    let defaults = crate::to_json(&*(declaration.default)());
    let mut text = HEAD.to_string();
    for (_, field) in declaration
        .fields_of_tables()
        .into_iter()
        .filter(|(of, _)| *of == table)
    {
        let (key, values) = match (field.role, (field.kind)()) {
            (Role::Flatten, Kind::Member { names, .. }) => {
                (field.key_in_files(), names().join(", "))
            }
            _ => (field.key, values(field)),
        };
        let default = default(field, &defaults[table][key]);
        let meaning = cell(&meaning(field));
        // Writing to a string does not fail.
        let _ = writeln!(text, "| `{key}` | {values} | {default} | {meaning} |");
    }
    text
}

/// The rows of some fields; `begin` gives the first columns of a key.
fn rows(
    declaration: &Declaration,
    keep: impl Fn(&Field, &Json) -> bool,
    begin: impl Fn(&'static str) -> String,
) -> String {
    let defaults = crate::to_json(&*(declaration.default)());
    let mut text = String::new();
    for field in declaration.all_fields() {
        let value = defaults.get(field.key).unwrap_or(&Json::Null);
        if !keep(field, value) {
            continue;
        }
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{} | {} | {} | {} |",
            begin(field.key),
            values(field),
            default(field, value),
            cell(&meaning(field))
        );
    }
    text
}

/// The default of a field.
fn default(field: &Field, value: &Json) -> String {
    match value {
        _ if field.required => String::new(),
        Json::Null => field.none.to_string(),
        value => in_words(value),
    }
}

/// A value without the notation of JSON: a member of a family is its name with its fields.
fn in_words(value: &Json) -> String {
    let Json::Object(table) = value else {
        return value.as_str().map_or(value.to_string(), String::from);
    };
    let fields = table.iter().filter(|(key, _)| *key != "name");
    let fields: Vec<String> = fields
        .map(|(key, value)| format!("{key} {}", in_words(value)))
        .collect();
    match (table.get("name").and_then(Json::as_str), &fields[..]) {
        (None, []) => "none".to_string(),
        (None, fields) => fields.join(", "),
        (Some(name), []) => name.to_string(),
        (Some(name), fields) => format!("{name}, {}", fields.join(", ")),
    }
}

/// A text in a cell of a table.
pub fn cell(text: &str) -> String {
    text.replace('|', "\\|")
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
            let fields = declaration.fields_of_tables().into_iter();
            let fields = fields.filter(|(_, field)| field.role != Role::Rest);
            let keys: Vec<&str> = fields.map(|(_, field)| field.key_in_files()).collect();
            format!("a table with {}", keys.join(", "))
        }
        Kind::Member { family, .. } if family.starts_with(['a', 'e', 'i', 'o']) => {
            format!("an {family}")
        }
        Kind::Member { family, .. } => format!("a {family}"),
        Kind::Other(text, _) => (*text).to_string(),
    }
}

/// Whether a file has this page. If the variable `SPIKELET_WRITE` is set, the page is written first: for tests of pages that are
/// printed.
pub fn is_printed(file: &Path, page: &str) -> bool {
    let is_written = match std::env::var_os("SPIKELET_WRITE") {
        Some(_) => std::fs::write(file, page).is_ok(),
        None => true,
    };
    is_written && std::fs::read_to_string(file).is_ok_and(|written| written == page)
}
