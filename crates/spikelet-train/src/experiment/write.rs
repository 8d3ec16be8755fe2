//! The text of an experiment file.

use super::Experiment;
use super::table::Table;
use super::tables::{BEFORE_NETWORK, TABLES};
use serde_json::{Map, Value};
use spikelet_nn::network::{Network, layer_kinds};

/// The longest line of a value.
const WIDTH: usize = 90;

/// The column of comments, where keys and values are shorter.
const COMMENT: usize = 34;

/// All tables as TOML.
pub(super) fn text(experiment: &Experiment) -> String {
    let mut text = String::new();
    for table in &TABLES {
        text.push_str(&table_text(table, experiment));
        text.push('\n');
        if table.name == BEFORE_NETWORK {
            text.push_str(&network_text(&experiment.network));
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn table_text(table: &Table, experiment: &Experiment) -> String {
    let mut text = format!("# {}\n[{}]\n", table.summary, table.name);
    for (key, value) in (table.write)(experiment) {
        let doc = table.keys.iter().find(|known| known.name == key);
        let line = format!("{} = {}", quoted(&key), pretty(&value, 0));
        text.push_str(&line);
        if let Some(doc) = doc.filter(|_| !line.contains('\n')) {
            let blank = COMMENT.saturating_sub(line.chars().count()).max(2);
            text.push_str(&format!("{}# {}", " ".repeat(blank), doc.doc));
        }
        text.push('\n');
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
        key if layer_kinds().iter().any(|kind| kind.name == key) => 2,
        _ => 3,
    };
    let mut entries: Vec<_> = map.iter().collect();
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
        Value::Null => string(super::table::NONE),
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
