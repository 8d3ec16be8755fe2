//! Changes of networks by keys of their files.

use super::file::named;
use super::neuron::neuron_table;
use super::{Layers, Model, Network};
use serde_json::{Map, Value, json};
use spikelet_core::document::{Located, Node};

impl Network {
    /// The keys of the table `network` in a file, in their order: [`Network::from_toml`] reads them as this network.
    ///
    /// ```
    /// use spikelet_nn::network::Network;
    /// let keys = Network::find("mnist-fc")?.table();
    /// assert_eq!(keys[0], ("name".to_string(), "mnist-fc".into()));
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    pub fn table(&self) -> Vec<(String, Value)> {
        let mut map = match json!(self) {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        if let Some(neuron) = map.get_mut("neuron") {
            *neuron = neuron_table(neuron);
        }
        const FIRST: [&str; 4] = ["version", "name", "source", "input"];
        const LAST: [&str; 2] = ["neuron", "layers"];
        let first: Vec<_> = (FIRST.iter())
            .filter_map(|key| map.remove_entry(*key))
            .collect();
        let last: Vec<_> = (LAST.iter())
            .filter_map(|key| map.remove_entry(*key))
            .collect();
        first.into_iter().chain(map).chain(last).collect()
    }

    /// The network with the keys of a table `network`, which may have some of them: a neuron keeps the constants that
    /// are not given. A table with the name of another named network, or with `layers` for a named network, stands for
    /// itself. `file` names a list of layers without a name.
    ///
    /// ```
    /// use spikelet_core::document::Document;
    /// use spikelet_nn::network::Network;
    /// let change = Document::from_toml("change", "hidden = 64\nneuron.tau = 3.0")?;
    /// let network = Network::find("mnist-fc")?;
    /// let changed = network.with(change.root(), "change").map_err(|error| change.error(error))?;
    /// assert_ne!(changed, network);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a key is unknown or a value is wrong.
    pub fn with(&self, table: &Node, file: &str) -> Result<Self, Located> {
        let own = match self {
            Self::Layers(_) => None,
            named => Some(named.name()),
        };
        let name = table.get("name").and_then(Node::as_text);
        let layers = table.get("layers").is_some();
        let alone = match own {
            Some(own) => layers || name.is_some_and(|name| name != own),
            None => !layers && name.is_some_and(|name| Model::names().any(|known| known == name)),
        };
        let mut merged = table.clone();
        if !alone {
            let mut base = Map::from_iter(self.table());
            if name.is_some() {
                // A new name does not make it another network.
                base.remove("name");
            }
            if layers {
                // The version is that of the given list.
                base.remove("version");
            }
            merged = Node::from_json(&Value::Object(base))?.merged(table);
        }
        match (merged.get("layers"), merged.get("name")) {
            (None, Some(name)) => named(&merged, name),
            _ => Layers::from_node(&merged, file).map(Self::Layers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_core::document::Document;

    fn changed(network: &Network, text: &str) -> Result<Network, String> {
        let document = Document::from_toml("change", text).expect("it is TOML");
        let made = network.with(document.root(), "change");
        made.map_err(|error| document.error(error).to_string())
    }

    #[test]
    fn the_keys_of_a_network_are_read_as_the_network() {
        for name in Model::names() {
            let layers = Network::Layers(
                Model::find(name)
                    .and_then(|m| m.layers())
                    .expect("it is known"),
            );
            for network in [Network::find(name).expect("it is known"), layers] {
                let keys = Value::Object(Map::from_iter(network.table()));
                let node = Node::from_json(&keys).expect("it is small");
                let mut read = Network::find("mnist-fc").expect("it is known");
                read = read.with(&node, "x").expect("it is sound");
                let module = |network: &Network| {
                    let made = network.module().expect("it is sound");
                    made.to_string()
                };
                assert_eq!(module(&read), module(&network), "{name}");
                assert_eq!(read.table(), network.table());
            }
        }
    }

    #[test]
    fn constants_of_a_neuron_are_kept() {
        let network = Network::find("mnist-fc").expect("it is known");
        let neuron = |text| {
            let mut made = changed(&network, text).unwrap_or_else(|e| panic!("{e}"));
            neuron_table(made.neuron_mut())
        };
        let own = neuron("hidden = 3");
        assert_eq!(
            (own["name"].as_str(), own["tau"].as_f64()),
            (Some("lif"), Some(4.0))
        );
        let other = neuron("neuron.tau = 3.0");
        assert_eq!(
            (other["tau"].as_f64(), &other["v_reset"]),
            (Some(3.0), &own["v_reset"])
        );
        let other = neuron("neuron = { name = \"if\" }");
        assert_eq!(other, json!({"name": "if"}));
        let renamed = Network::Layers(
            Model::find("csnn")
                .and_then(|m| m.layers())
                .expect("it is known"),
        );
        let renamed = changed(&renamed, "name = \"mine\"").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((renamed.name(), renamed.classes()), ("mine", 10));
    }

    #[test]
    fn wrong_keys_are_named_with_their_position() {
        let network = Network::find("mnist-fc").expect("it is known");
        for (text, expected) in [
            (
                "hiden = 3",
                "change:1:1: the network `mnist-fc` has no key `hiden`",
            ),
            ("hidden = \"many\"", "change:1:10: `hidden` is \"many\""),
            ("neuron.tu = 3.0", "change:1:8"),
            ("name = \"csn\"", "did you mean"),
            ("layers = [\"flatten\"]", "needs `input`"),
        ] {
            let problem = changed(&network, text).expect_err(text);
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
