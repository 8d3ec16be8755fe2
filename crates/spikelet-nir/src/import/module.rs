//! A graph as a module.

use super::super::error::NirError;
use super::super::metadata::Recorded;
use super::super::options::{ImportOptions, Semantics};
use super::part::Part;
use super::schedule::{Schedule, Source, Stage};
use crate::graph::Graph;
use spikelet_core::Result;
use spikelet_graph::{Tensor, Var};
use spikelet_nn::module::{Context, Description, Module, Tree};
use std::collections::BTreeMap;
use std::fmt;

/// The name of the state that holds the output of a node at the step before.
const LAST_OUTPUT: &str = "last_output";

/// A NIR graph as a module: a layer or a neuron for each node, with the name of the node.
///
/// Parameters are called as in the graph: `fc.weight` is `weight` of the node `fc`, `sub/lif.tau` is `tau` of `lif` in the
/// graph `sub`. Nodes in cycles run step by step, as one loop over time; the output of a node that is fed back is its
/// state `last_output`. A context that [watches](spikelet_nn::module::observer::States) has the output of each node as `NODE.out`.
///
/// A graph with one Input and one Output is a [`Module`]; others run with [`GraphModule::run`].
pub struct GraphModule {
    pub(super) nodes: Vec<GraphNode>,
    pub(super) order: Schedule,
    pub(super) inputs: Vec<Port>,
    pub(super) outputs: Vec<Port>,
    pub(super) origin: Origin,
}

/// The graph that a module was imported from.
pub(super) struct Origin {
    pub(super) graph: Graph,
    pub(super) options: ImportOptions,
    pub(super) semantics: Semantics,
}

/// A node with its computation.
pub(super) struct GraphNode {
    pub(super) path: String,
    /// Its type in NIR.
    pub(super) kind: &'static str,
    /// The choices of a neuron.
    pub(super) choices: Option<Recorded>,
    pub(super) part: Part,
    /// The shape of its output, without time and batch.
    pub(super) shape: Vec<usize>,
}

/// An Input or an Output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The position of the node.
    pub(super) index: usize,
    /// The path of the node.
    pub path: String,
    /// The shape of its sequence, without time and batch.
    pub shape: Vec<usize>,
}

impl GraphModule {
    /// The Inputs, in the order of [`GraphModule::run`].
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// The Outputs, in the order of [`GraphModule::run`].
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// The nodes that are no graphs: path and type.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.nodes
            .iter()
            .map(|node| (node.path.as_str(), node.kind))
    }

    /// The paths of the nodes in the order in which they run; those of cycles in their order within a step.
    pub fn execution_order(&self) -> impl Iterator<Item = &str> {
        let nodes = self.order.stages.iter().flat_map(Stage::nodes);
        nodes.map(|&k| self.nodes[k].path.as_str())
    }

    /// The graph that was imported.
    pub(crate) fn graph(&self) -> &Graph {
        &self.origin.graph
    }

    /// How it runs in time steps.
    pub(crate) fn semantics(&self) -> &Semantics {
        &self.origin.semantics
    }

    /// The values of the parameters in the graph, in steps.
    pub(crate) fn imported_tensors(&self) -> Result<BTreeMap<String, Tensor>> {
        let Origin { graph, options, .. } = &self.origin;
        Ok(super::import(graph, options)?.tensors)
    }

    /// The choices of each neuron, by the path of its node.
    pub(crate) fn choices(&self) -> impl Iterator<Item = (&str, &Recorded)> {
        self.nodes
            .iter()
            .filter_map(|node| Some((node.path.as_str(), node.choices.as_ref()?)))
    }

    /// Whether some of its nodes are in cycles.
    pub(crate) fn has_cycles(&self) -> bool {
        self.order
            .stages
            .iter()
            .any(|stage| matches!(stage, Stage::Loop(_)))
    }

    /// Traces the graph: a sequence `[T, N, …]` for each Input, and one for each Output.
    ///
    /// # Errors
    /// [`NirError`] if the number of sequences or a shape is not that of the Inputs; the error of a layer.
    pub fn run(&self, cx: &Context, inputs: &[Var]) -> Result<Vec<Var>> {
        self.check(inputs)?;
        let mut values: Vec<Option<Var>> = vec![None; self.nodes.len()];
        for (port, x) in self.inputs.iter().zip(inputs) {
            values[port.index] = Some(x.clone());
        }
        for stage in &self.order.stages {
            match stage {
                Stage::Node(k) => {
                    let x = match &values[*k] {
                        Some(x) => x.clone(),
                        None => self.sum(*k, |source| values[source.node].clone())?,
                    };
                    values[*k] = Some(self.step(cx, *k, &x)?);
                }
                Stage::Loop(members) => self.run_loop(cx, members, &mut values)?,
            }
        }
        let output = |port: &Port| {
            let value = values[port.index].clone();
            value.ok_or_else(|| self.no_input(port.index).into())
        };
        self.outputs.iter().map(output).collect()
    }

    fn check(&self, inputs: &[Var]) -> Result<(), NirError> {
        let wrong = |input: &str, problem: String, help: &str| NirError::Input {
            input: input.to_string(),
            problem,
            help: help.to_string(),
        };
        for (k, port) in self.inputs.iter().enumerate() {
            let Some(x) = inputs.get(k) else {
                let problem = format!("there is no sequence; {} were given", inputs.len());
                return Err(wrong(&port.path, problem, "give a sequence for each Input"));
            };
            if x.shape().get(2..) != Some(&port.shape) || x.shape()[..2].contains(&0) {
                let problem = format!(
                    "the sequence is {:?}; expected [T, N] and {:?}",
                    x.shape(),
                    port.shape
                );
                return Err(wrong(
                    &port.path,
                    problem,
                    "give [T, N, …]: time steps, samples, …",
                ));
            }
            if x.shape()[..2] != inputs[0].shape()[..2] {
                let problem = format!(
                    "the sequence is {:?}, that of `{}` {:?}",
                    x.shape(),
                    self.inputs[0].path,
                    inputs[0].shape()
                );
                return Err(wrong(
                    &port.path,
                    problem,
                    "give the same T and N to all Inputs",
                ));
            }
        }
        match self.inputs.len() < inputs.len() || inputs.is_empty() {
            true => Err(wrong(
                self.inputs.first().map_or("", |port| &port.path),
                format!(
                    "{} sequences were given for {} Inputs",
                    inputs.len(),
                    self.inputs.len()
                ),
                "give a sequence for each Input of the graph",
            )),
            false => Ok(()),
        }
    }

    /// The computation of a node.
    fn step(&self, cx: &Context, k: usize, x: &Var) -> Result<Var> {
        let node = &self.nodes[k];
        cx.child(&node.path, |cx| {
            let y = node.part.forward(cx, x)?;
            if cx.watches() {
                cx.record("out", &y);
            }
            Ok(y)
        })
    }

    /// The sum of the sources of a node, in the order of its edges.
    fn sum(&self, k: usize, value: impl Fn(Source) -> Option<Var>) -> Result<Var, NirError> {
        let mut sum: Option<Var> = None;
        for &source in &self.order.sources[k] {
            let x = value(source).ok_or_else(|| self.no_input(source.node))?;
            sum = Some(match sum {
                None => x,
                Some(sum) => sum + x,
            });
        }
        sum.ok_or_else(|| self.no_input(k))
    }

    fn no_input(&self, k: usize) -> NirError {
        NirError::node(
            &self.nodes[k].path,
            "no Input leads to it, so that it has no sequence",
            "connect it to an Input, or remove it",
        )
    }

    /// Runs the nodes of cycles step by step.
    fn run_loop(&self, cx: &Context, members: &[usize], values: &mut [Option<Var>]) -> Result<()> {
        let inside = |k: &usize| members.contains(k);
        let sources = members.iter().flat_map(|&k| &self.order.sources[k]);
        let mut outside: Vec<usize> = sources.map(|source| source.node).collect();
        outside.sort_unstable();
        outside.dedup();
        outside.retain(|k| !inside(k));
        let sequence = |&k: &usize| values[k].clone().ok_or_else(|| self.no_input(k));
        let sequences: Vec<Var> = outside.iter().map(sequence).collect::<Result<_, _>>()?;
        if sequences.is_empty() {
            return Err(self.no_input(members[0]).into());
        }
        // Nodes that others read; a loop that nothing reads returns a node all the same.
        let read = |k: &usize| {
            let mut others = (0..self.nodes.len()).filter(|to| !inside(to));
            others.any(|to| {
                self.order.sources[to]
                    .iter()
                    .any(|source| source.node == *k)
            })
        };
        let mut returned: Vec<usize> = members.iter().copied().filter(read).collect();
        if returned.is_empty() {
            returned.push(members[0]);
        }
        let outputs = cx.step_loop_many(&sequences, |steps| {
            self.one_step(cx, members, &outside, &steps, &returned)
        })?;
        for (k, output) in returned.into_iter().zip(outputs) {
            values[k] = Some(output);
        }
        Ok(())
    }

    /// A step of the nodes of cycles. `outside` are the nodes before them, with their values `steps`.
    fn one_step(
        &self,
        cx: &Context,
        members: &[usize],
        outside: &[usize],
        steps: &[Var],
        returned: &[usize],
    ) -> Result<Vec<Var>> {
        let mut now: BTreeMap<usize, Var> =
            outside.iter().copied().zip(steps.iter().cloned()).collect();
        let batch = steps[0].dim(1);
        let mut fed_back = BTreeMap::new();
        let sources = members.iter().flat_map(|&k| &self.order.sources[k]);
        for source in sources.filter(|source| source.late) {
            if fed_back.contains_key(&source.node) {
                continue;
            }
            let node = &self.nodes[source.node];
            let shape = [&[batch], &node.shape[..]].concat();
            let state = cx.child(&node.path, |cx| {
                Ok(cx.state(LAST_OUTPUT, shape.clone(), 0.0))
            })?;
            let before = state
                .expand(&shape[..])
                .reshape([&[1], &shape[..]].concat());
            fed_back.insert(source.node, (state, before));
        }
        for &k in members {
            let x = self.sum(k, |source| match source.late {
                true => fed_back.get(&source.node).map(|(_, before)| before.clone()),
                false => now.get(&source.node).cloned(),
            })?;
            now.insert(k, self.step(cx, k, &x)?);
        }
        for (k, (state, _)) in &fed_back {
            let shape = [&[batch], &self.nodes[*k].shape[..]].concat();
            let after = now[k].cast(cx.tracer().float()).reshape(shape);
            cx.set_state(state, &after);
        }
        Ok(returned.iter().map(|k| now[k].clone()).collect())
    }
}

impl Module for GraphModule {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let (inputs, outputs) = (self.inputs.len(), self.outputs.len());
        if (inputs, outputs) != (1, 1) {
            return Err(NirError::Ports { inputs, outputs }.into());
        }
        Ok(self.run(cx, std::slice::from_ref(x))?.swap_remove(0))
    }

    fn tree(&self) -> Tree {
        let tree = Tree::new("GraphModule");
        let nodes = self.nodes.iter();
        nodes.fold(tree, |tree, node| tree.child(&node.path, &node.part))
    }

    fn describe(&self) -> Description<'_> {
        Description::Other(self)
    }
}

impl fmt::Debug for GraphModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.tree(), f)
    }
}

impl fmt::Display for GraphModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.tree(), f)
    }
}
