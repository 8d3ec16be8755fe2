//! A list of layers as a tree that passes can change: each layer with its name, and the lists inside of it.

use super::error::ConversionError;
use serde_json::{Map, Value, json};
use spikelet_nn::network::layer_kinds;

/// A layer of a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layer {
    /// The name in paths. That of a group may be empty.
    pub name: String,
    /// The kind, such as `conv`.
    pub kind: String,
    /// The value of the key with the kind's name; null without one, and of layers with bodies.
    pub main: Value,
    /// The other keys.
    pub fields: Map<String, Value>,
    /// The lists of layers inside.
    pub bodies: Vec<Body>,
}

/// A list of layers inside of a layer, or a single layer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Body {
    /// The part of the paths of its layers; may be empty.
    pub name: String,
    pub layers: Vec<Layer>,
    /// Whether it is one layer without a name of its own.
    pub is_single: bool,
}

/// A path and a name in it.
pub(super) fn join(path: &str, name: &str) -> String {
    match (path.is_empty(), name.is_empty()) {
        (true, _) => name.to_string(),
        (_, true) => path.to_string(),
        _ => format!("{path}.{name}"),
    }
}

/// The layers of a list. `path` is that of the list, for messages.
pub(super) fn read(list: &[Value], path: &str) -> Result<Vec<Layer>, ConversionError> {
    let named = |(k, value): (usize, &Value)| {
        let name = value.get("name").and_then(Value::as_str);
        let name = name.map_or_else(|| k.to_string(), String::from);
        Layer::read(value, name, path)
    };
    list.iter().enumerate().map(named).collect()
}

/// The list of the layers.
pub(super) fn write(layers: &[Layer]) -> Vec<Value> {
    layers.iter().map(|layer| layer.write(true)).collect()
}

impl Layer {
    /// A layer without others inside.
    pub fn leaf(name: impl Into<String>, kind: &str, main: Value) -> Self {
        Self {
            name: name.into(),
            kind: kind.to_string(),
            main,
            fields: Map::new(),
            bodies: vec![],
        }
    }

    /// Whether it is of one of these kinds.
    pub fn is(&self, kinds: &[&str]) -> bool {
        kinds.contains(&self.kind.as_str())
    }

    /// Whether a key is true.
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.fields.get(key).and_then(Value::as_bool)
    }

    fn read(value: &Value, name: String, path: &str) -> Result<Self, ConversionError> {
        let at = join(path, &name);
        let mut layer = match value {
            Value::String(kind) => Self::leaf(name, kind, Value::Null),
            Value::Object(keys) => {
                let (kind, main) = kind_of(keys, &at)?;
                let mut fields = keys.clone();
                for key in ["name", "layer", &kind] {
                    fields.remove(key);
                }
                Self {
                    fields,
                    ..Self::leaf(name, &kind, main)
                }
            }
            _ => return Err(ConversionError::not_a_layer(&at)),
        };
        layer.read_bodies(&at)?;
        Ok(layer)
    }

    /// Moves the lists of the keys into the bodies.
    fn read_bodies(&mut self, path: &str) -> Result<(), ConversionError> {
        let kind = self.kind.clone();
        match kind.as_str() {
            "layers" => {
                let body = Body::read(&self.main, "", path)?;
                self.bodies = match self.fields.remove("repeat").and_then(|n| n.as_u64()) {
                    Some(copies) => vec![repeated(&body, copies)],
                    None => vec![body],
                };
            }
            "static" => self.bodies = vec![Body::read(&self.main, "", path)?],
            "residual" => {
                let names = self.fields.get("names").and_then(Value::as_array);
                let name = |k: usize, otherwise| {
                    let given = names.and_then(|names| names.get(k)?.as_str());
                    given.unwrap_or(otherwise).to_string()
                };
                let (main, shortcut) = (name(0, "main"), name(1, "shortcut"));
                self.bodies = vec![Body::read(&self.main, &main, path)?];
                self.bodies.push(match self.fields.remove("shortcut") {
                    Some(value) => Body::read(&value, &shortcut, path)?,
                    None => Body {
                        name: shortcut,
                        layers: vec![],
                        is_single: false,
                    },
                });
            }
            "branches" => {
                let branches = self.main.as_array().into_iter().flatten().enumerate();
                let read = |(k, value): (usize, &Value)| Body::read(value, &k.to_string(), path);
                self.bodies = branches.map(read).collect::<Result<_, _>>()?;
            }
            _ => return Ok(()),
        }
        self.main = Value::Null;
        Ok(())
    }

    fn write(&self, named: bool) -> Value {
        let mut keys = self.fields.clone();
        let bodies = &self.bodies;
        match self.kind.as_str() {
            "residual" => {
                keys.insert(self.kind.clone(), bodies[0].write());
                if !bodies[1].layers.is_empty() {
                    keys.insert("shortcut".to_string(), bodies[1].write());
                }
            }
            "branches" => {
                let each = bodies.iter().map(Body::write).collect();
                keys.insert(self.kind.clone(), Value::Array(each));
            }
            "layers" | "static" => {
                keys.insert(self.kind.clone(), bodies[0].write());
            }
            kind if self.main.is_null() => {
                keys.insert("layer".to_string(), json!(kind));
            }
            kind => {
                keys.insert(kind.to_string(), self.main.clone());
            }
        }
        if named {
            keys.insert("name".to_string(), json!(self.name));
        }
        Value::Object(keys)
    }
}

impl Body {
    fn read(value: &Value, name: &str, path: &str) -> Result<Self, ConversionError> {
        let at = join(path, name);
        let (layers, is_single) = match value {
            Value::Array(list) => (read(list, &at)?, false),
            single => (vec![Layer::read(single, String::new(), &at)?], true),
        };
        Ok(Self {
            name: name.to_string(),
            layers,
            is_single,
        })
    }

    fn write(&self) -> Value {
        match self.layers.as_slice() {
            [single] if self.is_single => single.write(false),
            layers => Value::Array(write(layers)),
        }
    }
}

/// Copies of a list, named by their numbers.
fn repeated(body: &Body, copies: u64) -> Body {
    let copy = |k: u64| Layer {
        bodies: vec![body.clone()],
        ..Layer::leaf(k.to_string(), "layers", Value::Null)
    };
    Body {
        name: body.name.clone(),
        layers: (0..copies).map(copy).collect(),
        is_single: false,
    }
}

/// The kind of a layer with keys, and the value of the key with its name.
fn kind_of(keys: &Map<String, Value>, path: &str) -> Result<(String, Value), ConversionError> {
    if let Some(kind) = keys.get("layer").and_then(Value::as_str) {
        let main = keys.get(kind).cloned().unwrap_or_default();
        return Ok((kind.to_string(), main));
    }
    let known = layer_kinds();
    let found = keys
        .iter()
        .find(|(key, _)| known.iter().any(|kind| kind.name() == key.as_str()));
    match found {
        Some((kind, main)) => Ok((kind.clone(), main.clone())),
        None => Err(ConversionError::not_a_layer(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_written_as_it_was_read_with_all_names() {
        let list = json!([
            {"conv": 4, "kernel": 3},
            "relu",
            {"residual": [{"conv": 4, "kernel": 1}, {"layer": "batch-norm", "epsilon": 1e-3}],
             "shortcut": {"conv": 4, "kernel": 1}, "name": "block"},
            {"layers": ["flatten"], "name": ""},
            {"layers": [{"linear": 4}], "repeat": 2},
        ]);
        let list = list.as_array().expect("a list");
        let layers = read(list, "").expect("it is sound");
        let expected = json!([
            {"conv": 4, "kernel": 3, "name": "0"},
            {"layer": "relu", "name": "1"},
            {"residual": [{"conv": 4, "kernel": 1, "name": "0"}, {"layer": "batch-norm", "epsilon": 1e-3, "name": "1"}],
             "shortcut": {"conv": 4, "kernel": 1}, "name": "block"},
            {"layers": [{"layer": "flatten", "name": "0"}], "name": ""},
            {"layers": [
                {"layers": [{"linear": 4, "name": "0"}], "name": "0"},
                {"layers": [{"linear": 4, "name": "0"}], "name": "1"},
            ], "name": "4"},
        ]);
        let written = write(&layers);
        assert_eq!(Value::Array(written.clone()), expected);
        assert_eq!(read(&written, "").expect("it is sound"), layers);
    }
}
