//! A tree of HDF5 as a graph. A node has exactly the parameters of its type.

use super::layers::{Affine, Conv, Delay, Flatten, Linear, Pool, Scale, Threshold};
use super::metadata::{Metadata, MetadataValue};
use super::neurons::{CubaLi, CubaLif, If, Integrator, Li, Lif};
use super::sizes::{Padding, Sizes};
use super::{Edge, Graph, Node, NodeKind};
use crate::graph::error::{ErrorKind, Result};
use crate::hdf5::{Item, Members, Root, Text};
use spikelet_weights::{ErrorKind as FileError, Tensor};

const FORMAT: &str = "NIR";

/// The types of nodes, for messages.
const TYPES: &str = "Input, Output, Affine, Linear, Scale, Conv1d, Conv2d, SumPool2d, AvgPool2d, Flatten, I, IF, LI, \
                     LIF, CubaLI, CubaLIF, Delay, Threshold, NIRGraph";

/// The graph of a file.
pub(super) fn graph(root: Root, depth: usize) -> Result<Graph> {
    let Some(node) = root.node else {
        if root.kind.as_deref() == Some("NIRGraphData") {
            return Err(ErrorKind::File(FileError::Format {
                found: "recorded data of a graph (NIRGraphData, written by nir.write_data)".into(),
                expected: "a NIR graph",
                help: "write the graph itself with nir.write",
            })
            .into());
        }
        let has: Vec<&str> = root.names.iter().take(8).map(String::as_str).collect();
        return Err(ErrorKind::File(FileError::Damaged {
            format: FORMAT,
            place: "/".into(),
            problem: format!(
                "the group `node` is missing; the file has: {}",
                has.join(", ")
            ),
            help: "this HDF5 file is not a NIR graph; write one with nir.write",
        })
        .into());
    };
    match self::node(node, "", depth)? {
        Node {
            kind: NodeKind::Graph(graph),
            ..
        } => Ok(graph),
        node => Err(ErrorKind::Node {
            node: "/".into(),
            problem: format!(
                "the root is of type {}; expected NIRGraph",
                node.kind.name()
            ),
            help: "put the node between an Input and an Output in a graph",
        }
        .into()),
    }
}

/// The node of an object, at a path that is empty for the root.
fn node(item: Item, path: &str, depth: usize) -> Result<Node> {
    let mut members = Parameters::new(item, path)?;
    let kind = members.take("type", "a string")?;
    let kind = match kind {
        Item::Text(Text { values, .. }) if values.len() == 1 => values.concat(),
        other => {
            let problem = format!("`type` is {}; expected a string", other.describe());
            return Err(members.error(problem, "write the file again with nir.write"));
        }
    };
    let kind = match kind.as_str() {
        "Input" => NodeKind::Input {
            shape: members.shape("shape")?,
        },
        "Output" => NodeKind::Output {
            shape: members.shape("shape")?,
        },
        "Affine" => NodeKind::Affine(Affine {
            weight: members.tensor("weight")?,
            bias: members.tensor("bias")?,
        }),
        "Linear" => NodeKind::Linear(Linear {
            weight: members.tensor("weight")?,
        }),
        "Scale" => NodeKind::Scale(Scale {
            scale: members.tensor("scale")?,
        }),
        "Conv1d" => NodeKind::Conv1d(members.conv()?),
        "Conv2d" => NodeKind::Conv2d(members.conv()?),
        "SumPool2d" => NodeKind::SumPool2d(members.pool()?),
        "AvgPool2d" => NodeKind::AvgPool2d(members.pool()?),
        "Flatten" => NodeKind::Flatten(Flatten {
            start_dim: members.optional_integer("start_dim")?.unwrap_or(1),
            end_dim: members.optional_integer("end_dim")?.unwrap_or(-1),
            input_type: match members.has("input_type") {
                true => Some(members.shape("input_type")?),
                false => None,
            },
        }),
        "I" => NodeKind::I(Integrator {
            r: members.tensor("r")?,
        }),
        "IF" => NodeKind::If(If {
            r: members.tensor("r")?,
            v_threshold: members.tensor("v_threshold")?,
            v_reset: members.optional_tensor("v_reset")?,
        }),
        "LI" => NodeKind::Li(Li {
            tau: members.tensor("tau")?,
            r: members.tensor("r")?,
            v_leak: members.tensor("v_leak")?,
        }),
        "LIF" => NodeKind::Lif(Lif {
            tau: members.tensor("tau")?,
            r: members.tensor("r")?,
            v_leak: members.tensor("v_leak")?,
            v_threshold: members.tensor("v_threshold")?,
            v_reset: members.optional_tensor("v_reset")?,
        }),
        "CubaLI" => NodeKind::CubaLi(CubaLi {
            tau_syn: members.tensor("tau_syn")?,
            tau_mem: members.tensor("tau_mem")?,
            r: members.tensor("r")?,
            v_leak: members.tensor("v_leak")?,
            w_in: members.optional_tensor("w_in")?,
        }),
        "CubaLIF" => NodeKind::CubaLif(CubaLif {
            tau_syn: members.tensor("tau_syn")?,
            tau_mem: members.tensor("tau_mem")?,
            r: members.tensor("r")?,
            v_leak: members.tensor("v_leak")?,
            v_threshold: members.tensor("v_threshold")?,
            v_reset: members.optional_tensor("v_reset")?,
            w_in: members.optional_tensor("w_in")?,
        }),
        "Delay" => NodeKind::Delay(Delay {
            delay: members.tensor("delay")?,
        }),
        "Threshold" => NodeKind::Threshold(Threshold {
            threshold: members.tensor("threshold")?,
        }),
        "NIRGraph" => NodeKind::Graph(members.graph(depth)?),
        unknown => {
            let known = format!("the type `{unknown}` is unknown; NIR has {TYPES}");
            return Err(members.error(known, "replace the node by one of these types"));
        }
    };
    let metadata = members.metadata()?;
    members.finish(kind.name())?;
    Ok(match kind {
        NodeKind::Graph(graph) => NodeKind::Graph(Graph { metadata, ..graph }).into(),
        kind => Node { kind, metadata },
    })
}

/// The members of a node that are not read yet.
struct Parameters<'a> {
    path: &'a str,
    members: Members,
    /// The names of all members, for messages.
    names: String,
}

impl<'a> Parameters<'a> {
    fn new(item: Item, path: &'a str) -> Result<Self> {
        match item {
            Item::Group(members) => {
                let names: Vec<&str> = members.keys().take(16).map(String::as_str).collect();
                let names = names.join(", ");
                Ok(Self {
                    path,
                    members,
                    names,
                })
            }
            other => {
                let own = Self {
                    path,
                    members: Members::new(),
                    names: String::new(),
                };
                let problem = format!("this is {}; expected a group", other.describe());
                Err(own.error(problem, "write the file again with nir.write"))
            }
        }
    }

    fn error(&self, problem: String, help: &'static str) -> crate::graph::Error {
        let node = match self.path {
            "" => "/".into(),
            path => path.into(),
        };
        ErrorKind::Node {
            node,
            problem,
            help,
        }
        .into()
    }

    fn wrong(&self, name: &str, found: &Item, expected: &str) -> crate::graph::Error {
        let problem = format!("`{name}` is {}; expected {expected}", found.describe());
        self.error(problem, "correct the parameter and write the file again")
    }

    fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    fn take(&mut self, name: &str, expected: &str) -> Result<Item> {
        self.members.remove(name).ok_or_else(|| {
            let problem = format!(
                "`{name}` ({expected}) is missing; the node has: {}",
                self.names
            );
            self.error(problem, "write the file again with nir.write")
        })
    }

    fn tensor(&mut self, name: &str) -> Result<Tensor> {
        match self.take(name, "numbers")? {
            Item::Tensor(tensor) => Ok(tensor),
            other => Err(self.wrong(name, &other, "numbers")),
        }
    }

    fn optional_tensor(&mut self, name: &str) -> Result<Option<Tensor>> {
        match self.has(name) {
            true => self.tensor(name).map(Some),
            false => Ok(None),
        }
    }

    fn integers(&mut self, name: &str) -> Result<(Vec<i64>, usize)> {
        let tensor = self.tensor(name)?;
        let values = match tensor.dtype().is_integer() && tensor.shape().len() < 2 {
            true => tensor.to_i64(),
            false => None,
        };
        let rank = tensor.shape().len();
        let values = values.map(|values| (values, rank));
        values.ok_or_else(|| self.wrong(name, &Item::Tensor(tensor), "integers"))
    }

    fn optional_integer(&mut self, name: &str) -> Result<Option<i64>> {
        match self.has(name) {
            true => self.integer(name).map(Some),
            false => Ok(None),
        }
    }

    fn integer(&mut self, name: &str) -> Result<i64> {
        match self.integers(name)?.0[..] {
            [value] => Ok(value),
            ref values => {
                let problem = format!("`{name}` is {values:?}; expected an integer");
                Err(self.error(problem, "correct the parameter and write the file again"))
            }
        }
    }

    fn shape(&mut self, name: &str) -> Result<Vec<usize>> {
        let (values, _) = self.integers(name)?;
        let sizes = values.iter().map(|&size| usize::try_from(size));
        sizes.collect::<Result<_, _>>().map_err(|_| {
            let problem = format!("`{name}` is {values:?}; expected sizes of at least 0");
            self.error(problem, "correct the shape and write the file again")
        })
    }

    fn sizes(&mut self, name: &str) -> Result<Sizes> {
        match self.integers(name)? {
            (values, 0) if values.len() == 1 => Ok(Sizes::All(values[0])),
            (values, _) => Ok(Sizes::Each(values)),
        }
    }

    fn conv(&mut self) -> Result<Conv> {
        let padding = match self.members.get("padding") {
            Some(Item::Text(Text { values, .. })) => {
                let word = match values.as_slice() {
                    [word] if word == "same" => Some(Padding::Same),
                    [word] if word == "valid" => Some(Padding::Valid),
                    _ => None,
                };
                word.ok_or_else(|| {
                    let given: Vec<&str> = values.iter().take(4).map(String::as_str).collect();
                    let problem = format!(
                        "`padding` is `{}`; expected `same`, `valid` or integers",
                        given.join(" ")
                    );
                    self.error(problem, "NIR pads with zeros only: give their numbers")
                })
            }
            _ => self.sizes("padding").map(Padding::Sizes),
        }?;
        self.members.remove("padding");
        Ok(Conv {
            input_shape: self.sizes("input_shape")?,
            weight: self.tensor("weight")?,
            stride: self.sizes("stride")?,
            padding,
            dilation: self.sizes("dilation")?,
            groups: self.integer("groups")?,
            bias: self.tensor("bias")?,
        })
    }

    fn pool(&mut self) -> Result<Pool> {
        Ok(Pool {
            kernel_size: self.sizes("kernel_size")?,
            stride: self.sizes("stride")?,
            padding: self.sizes("padding")?,
        })
    }

    fn graph(&mut self, depth: usize) -> Result<Graph> {
        let Some(depth) = depth.checked_sub(1) else {
            let problem = "graphs are nested too deep".into();
            return Err(self.error(problem, "raise `Limits::depth`"));
        };
        let nodes = match self.take("nodes", "a group")? {
            Item::Group(nodes) => nodes,
            other => return Err(self.wrong("nodes", &other, "a group")),
        };
        let edges = match self.take("edges", "pairs of names")? {
            Item::Text(Text { shape, values }) if shape.len() == 2 && shape[1] == 2 => values,
            Item::Text(Text { values, .. }) if values.is_empty() => values,
            Item::Tensor(tensor) if tensor.is_empty() => vec![],
            other => {
                return Err(self.wrong("edges", &other, "strings of shape [number of edges, 2]"));
            }
        };
        let mut graph = Graph::default();
        for (name, item) in nodes {
            let path = format!(
                "{}{}{name}",
                self.path,
                if self.path.is_empty() { "" } else { "/" }
            );
            let node = node(item, &path, depth)?;
            graph.nodes.insert(name, node);
        }
        let (edges, _) = edges.as_chunks::<2>();
        let edges = edges.iter().map(|[from, to]| Edge::new(from, to));
        graph.edges.extend(edges);
        Ok(graph)
    }

    fn metadata(&mut self) -> Result<Metadata> {
        match self.members.remove("metadata") {
            None => Ok(Metadata::new()),
            Some(Item::Group(members)) => self.metadata_of(members),
            Some(other) => Err(self.wrong("metadata", &other, "a group")),
        }
    }

    fn metadata_of(&self, members: Members) -> Result<Metadata> {
        let value = |(name, item)| {
            let value = match item {
                Item::Text(Text { shape, values }) => match shape.is_empty() {
                    true => MetadataValue::Text(values.concat()),
                    false => MetadataValue::Texts { shape, values },
                },
                Item::Tensor(tensor) => MetadataValue::Tensor(tensor),
                Item::Group(members) => MetadataValue::Group(self.metadata_of(members)?),
                Item::Unsupported(what) => {
                    let problem = format!(
                        "the metadata `{name}` is {what}; expected text, numbers or groups"
                    );
                    return Err(self.error(problem, "remove it, or store it as text"));
                }
            };
            Ok((name, value))
        };
        members.into_iter().map(value).collect()
    }

    /// Checks that nothing is left.
    fn finish(self, kind: &str) -> Result<()> {
        match self.members.first_key_value() {
            None => Ok(()),
            Some((name, item)) => {
                let problem = format!(
                    "`{name}` ({}) is not a parameter of {kind}",
                    item.describe()
                );
                Err(self.error(problem, "remove it, or store it as metadata"))
            }
        }
    }
}
