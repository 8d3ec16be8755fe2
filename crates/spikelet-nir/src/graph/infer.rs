//! The shapes of all nodes.
//!
//! Shapes are computed from the Inputs and from the parameters that determine them, along the edges; cycles need
//! nothing special, since a neuron has the shape of its parameters. What a file says of computed shapes
//! (`input_shape`, `input_type`, the shape of an Output) is compared, and used only where nothing else is known. Another
//! shape is an error, or a warning where exporters are known to write it: the package `nir` infers wrong shapes behind
//! oblong kernels and for groups, and exporters write time and batch.

use std::collections::{BTreeMap, VecDeque};

use super::expand::ExpandedGraph;
use super::forward::{output, own_input, own_rank};
use super::sizes::Sizes;
use super::warning::Warning;
use super::{Node, NodeKind};
use crate::graph::error::{ErrorKind, Result};

/// The shapes of a node, without time and batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeShape {
    /// The shape of the sum of what comes in.
    pub input: Vec<usize>,
    /// The shape of what goes out.
    pub output: Vec<usize>,
}

/// The shapes of all nodes that have one, by path.
pub(super) fn infer(
    graph: &ExpandedGraph<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<BTreeMap<String, NodeShape>> {
    let mut inference = Inference::new(graph);
    for at in 0..inference.nodes.len() {
        let (path, node) = inference.nodes[at];
        if let Some(shape) = own_input(&node.kind) {
            inference.set(at, shape);
        } else if let NodeKind::Input { shape } = &node.kind
            && inference.sources[at].is_empty()
        {
            let shape = inference.without_batch(at, shape, path, warnings);
            inference.set(at, shape);
        }
    }
    inference.propagate()?;
    for at in 0..inference.nodes.len() {
        if inference.inputs[at].is_none()
            && let Some(shape) = declared_input(&inference.nodes[at].1.kind)
        {
            inference.set(at, shape);
            inference.propagate()?;
        }
    }
    inference.compare(warnings)?;
    Ok(inference.shapes())
}

struct Inference<'a> {
    nodes: Vec<(&'a str, &'a Node)>,
    sources: Vec<Vec<usize>>,
    targets: Vec<Vec<usize>>,
    /// The inputs that are known.
    inputs: Vec<Option<Vec<usize>>>,
    /// The outputs that are known.
    outputs: Vec<Option<Vec<usize>>>,
    /// Nodes whose input is known and whose output is not.
    queue: VecDeque<usize>,
}

impl<'a> Inference<'a> {
    fn new(graph: &'a ExpandedGraph<'_>) -> Self {
        let nodes: Vec<(&str, &Node)> = graph
            .nodes
            .iter()
            .map(|(path, node)| (path.as_str(), *node))
            .collect();
        let place = |path: &str| nodes.binary_search_by_key(&path, |&(path, _)| path).ok();
        let (mut sources, mut targets) = (vec![vec![]; nodes.len()], vec![vec![]; nodes.len()]);
        for edge in &graph.edges {
            if let (Some(from), Some(to)) = (place(&edge.from), place(&edge.to)) {
                targets[from].push(to);
                sources[to].push(from);
            }
        }
        Self {
            inputs: vec![None; nodes.len()],
            outputs: vec![None; nodes.len()],
            nodes,
            sources,
            targets,
            queue: VecDeque::new(),
        }
    }

    fn set(&mut self, at: usize, input: Vec<usize>) {
        self.inputs[at] = Some(input);
        self.queue.push_back(at);
    }

    fn propagate(&mut self) -> Result<()> {
        while let Some(at) = self.queue.pop_front() {
            let (path, node) = self.nodes[at];
            let Some(input) = &self.inputs[at] else {
                continue;
            };
            let shape = output(node, input).map_err(|(problem, help)| {
                let node = path.to_owned();
                ErrorKind::Node {
                    node,
                    problem,
                    help,
                }
            })?;
            for target in self.targets[at].clone() {
                match &self.inputs[target] {
                    None => self.set(target, shape.clone()),
                    Some(known) if *known == shape => {}
                    Some(known) => return Err(self.mismatch(at, &shape, target, known)),
                }
            }
            self.outputs[at] = Some(shape);
        }
        Ok(())
    }

    fn mismatch(
        &self,
        from: usize,
        output: &[usize],
        to: usize,
        input: &[usize],
    ) -> crate::graph::Error {
        ErrorKind::ShapeMismatch {
            from: self.nodes[from].0.into(),
            output: output.to_vec(),
            to: self.nodes[to].0.into(),
            input: input.to_vec(),
        }
        .into()
    }

    /// The shape of an Input without the leading axes that no node behind it takes: time and batch.
    fn without_batch(
        &self,
        at: usize,
        shape: &[usize],
        path: &str,
        warnings: &mut Vec<Warning>,
    ) -> Vec<usize> {
        let kinds = self.targets[at]
            .iter()
            .map(|&target| &self.nodes[target].1.kind);
        let fits = |kind: &NodeKind| {
            let start = shape.len().checked_sub(own_rank(kind)?)?;
            let fits = own_input(kind).is_none_or(|own| own == shape[start..]);
            fits.then_some(start)
        };
        let start = kinds.filter_map(fits).min().unwrap_or(0);
        if start > 0 {
            let problem = format!(
                "the shape {shape:?} has time or batch in front; {:?} is used",
                &shape[start..]
            );
            warnings.push(Warning::new(path, problem));
        }
        shape[start..].to_vec()
    }

    /// Compares what the file says of computed shapes.
    fn compare(&self, warnings: &mut Vec<Warning>) -> Result<()> {
        let is_wrong_in_nir = self.nodes.iter().any(|(_, node)| is_oblong(&node.kind));
        for (at, &(path, node)) in self.nodes.iter().enumerate() {
            let Some(input) = &self.inputs[at] else {
                let problem = "its shape is unknown: no Input leads to it";
                warnings.push(Warning::new(path, problem));
                continue;
            };
            let Some(declared) = declared_input(&node.kind).filter(|declared| declared != input)
            else {
                continue;
            };
            if let NodeKind::Input { .. } | NodeKind::Output { .. } = &node.kind {
                let Some(&source) = self.sources[at].first() else {
                    continue;
                };
                if !may_mean(&declared, input) {
                    return Err(self.mismatch(source, input, at, &declared));
                }
            }
            if let NodeKind::Conv1d(conv) | NodeKind::Conv2d(conv) = &node.kind
                && declared.len() == input.len()
                && conv.groups == 1
                && !is_wrong_in_nir
            {
                return Err(ErrorKind::Node {
                    node: path.to_owned(),
                    problem: format!(
                        "`input_shape` says that its input is {declared:?}; {input:?} comes in"
                    ),
                    help: "correct `input_shape`, the shape of the Input, or a layer before this one",
                }
                .into());
            }
            let problem = format!(
                "the file says that its input is {declared:?}; {input:?} comes in, and is used"
            );
            warnings.push(Warning::new(path, problem));
        }
        Ok(())
    }

    fn shapes(self) -> BTreeMap<String, NodeShape> {
        let shapes = self.inputs.into_iter().zip(self.outputs);
        let nodes = self.nodes.into_iter().zip(shapes);
        let known = nodes.filter_map(|((path, _), (input, output))| {
            let (input, output) = (input?, output?);
            Some((path.to_owned(), NodeShape { input, output }))
        });
        known.collect()
    }
}

/// Whether `nir` infers wrong shapes behind a node: it has groups, or a window whose sides differ.
fn is_oblong(kind: &NodeKind) -> bool {
    match kind {
        NodeKind::Conv1d(conv) | NodeKind::Conv2d(conv) => {
            let kernel = conv.weight.shape().get(2..).unwrap_or_default();
            conv.groups != 1 || kernel.iter().any(|side| Some(side) != kernel.first())
        }
        NodeKind::SumPool2d(pool) | NodeKind::AvgPool2d(pool) => match &pool.kernel_size {
            Sizes::All(_) => false,
            Sizes::Each(sides) => sides.iter().any(|side| Some(side) != sides.first()),
        },
        _ => false,
    }
}

/// Whether a shape in a file may be meant for another one: it has time or batch in front, the same elements, or the
/// sizes of axes that `nir` infers wrongly.
fn may_mean(declared: &[usize], shape: &[usize]) -> bool {
    let count = |shape: &[usize]| {
        shape
            .iter()
            .try_fold(1_usize, |n, &size| n.checked_mul(size))
    };
    let is_image = shape.len() > 1 && shape.len() == declared.len();
    declared.ends_with(shape)
        || (count(declared).is_some() && count(declared) == count(shape))
        || (is_image && declared[0] == shape[0])
}

/// What the file says of the input of a node whose parameters do not determine it.
fn declared_input(kind: &NodeKind) -> Option<Vec<usize>> {
    match kind {
        NodeKind::Input { shape } | NodeKind::Output { shape } => Some(shape.clone()),
        NodeKind::Flatten(flatten) => flatten.input_type.clone(),
        NodeKind::Conv1d(conv) | NodeKind::Conv2d(conv) => {
            let &[_, per_group, ref kernel @ ..] = conv.weight.shape() else {
                return None;
            };
            let channels = per_group.checked_mul(usize::try_from(conv.groups).ok()?)?;
            let sizes = match &conv.input_shape {
                Sizes::All(size) => vec![*size; kernel.len()],
                Sizes::Each(sizes) => sizes.clone(),
            };
            let sizes = sizes.into_iter().map(|size| usize::try_from(size).ok());
            let sizes = sizes.collect::<Option<Vec<usize>>>()?;
            Some([&[channels][..], &sizes].concat())
        }
        _ => None,
    }
}
