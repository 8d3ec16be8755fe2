//! The types that keys of layers have beside numbers, flags and words.

use super::build::Builder;
use super::kind;
use super::neuron::{neuron_of, neuron_problem, neuron_spec};
use crate::module::Init;
use crate::neuron::Neuron;
use serde_json::{Value, json};
use spikelet_core::document::{Content, Fields, Located, Node};
use spikelet_schema::{Domain, Field, FieldValue, Kind, markdown};
use std::ops::Deref;
use std::sync::Arc;

/// A size for all axes, or one for each axis.
#[derive(Clone, Debug)]
pub(crate) enum AxisSizes {
    /// The size for all axes.
    All(usize),
    /// A list, with its field and its value in the file: the number of axes is that of the input.
    Each(Vec<usize>, Box<(Field, Node)>),
}

impl AxisSizes {
    /// The sizes for `D` axes.
    pub fn axes<const D: usize>(&self) -> Result<[usize; D], Located> {
        match self {
            Self::All(size) => Ok([*size; D]),
            Self::Each(sizes, given) => sizes[..].try_into().map_err(|_| {
                let (field, node) = &**given;
                let expected = match D {
                    1 => size_of(field).to_string(),
                    _ => format!("{}, or a list of {D} of them", size_of(field)),
                };
                node.wrong(field.key, expected)
            }),
        }
    }
}

/// The domain of a size.
fn size_of(field: &Field) -> Domain {
    field.domain.unwrap_or(Domain::at_least(0.0)).integers()
}

impl Default for AxisSizes {
    fn default() -> Self {
        Self::All(1)
    }
}

impl FieldValue for AxisSizes {
    fn kind() -> Kind {
        Kind::Other(
            "a whole number, or a list of one for each axis",
            || json!({"type": ["integer", "array"]}),
        )
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        let read = |node: &Node| {
            let mut size = 0_usize;
            size.read(field, node).map(|()| size)
        };
        let made = match &node.content {
            Content::List(items) => {
                let sizes = items.iter().map(read).collect::<Result<_, _>>();
                sizes.map(|sizes| Self::Each(sizes, Box::new((field.clone(), node.clone()))))
            }
            _ => read(node).map(Self::All),
        };
        let expected = || format!("{}, or a list of one for each axis", size_of(field));
        *self = made.map_err(|_| node.wrong(field.key, expected()))?;
        Ok(())
    }

    fn write(&self) -> Value {
        match self {
            Self::All(size) => json!(size),
            Self::Each(sizes, _) => json!(sizes),
        }
    }

    fn numbers(&self) -> Vec<f64> {
        match self {
            Self::All(size) => vec![*size as f64],
            Self::Each(sizes, _) => sizes.iter().map(|size| *size as f64).collect(),
        }
    }
}

/// Two numbers, of which the second is not smaller.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Interval(pub [f64; 2]);

impl Interval {
    fn of(node: &Node, key: &str) -> Result<Self, Located> {
        let wrong = || node.wrong(key, "a list of two numbers, the smaller one first");
        let [low, high] = node.list(key).map_err(|_| wrong())? else {
            return Err(wrong());
        };
        match [low.number(key)?, high.number(key)?] {
            [low, high] if low <= high => Ok(Self([low, high])),
            _ => Err(wrong()),
        }
    }
}

impl FieldValue for Interval {
    fn kind() -> Kind {
        <[f64; 2]>::kind()
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        *self = Self::of(node, field.key)?;
        Ok(())
    }

    fn write(&self) -> Value {
        json!(self.0)
    }

    fn numbers(&self) -> Vec<f64> {
        self.0.to_vec()
    }
}

/// The distribution of initial weights.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum WeightInit {
    /// PyTorch's default: `"fan-in"`.
    #[default]
    FanIn,
    /// `"kaiming-normal"`
    KaimingNormal,
    /// `{ normal = 0.02 }`
    Normal(f64),
    /// `{ uniform = [0.0, 0.3] }`
    Uniform(Interval),
}

impl WeightInit {
    /// The initialization, unless it is PyTorch's default. `fan_out` is the number of outputs times the size of the window.
    pub fn of(self, fan_out: usize) -> Option<Init> {
        match self {
            Self::FanIn => None,
            Self::KaimingNormal => Some(Init::kaiming_normal(fan_out)),
            Self::Normal(deviation) => Some(Init::Normal { deviation }),
            Self::Uniform(Interval([low, high])) => Some(Init::Between { low, high }),
        }
    }
}

impl FieldValue for WeightInit {
    fn kind() -> Kind {
        Kind::Other(
            "fan-in, kaiming-normal, or a table with `normal` or `uniform`",
            || json!({"type": ["string", "object"]}),
        )
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        let only = |key| Fields::new(node, format!("`{}`", field.key), &[key]);
        *self = match (node.as_text(), node.get("normal"), node.get("uniform")) {
            (Some("fan-in"), ..) => Self::FanIn,
            (Some("kaiming-normal"), ..) => Self::KaimingNormal,
            (_, _, Some(limits)) => {
                only("uniform")?;
                Self::Uniform(Interval::of(limits, "uniform")?)
            }
            (_, Some(deviation), _) => {
                only("normal")?;
                match deviation.number("normal")? {
                    number if number >= 0.0 => Self::Normal(number),
                    _ => return Err(deviation.wrong("normal", "a number of at least 0")),
                }
            }
            _ => {
                let expected = "\"fan-in\", \"kaiming-normal\", { normal = 0.02 } with a standard deviation, or { uniform = [0.0, 0.3] }";
                return Err(node.wrong(field.key, expected));
            }
        };
        Ok(())
    }

    fn write(&self) -> Value {
        match self {
            Self::FanIn => json!("fan-in"),
            Self::KaimingNormal => json!("kaiming-normal"),
            Self::Normal(deviation) => json!({"normal": deviation}),
            Self::Uniform(limits) => json!({"uniform": limits.0}),
        }
    }
}

/// A neuron with its specification; where it is not given, that of the network.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerNeuron(Option<(Arc<dyn Neuron>, Value)>);

impl LayerNeuron {
    /// The neuron; without one, that of the network that is built.
    pub fn neuron(&self, b: &Builder) -> Arc<dyn Neuron> {
        let own = self.0.as_ref().map(|(neuron, _)| neuron);
        own.unwrap_or(&b.neuron).clone()
    }

    /// Its specification, if it is given.
    pub fn spec(&self) -> Option<&Value> {
        self.0.as_ref().map(|(_, spec)| spec)
    }
}

impl FieldValue for LayerNeuron {
    fn kind() -> Kind {
        Arc::<dyn Neuron>::kind()
    }

    fn read(&mut self, _: &Field, node: &Node) -> Result<(), Located> {
        let spec = neuron_spec(node)?;
        let neuron = neuron_of(&spec).map_err(|error| neuron_problem(error, Some(node)))?;
        self.0 = Some((neuron, spec));
        Ok(())
    }

    fn write(&self) -> Value {
        self.spec().cloned().unwrap_or_default()
    }
}

/// The type of a layer.
fn layer() -> Kind {
    Kind::Member {
        family: "layer",
        members: || kind::all().map(|kind| kind.declaration).collect(),
        names: || kind::all().map(|kind| kind.name()).collect(),
    }
}

/// Values that are built or read with what the layer around them knows.
macro_rules! nodes {
    ($($(#[$doc:meta])* $name:ident: $kind:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub(crate) struct $name(Node);

        impl Default for $name {
            fn default() -> Self {
                Self(Content::Null.into())
            }
        }

        impl Deref for $name {
            type Target = Node;

            fn deref(&self) -> &Node {
                &self.0
            }
        }

        impl $name {
            /// The value, if it is given.
            pub fn given(&self) -> Option<&Node> {
                Some(&self.0).filter(|node| node.content != Content::Null)
            }
        }

        impl FieldValue for $name {
            fn kind() -> Kind {
                $kind
            }

            fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
                *self = Self(node.clone());
                match self.given() {
                    Some(_) => Ok(()),
                    None => Err(node.wrong(field.key, markdown::values(field))),
                }
            }

            fn write(&self) -> Value {
                self.0.to_json()
            }
        }
    )*};
}

nodes! {
    /// A list of layers, or a single layer. A layer whose value it is groups them.
    LayerList: Kind::List(Box::new(layer()), None);
    /// A layer, or a list of layers.
    InnerLayer: layer();
    /// A table of constants.
    Constants: Kind::Other("a table", || json!({"type": "object"}));
}
