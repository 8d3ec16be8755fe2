//! Nodes: a kind with its parameters, and metadata.

use super::Graph;
use super::layers::{Affine, Conv, Delay, Flatten, Linear, Pool, Scale, Threshold};
use super::metadata::Metadata;
use super::neurons::{CubaLi, CubaLif, If, Integrator, Li, Lif};
use super::sizes::{Padding, Sizes};
use spikelet_weights::Tensor;

/// A node of a [`Graph`].
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What the node computes.
    pub kind: NodeKind,
    /// What else is known about it; that of a graph is [`Graph::metadata`].
    pub metadata: Metadata,
}

/// All types of nodes. Shapes are without time and batch.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the types of the fields have it")]
pub enum NodeKind {
    /// Where sequences of this shape come in.
    Input {
        shape: Vec<usize>,
    },
    /// Where sequences of this shape go out.
    Output {
        shape: Vec<usize>,
    },
    Affine(Affine),
    Linear(Linear),
    Scale(Scale),
    /// `[in, N]` → `[out, N']`.
    Conv1d(Conv),
    /// `[in, H, W]` → `[out, H', W']`.
    Conv2d(Conv),
    SumPool2d(Pool),
    AvgPool2d(Pool),
    Flatten(Flatten),
    I(Integrator),
    If(If),
    Li(Li),
    Lif(Lif),
    CubaLi(CubaLi),
    CubaLif(CubaLif),
    Delay(Delay),
    Threshold(Threshold),
    /// A graph in the graph, with one Input and one Output.
    Graph(Graph),
}

/// A parameter of a node, as a file has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Parameter<'a> {
    /// Numbers.
    Tensor(&'a Tensor),
    /// Sizes of axes.
    Sizes(&'a Sizes),
    /// A shape.
    Shape(&'a [usize]),
    /// An integer.
    Integer(i64),
    /// A word.
    Text(&'static str),
}

impl NodeKind {
    /// The type in files.
    ///
    /// ```
    /// use spikelet_nir::NodeKind;
    ///
    /// assert_eq!(NodeKind::Input { shape: vec![3] }.name(), "Input");
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Input { .. } => "Input",
            Self::Output { .. } => "Output",
            Self::Affine(_) => "Affine",
            Self::Linear(_) => "Linear",
            Self::Scale(_) => "Scale",
            Self::Conv1d(_) => "Conv1d",
            Self::Conv2d(_) => "Conv2d",
            Self::SumPool2d(_) => "SumPool2d",
            Self::AvgPool2d(_) => "AvgPool2d",
            Self::Flatten(_) => "Flatten",
            Self::I(_) => "I",
            Self::If(_) => "IF",
            Self::Li(_) => "LI",
            Self::Lif(_) => "LIF",
            Self::CubaLi(_) => "CubaLI",
            Self::CubaLif(_) => "CubaLIF",
            Self::Delay(_) => "Delay",
            Self::Threshold(_) => "Threshold",
            Self::Graph(_) => "NIRGraph",
        }
    }

    /// Whether the node is a neuron: it has a potential, and perhaps a current.
    #[must_use]
    pub fn is_neuron(&self) -> bool {
        matches!(
            self,
            Self::I(_)
                | Self::If(_)
                | Self::Li(_)
                | Self::Lif(_)
                | Self::CubaLi(_)
                | Self::CubaLif(_)
        )
    }

    /// Whether the output depends on earlier inputs: a cycle needs such a node.
    #[must_use]
    pub fn has_state(&self) -> bool {
        self.is_neuron() || matches!(self, Self::Delay(_))
    }

    /// All parameters that are set, by name; none of a graph.
    #[must_use]
    pub fn parameters(&self) -> Vec<(&'static str, Parameter<'_>)> {
        use Parameter::{Integer, Shape, Tensor};
        let mut parameters = match self {
            Self::Input { shape } | Self::Output { shape } => vec![("shape", Shape(shape))],
            Self::Affine(affine) => vec![
                ("weight", Tensor(&affine.weight)),
                ("bias", Tensor(&affine.bias)),
            ],
            Self::Linear(linear) => vec![("weight", Tensor(&linear.weight))],
            Self::Conv1d(conv) | Self::Conv2d(conv) => vec![
                ("input_shape", Parameter::Sizes(&conv.input_shape)),
                ("weight", Tensor(&conv.weight)),
                ("stride", Parameter::Sizes(&conv.stride)),
                ("padding", padding(&conv.padding)),
                ("dilation", Parameter::Sizes(&conv.dilation)),
                ("groups", Integer(conv.groups)),
                ("bias", Tensor(&conv.bias)),
            ],
            Self::SumPool2d(pool) | Self::AvgPool2d(pool) => vec![
                ("kernel_size", Parameter::Sizes(&pool.kernel_size)),
                ("stride", Parameter::Sizes(&pool.stride)),
                ("padding", Parameter::Sizes(&pool.padding)),
            ],
            Self::Flatten(flatten) => {
                let mut parameters = vec![
                    ("start_dim", Integer(flatten.start_dim)),
                    ("end_dim", Integer(flatten.end_dim)),
                ];
                let shape = flatten.input_type.as_deref();
                parameters.extend(shape.map(|shape| ("input_type", Shape(shape))));
                parameters
            }
            _ => vec![],
        };
        let elementwise = self.elementwise_parameters();
        parameters.extend(
            elementwise
                .into_iter()
                .map(|(name, tensor)| (name, Tensor(tensor))),
        );
        parameters
    }

    /// The parameters that have a value for each neuron, or rank 0, by name: those of neurons, Scale, Delay and
    /// Threshold.
    #[must_use]
    pub fn elementwise_parameters(&self) -> Vec<(&'static str, &Tensor)> {
        let (set, optional) = match self {
            Self::Scale(scale) => (vec![("scale", &scale.scale)], vec![]),
            Self::Delay(delay) => (vec![("delay", &delay.delay)], vec![]),
            Self::Threshold(n) => (vec![("threshold", &n.threshold)], vec![]),
            Self::I(n) => (vec![("r", &n.r)], vec![]),
            Self::If(n) => (
                vec![("r", &n.r), ("v_threshold", &n.v_threshold)],
                vec![("v_reset", &n.v_reset)],
            ),
            Self::Li(n) => (
                vec![("tau", &n.tau), ("r", &n.r), ("v_leak", &n.v_leak)],
                vec![],
            ),
            Self::Lif(n) => (
                vec![
                    ("tau", &n.tau),
                    ("r", &n.r),
                    ("v_leak", &n.v_leak),
                    ("v_threshold", &n.v_threshold),
                ],
                vec![("v_reset", &n.v_reset)],
            ),
            Self::CubaLi(n) => (
                vec![
                    ("tau_syn", &n.tau_syn),
                    ("tau_mem", &n.tau_mem),
                    ("r", &n.r),
                    ("v_leak", &n.v_leak),
                ],
                vec![("w_in", &n.w_in)],
            ),
            Self::CubaLif(n) => (
                vec![
                    ("tau_syn", &n.tau_syn),
                    ("tau_mem", &n.tau_mem),
                    ("r", &n.r),
                    ("v_leak", &n.v_leak),
                    ("v_threshold", &n.v_threshold),
                ],
                vec![("v_reset", &n.v_reset), ("w_in", &n.w_in)],
            ),
            _ => (vec![], vec![]),
        };
        let optional = optional.into_iter();
        let optional = optional.filter_map(|(name, tensor)| Some((name, tensor.as_ref()?)));
        set.into_iter().chain(optional).collect()
    }
}

fn padding(padding: &Padding) -> Parameter<'_> {
    match padding {
        Padding::Sizes(sizes) => Parameter::Sizes(sizes),
        Padding::Same => Parameter::Text("same"),
        Padding::Valid => Parameter::Text("valid"),
    }
}

impl From<NodeKind> for Node {
    fn from(kind: NodeKind) -> Self {
        Self {
            kind,
            metadata: Metadata::new(),
        }
    }
}
