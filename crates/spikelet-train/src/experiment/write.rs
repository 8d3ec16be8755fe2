//! The text of an experiment file.

use super::{Experiment, NETWORK, TABLES};
use serde_json::{Map, Value};
use spikelet_data::FrameSettings;
use spikelet_nn::network::{Network, layer_kinds};
use spikelet_schema::{Field, KeyValue, Kind, Role, Schema, to_keys};

/// The longest line of a value.
const WIDTH: usize = 90;

/// The column of comments, where keys and values are shorter.
const COMMENT: usize = 34;

/// All tables as TOML.
pub(super) fn text(experiment: &Experiment) -> String {
    let mut keys = to_keys(experiment);
    if experiment.settings.frames.is_default() {
        let fields = FrameSettings::DECLARATION.fields;
        keys.retain(|pair| fields.iter().all(|field| field.key != pair.key));
    }
    let tables = TABLES.map(|(table, summary)| match table {
        NETWORK => network_text(&experiment.network),
        _ => table_text(
            table,
            summary,
            keys.iter().filter(|pair| pair.table == table),
        ),
    });
    tables.join("\n")
}

fn table_text<'k>(table: &str, summary: &str, keys: impl Iterator<Item = &'k KeyValue>) -> String {
    let mut text = format!("# {summary}\n[{table}]\n");
    for pair in keys {
        let value = match &pair.value {
            Value::Null => string(pair.field.none),
            value => pretty(value, 0),
        };
        let line = format!("{} = {value}", quoted(&pair.key));
        text.push_str(&line);
        if !line.contains('\n') {
            let blank = COMMENT.saturating_sub(line.chars().count()).max(2);
            text.push_str(&format!("{}# {}", " ".repeat(blank), comment(pair.field)));
        }
        text.push('\n');
    }
    text
}

/// The meaning of a key: the first sentence of its documentation, and the word for a value that is not set. Of the name of a
/// member of a family, all names.
fn comment(field: &Field) -> String {
    let kind = (field.kind)();
    if let (Role::Flatten, Kind::Member { names, .. }) = (field.role, &kind) {
        return names().join(", ");
    }
    let summary = field.summary();
    let end = summary.find(". ").map_or(summary.len(), |dot| dot + 1);
    let mut text = summary[..end].trim_end_matches('.').to_string();
    if !field.unit.is_empty() {
        text.push_str(&format!(", in {}", field.unit));
    }
    if matches!(kind, Kind::Optional(_)) && !text.contains(&format!("`{}`", field.none)) {
        text.push_str(&format!("; or \"{}\"", field.none));
    }
    text
}

fn network_text(network: &Network) -> String {
    let mut text = "[network]\n".to_string();
    for (key, value) in network.table() {
        let written = match &value {
            // A layer a line.
            Value::Array(items) if key == "layers" => lines(items, 0),
            value => pretty(value, 0),
        };
        text.push_str(&format!("{} = {written}\n", quoted(&key)));
    }
    text
}

/// The entries of a table: its name and the kind of a layer come first.
fn ordered(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let rank = |key: &str| match key {
        "name" | "parameters" => 0,
        "layer" => 1,
        key if layer_kinds().iter().any(|kind| kind.name() == key) => 2,
        _ => 3,
    };
    let mut entries: Vec<_> = map.iter().filter(|(_, value)| !value.is_null()).collect();
    entries.sort_by_key(|(key, _)| rank(key));
    entries
}

/// A key, in quotation marks if it needs them.
fn quoted(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !key.is_empty() && key.chars().all(bare) {
        true => key.to_string(),
        false => string(key),
    }
}

/// A basic string: JSON's notation, in which TOML needs one more character escaped.
fn string(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

/// A value in one line.
fn inline(value: &Value) -> String {
    match value {
        Value::Null => string("none"),
        Value::String(text) => string(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) if map.is_empty() => "{}".to_string(),
        Value::Object(map) => {
            let entries = ordered(map).into_iter();
            let entries =
                entries.map(|(key, value)| format!("{} = {}", quoted(key), inline(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}

/// A value over several lines if it is long: lists have an item a line. Tables in TOML have one line, apart from
/// lists in them.
fn pretty(value: &Value, indent: usize) -> String {
    let line = inline(value);
    if indent + line.chars().count() <= WIDTH {
        return line;
    }
    match value {
        Value::Array(items) => lines(items, indent),
        Value::Object(map) => {
            let entries = ordered(map).into_iter();
            let entries =
                entries.map(|(key, value)| format!("{} = {}", quoted(key), pretty(value, indent)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        _ => line,
    }
}

/// A list with an item a line.
fn lines(items: &[Value], indent: usize) -> String {
    let blank = " ".repeat(indent);
    let mut text = "[\n".to_string();
    for item in items {
        text.push_str(&format!("{blank}  {},\n", pretty(item, indent + 2)));
    }
    format!("{text}{blank}]")
}
