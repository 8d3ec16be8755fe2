//! The keys of a layer in a list: its kind, the value of the kind, its name, and values that many kinds have.

use super::Layers;
use super::kind::{self, Kind, MainValue};
use super::problem::NetworkProblem;
use crate::domain::Domain;
use crate::module::Init;
use spikelet_core::document::{Content, Fields, Located, Node};
use spikelet_schema::Choice;

/// A layer of a list: the value after its kind, and its other keys.
pub(crate) struct LayerFields<'a> {
    pub kind: &'static Kind,
    /// The value of the key with the name of the kind.
    pub main: Option<&'a Node>,
    pub fields: Fields<'a>,
}

impl<'a> LayerFields<'a> {
    /// The name of the kind.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// The value of the kind's key, which was checked to be there.
    pub fn main(&self) -> Result<&'a Node, Located> {
        self.main.ok_or_else(|| {
            let problem = NetworkProblem::NeedsValue {
                kind: self.name(),
                expected: self.kind.main.expected(),
            };
            problem.at(self.fields.span())
        })
    }

    /// The value of the kind's key as a size.
    pub fn main_size(&self) -> Result<usize, Located> {
        self.main()?.integer(self.name(), 1..=Layers::MAX_SIZE)
    }

    /// Whether a flag is set.
    pub fn flag(&self, key: &str) -> Result<bool, Located> {
        Ok(self.fields.flag(key)?.unwrap_or(false))
    }

    /// A number of a domain.
    pub fn number(&self, key: &str, domain: Domain) -> Result<Option<f64>, Located> {
        let node = self.fields.get(key);
        node.map(|node| number(node, key, domain)).transpose()
    }

    /// The value of a word.
    pub fn choice<T: Choice>(&self, key: &str) -> Result<Option<T>, Located> {
        let Some(node) = self.fields.get(key) else {
            return Ok(None);
        };
        let given = node.choice(key, T::NAMES)?;
        let mut all = T::NAMES.iter().zip(T::ALL);
        Ok(all
            .find(|(name, _)| **name == given)
            .map(|(_, value)| *value))
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

    /// One size for all axes, or a size for each of them; the value of `key`.
    pub fn sizes<const D: usize>(
        &self,
        key: &str,
        least: usize,
    ) -> Result<Option<[usize; D]>, Located> {
        let node = self.fields.get(key);
        node.map(|node| sizes(node, key, least)).transpose()
    }

    /// The same of the kind's key, at least 1.
    pub fn main_sizes<const D: usize>(&self) -> Result<[usize; D], Located> {
        sizes(self.main()?, self.name(), 1)
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
pub(crate) fn interval(node: &Node, key: &str) -> Result<[f64; 2], Located> {
    let wrong = || node.wrong(key, "a list of two numbers, the smaller one first");
    let [low, high] = node.list(key).map_err(|_| wrong())? else {
        return Err(wrong());
    };
    match [low.number(key)?, high.number(key)?] {
        [low, high] if low <= high => Ok([low, high]),
        _ => Err(wrong()),
    }
}

/// One size for all axes, or a size for each of them.
fn sizes<const D: usize>(node: &Node, key: &str, least: usize) -> Result<[usize; D], Located> {
    let most = Layers::MAX_SIZE;
    let expected = match D {
        1 => format!("an integer from {least} to {most}"),
        _ => format!("an integer from {least} to {most}, or a list of {D} of them"),
    };
    let wrong = || node.wrong(key, expected.clone());
    let read = |node: &Node| node.integer(key, least..=most);
    let made: Result<Vec<usize>, _> = match &node.content {
        Content::List(items) if items.len() == D => items.iter().map(read).collect(),
        _ => read(node).map(|size| vec![size; D]),
    };
    made.map_err(|_| wrong())?.try_into().map_err(|_| wrong())
}

/// Checks that the value of `node` divides a size of the input: `what` divide the size and its name.
pub(crate) fn expect_divisor(
    node: Option<&Node>,
    (parts, what): (usize, &'static str),
    (size, name): (usize, &str),
) -> Result<(), Located> {
    if size.is_multiple_of(parts) {
        return Ok(());
    }
    let whole = format!("the {size} {name}");
    let problem = NetworkProblem::Divisor { what, parts, whole };
    Err(problem.at(node.and_then(|node| node.span.clone())))
}

/// A number of a domain.
pub(crate) fn number(node: &Node, key: &str, domain: Domain) -> Result<f64, Located> {
    let value = node.number(key)?;
    match domain.contains(value) {
        true => Ok(value),
        false => Err(node.wrong(key, domain.to_string())),
    }
}

/// The keys of a layer within another one, which has no name and is not built by itself.
pub(crate) fn inner_layer(node: &Node) -> Result<LayerFields<'_>, Located> {
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
    let mut known = vec![kind.name()];
    known.extend(kind.keys.iter().map(|key| key.name));
    known.extend(named.then_some("name"));
    known.extend(node.get("layer").map(|_| "layer"));
    let owner = format!("`{}`", kind.name());
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
            let problem = NetworkProblem::TakesNoValue { kind: kind.name() };
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
        help: kind::help_for(name),
    };
    match &node.content {
        Content::Text(name) => match kind::find(name) {
            Some(kind) => Ok((kind, None)),
            None => Err(unknown(name).at(node.span.clone())),
        },
        Content::Table(entries) => {
            if let Some(layer) = node.get("layer") {
                let name = layer.text("layer")?;
                let kind = kind::find(name);
                let kind = kind.ok_or_else(|| unknown(name).at(layer.span.clone()))?;
                return Ok((kind, node.get(kind.name())));
            }
            let mut found = entries
                .iter()
                .filter_map(|e| Some((e, kind::find(&e.key)?)));
            match (found.next(), found.next()) {
                (Some((first, _)), Some((second, _))) => Err(NetworkProblem::TwoKinds {
                    first: first.key.clone(),
                    second: second.key.clone(),
                }
                .at(second.span.clone())),
                (Some((entry, kind)), None) => Ok((kind, Some(&entry.value))),
                (None, _) => Err(match kind::misspelt(entries) {
                    Some(entry) => unknown(&entry.key).at(entry.span.clone()),
                    None => NetworkProblem::NoKind {
                        help: kind::names(),
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
pub(crate) fn group_name(node: &Node) -> Result<&str, Located> {
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
