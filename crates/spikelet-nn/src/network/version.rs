//! Versions of lists of layers.
//!
//! Version 1, of lists without the key `version`, differs in two ways: linear layers and convolutions have no bias by default, and
//! the key `lr` of layers with a learning rule is called `learning_rate`.

use super::Layers;
use super::kind::LayerEntry;
use super::layer_fields::kind_of;
use serde_json::Value;
use spikelet_core::document::{Content, Located, Node};
use spikelet_schema::to_json;

/// The key `layers` of the table of a network, as a list of the newest version; null if there is none.
pub(super) fn current(table: &Node) -> Result<Node, Located> {
    let version = match table.get("version") {
        Some(node) => node.integer("version", 1..=Layers::VERSION)?,
        None => 1,
    };
    let mut layers = match table.get("layers") {
        Some(node) => node.clone(),
        None => Content::Null.into(),
    };
    if version == 1 {
        upgrade(&mut layers);
    }
    Ok(layers)
}

/// Changes the layers in a value of version 1.
fn upgrade(node: &mut Node) {
    if let (Some(_), Ok(kind)) = (node.entries(), kind_of(node)) {
        if node.get("bias").is_none() && default(kind, "bias") == Some(Value::Bool(true)) {
            *node = node.with("bias", Content::Bool(false).into());
        }
        if let (Some(rate), Some(_)) = (node.get("learning_rate"), default(kind, "lr")) {
            *node = node.with("lr", rate.clone()).without("learning_rate");
        }
    }
    match &mut node.content {
        Content::List(items) => items.iter_mut().for_each(upgrade),
        Content::Table(entries) => (entries.iter_mut()).for_each(|entry| upgrade(&mut entry.value)),
        _ => {}
    }
}

/// The default of a key of a kind, if it has the key.
fn default(kind: &LayerEntry, key: &str) -> Option<Value> {
    to_json(&*kind.defaults()).remove(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn layers(version: &str, list: &str) -> Result<Vec<Value>, String> {
        let text = format!("[network]\n{version}\ninput = [8]\nlayers = {list}");
        let read = Layers::from_toml("net.toml", &text, &[]);
        read.map(|net| net.layers)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn layers_of_version_1_have_no_bias_unless_they_say_so() {
        let list = r#"[{ linear = 8 }, { linear = 8, bias = true }, { residual = [{ linear = 8 }], names = ["a", "b"] }]"#;
        let read = layers("", list).expect("it is read");
        assert_eq!(read[0], json!({"linear": 8, "bias": false}));
        assert_eq!(read[1], json!({"linear": 8, "bias": true}));
        assert_eq!(read[2]["residual"], json!([{"linear": 8, "bias": false}]));
        assert_eq!(layers("version = 1", list), Ok(read));
        let read = layers("version = 2", list).expect("it is read");
        assert_eq!(read[0], json!({"linear": 8}));
    }

    #[test]
    fn a_list_is_the_same_after_it_is_written() {
        let text = "[network]\ninput = [8]\nlayers = [{ linear = 3 }]";
        let read = Layers::from_toml("net.toml", text, &[]).expect("it is read");
        let again = Layers::from_json(&read.to_json()).expect("it is read");
        assert_eq!(again, read);
    }

    #[test]
    fn the_learning_rate_of_rules_has_its_name_of_today() {
        let list =
            |key| format!("[{{ plastic = {{ linear = 3 }}, rule = \"stdp\", {key} = 0.5 }}]");
        let read = layers("", &list("learning_rate")).expect("it is read");
        assert_eq!(
            (&read[0]["lr"], &read[0]["plastic"]["bias"]),
            (&json!(0.5), &json!(false))
        );
        assert!(layers("version = 2", &list("lr")).is_ok());
        let error = layers("version = 2", &list("learning_rate")).expect_err("it is unknown");
        assert!(error.contains("learning_rate"), "{error}");
        let error = layers("version = 3", &list("lr")).expect_err("it is newer");
        assert!(error.contains("1 to 2"), "{error}");
    }
}
