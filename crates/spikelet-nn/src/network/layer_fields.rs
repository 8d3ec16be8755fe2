//! The keys of a layer in a list: its kind, the value of the kind, its name, and values that many kinds have.

use super::Layers;
use super::kinds::{self, Kind, MainValue};
use super::problem::NetworkProblem;
use crate::module::Init;
use spikelet_core::document::{Content, Fields, Located, Node};

/// A layer of a list: the value after its kind, and its other keys.
pub(super) struct LayerFields<'a> {
    pub kind: &'static Kind,
    /// The value of the key with the name of the kind.
    pub main: Option<&'a Node>,
    pub fields: Fields<'a>,
}

impl<'a> LayerFields<'a> {
    /// The value of the kind's key, which was checked to be there.
    pub fn main(&self) -> Result<&'a Node, Located> {
        self.main.ok_or_else(|| {
            let problem = NetworkProblem::NeedsValue {
                kind: self.kind.name,
                expected: self.kind.main.expected(),
            };
            problem.at(self.fields.span())
        })
    }

    /// Checks the key `inputs`, if it is given: the sequence has this size on its first axis.
    pub fn expect_inputs(&self, size: usize) -> Result<(), Located> {
        match self.fields.get("inputs") {
            Some(node) if node.integer("inputs", 1..=Layers::MAX_SIZE)? != size => {
                Err(node.wrong("inputs", format!("{size}, as its input has")))
            }
            _ => Ok(()),
        }
    }

    /// One size for all axes, or a size for each of `axes`; the value of `key`.
    pub fn sizes(
        &self,
        key: &str,
        axes: usize,
        least: usize,
    ) -> Result<Option<Vec<usize>>, Located> {
        let node = match key == self.kind.name {
            true => Some(self.main()?),
            false => self.fields.get(key),
        };
        node.map(|node| sizes(node, key, axes, least)).transpose()
    }
}

/// The initial values of weights and biases in files.
impl LayerFields<'_> {
    /// Those of the keys `init` and `bias_init`, if the kind has them and they are given. `fan_out` is the number of outputs times the size of the
    /// window.
    pub fn inits(&self, fan_out: usize) -> Result<[Option<Init>; 2], Located> {
        let bias = self.fields.number("bias_init")?.map(Init::Constant);
        Ok([self.init(fan_out)?, bias])
    }

    /// The initialization of the weights, of a layer without biases.
    pub fn init(&self, fan_out: usize) -> Result<Option<Init>, Located> {
        let expected = "\"fan-in\", \"kaiming-normal\", { normal = 0.02 } with a standard deviation, or { uniform = [0.0, 0.3] }";
        let weight = match self.fields.get("init") {
            None => None,
            Some(node) if node.get("uniform").is_some() => Some(uniform(node)?),
            Some(node) => match (node.as_text(), node.get("normal")) {
                (Some("fan-in"), _) => None,
                (Some("kaiming-normal"), _) => Some(Init::kaiming_normal(fan_out)),
                (None, Some(deviation)) => {
                    Fields::new(node, "`init`", &["normal"])?;
                    match deviation.number("normal")? {
                        deviation if deviation >= 0.0 => Some(Init::Normal { deviation }),
                        _ => return Err(deviation.wrong("normal", "a number of at least 0")),
                    }
                }
                _ => return Err(node.wrong("init", expected)),
            },
        };
        Ok(weight)
    }
}

/// `{ uniform = [0.0, 0.3] }`: uniform between two limits.
fn uniform(node: &Node) -> Result<Init, Located> {
    let [low, high] = match Fields::new(node, "`init`", &["uniform"])?.get("uniform") {
        Some(limits) => interval(limits, "uniform")?,
        None => [0.0, 0.0],
    };
    Ok(Init::Between { low, high })
}

/// A list of two numbers, of which the second is not smaller.
pub(super) fn interval(node: &Node, key: &str) -> Result<[f64; 2], Located> {
    let wrong = || node.wrong(key, "a list of two numbers, the smaller one first");
    let [low, high] = node.list(key).map_err(|_| wrong())? else {
        return Err(wrong());
    };
    match [low.number(key)?, high.number(key)?] {
        [low, high] if low <= high => Ok([low, high]),
        _ => Err(wrong()),
    }
}

/// One size for all axes, or a size for each of `axes`.
fn sizes(node: &Node, key: &str, axes: usize, least: usize) -> Result<Vec<usize>, Located> {
    let expected = match axes {
        1 => format!("an integer from {least} to {}", Layers::MAX_SIZE),
        _ => format!(
            "an integer from {least} to {}, or a list of {axes} of them",
            Layers::MAX_SIZE
        ),
    };
    let wrong = || node.wrong(key, expected.clone());
    let read = |node: &Node| node.integer(key, least..=Layers::MAX_SIZE);
    match &node.content {
        Content::List(items) if items.len() == axes => {
            let read: Result<_, _> = items.iter().map(read).collect();
            read.map_err(|_| wrong())
        }
        _ => Ok(vec![read(node).map_err(|_| wrong())?; axes]),
    }
}

/// The keys of a layer within another one, which has no name and is not built by itself.
pub(super) fn inner_layer(node: &Node) -> Result<LayerFields<'_>, Located> {
    let (kind, main) = kind_of(node)?;
    layer_fields(node, kind, main, false)
}

/// The keys of a layer of this kind. `named`: whether it may have a name.
pub(super) fn layer_fields<'a>(
    node: &'a Node,
    kind: &'static Kind,
    main: Option<&'a Node>,
    named: bool,
) -> Result<LayerFields<'a>, Located> {
    let mut known = vec![kind.name];
    known.extend(kind.keys.iter().map(|key| key.name));
    known.extend(named.then_some("name"));
    known.extend(node.get("layer").map(|_| "layer"));
    let owner = format!("`{}`", kind.name);
    let fields = match &node.content {
        Content::Text(_) => Fields::empty(owner, &known, node.span.clone()),
        _ => Fields::new(node, owner, &known)?,
    };
    let given = LayerFields { kind, main, fields };
    match (kind.main, main) {
        (MainValue::Required(_) | MainValue::Layers(_), None) => {
            given.main()?;
        }
        (MainValue::None, Some(value)) => {
            let problem = NetworkProblem::TakesNoValue { kind: kind.name };
            return Err(problem.at(value.span.clone()));
        }
        _ => {}
    }
    Ok(given)
}

/// The kind of a layer, and the value of the key with its name.
pub(super) fn kind_of(node: &Node) -> Result<(&'static Kind, Option<&Node>), Located> {
    let unknown = |name: &str| NetworkProblem::UnknownLayer {
        name: name.to_string(),
        help: kinds::help_for(name),
    };
    match &node.content {
        Content::Text(name) => match kinds::find(name) {
            Some(kind) => Ok((kind, None)),
            None => Err(unknown(name).at(node.span.clone())),
        },
        Content::Table(entries) => {
            if let Some(layer) = node.get("layer") {
                let name = layer.text("layer")?;
                let kind = kinds::find(name);
                let kind = kind.ok_or_else(|| unknown(name).at(layer.span.clone()))?;
                return Ok((kind, node.get(kind.name)));
            }
            let mut found = entries
                .iter()
                .filter_map(|e| Some((e, kinds::find(&e.key)?)));
            match (found.next(), found.next()) {
                (Some((first, _)), Some((second, _))) => Err(NetworkProblem::TwoKinds {
                    first: first.key.clone(),
                    second: second.key.clone(),
                }
                .at(second.span.clone())),
                (Some((entry, kind)), None) => Ok((kind, Some(&entry.value))),
                (None, _) => Err(match kinds::misspelt(entries) {
                    Some(entry) => unknown(&entry.key).at(entry.span.clone()),
                    None => NetworkProblem::NoKind {
                        help: kinds::names(),
                    }
                    .at(node.span.clone()),
                }),
            }
        }
        _ => Err(NetworkProblem::NotALayer.at(node.span.clone())),
    }
}

/// Whether a layer groups others, and may have an empty name: they are then part of the list around it.
pub(super) fn is_group(node: &Node) -> bool {
    kind_of(node).is_ok_and(|(kind, _)| matches!(kind.main, MainValue::Layers(_)))
}

/// The name of a group of layers, which may be empty.
pub(super) fn group_name(node: &Node) -> Result<&str, Located> {
    match node.as_text() {
        Some("") => Ok(""),
        _ => layer_name(node),
    }
}

/// A layer's name: a part of the paths of its parameters.
pub(super) fn layer_name(node: &Node) -> Result<&str, Located> {
    const LONGEST: usize = 64;
    let name = node.text("name")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.len() <= LONGEST && name.chars().all(fits) {
        true => Ok(name),
        false => Err(node.wrong(
            "name",
            format!("1 to {LONGEST} letters, digits, `_` or `-`"),
        )),
    }
}
