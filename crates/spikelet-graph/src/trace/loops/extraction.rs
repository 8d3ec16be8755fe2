//! The move of traced nodes into the body of a loop.

use super::{OpenLoop, Received, ReceivedValues};
use crate::error::{Error, InvalidOp, Result};
use crate::graph::{Graph, InputKind, Node, Output, ValueId};
use crate::op::{Draw, GENERATOR_STATE, GeneratorSteps, Loop, LoopBody, OpKind, Reshape, Slice};
use crate::types::{DType, TensorType};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The nodes of a body, to be moved into a graph of their own.
pub(super) struct Extraction {
    pub(super) length: usize,
    pub(super) reverse: bool,
    pub(super) hoist: bool,
    pub(super) layer: Arc<str>,
    pub(super) received: ReceivedValues,
    /// The carried values that change, with their next values.
    pub(super) next: Vec<(ValueId, ValueId)>,
    pub(super) stacked: Vec<ValueId>,
}

/// What [`Extraction::run`] returns: the stacked results, and the last value of each carried value.
pub(super) struct Extracted {
    pub(super) stacked: Vec<ValueId>,
    pub(super) lasts: HashMap<ValueId, ValueId>,
    /// The values of the body, which are no values of the graph any more.
    pub(super) inside: Vec<ValueId>,
}

impl Extraction {
    pub(super) fn run(mut self, graph: &mut Graph, open: &OpenLoop) -> Result<Extracted> {
        graph.forget_uses();
        let mut outside = Outside::of(&self.received, self.length, self.reverse);
        let mut inner = self.nodes_inside(graph, open, &mut outside)?;
        self.step_generators(graph, &mut inner, &mut outside)?;

        // A carried value that does not change is an invariant.
        self.next.retain(|(before, after)| before != after);
        let changes: HashMap<ValueId, ValueId> = self.next.iter().copied().collect();
        let (carried, fixed): (Vec<Received>, Vec<Received>) = self
            .received
            .carried
            .iter()
            .partition(|c| changes.contains_key(&c.inside));
        let fixed: HashMap<ValueId, ValueId> =
            fixed.iter().map(|c| (c.inside, c.outside)).collect();
        let resolve = |value: ValueId| fixed.get(&value).copied().unwrap_or(value);

        let mut body = BodyBuilder::new(graph);
        let mut operands = vec![];
        for (k, value) in carried.iter().enumerate() {
            body.input(format!("carried {k}"), InputKind::State, value.inside);
            operands.push(value.outside);
        }
        for (k, value) in self.received.sequences.iter().enumerate() {
            body.input(format!("sequence {k}"), InputKind::Data, value.inside);
            operands.push(value.outside);
        }
        let reads = inner.iter().flat_map(|node| node.inputs.iter().copied());
        let ends = self.next.iter().map(|(_, after)| *after);
        let mut seen = HashSet::new();
        for value in reads.chain(ends).chain(self.stacked.iter().copied()) {
            let value = resolve(value);
            if !outside.inside.contains_key(&value) && seen.insert(value) {
                body.input(
                    format!("invariant {}", seen.len() - 1),
                    InputKind::Parameter,
                    value,
                );
                operands.push(value);
            }
        }
        for node in inner {
            body.node(node, &resolve);
        }
        for (k, value) in carried.iter().enumerate() {
            let after = resolve(changes[&value.inside]);
            body.output(format!("carried {k}"), after, Some(value.inside));
        }
        for (k, value) in self.stacked.iter().enumerate() {
            body.output(format!("stacked {k}"), resolve(*value), None);
        }
        let at = |error: InvalidOp| error.at(&self.layer, "loop", &[]);
        let made = LoopBody::new(body.graph, carried.len(), self.received.sequences.len());
        let op = Loop {
            body: Arc::new(made.map_err(at)?),
            length: self.length,
            reverse: self.reverse,
            hoist: self.hoist,
        };
        let mut made = Extracted {
            stacked: vec![],
            lasts: fixed,
            inside: outside.inside.into_keys().collect(),
        };
        if carried.is_empty() && self.stacked.is_empty() {
            return Ok(made);
        }
        let results = graph.push(op, &operands, &self.layer)?;
        let (lasts, stacked) = results.split_at(carried.len());
        made.lasts
            .extend(carried.iter().map(|c| c.inside).zip(lasts.iter().copied()));
        made.stacked = stacked.to_vec();
        Ok(made)
    }

    /// Takes the nodes that were traced since the loop was opened, but for those that belong outside of it.
    fn nodes_inside(
        &self,
        graph: &mut Graph,
        open: &OpenLoop,
        outside: &mut Outside,
    ) -> Result<Vec<Node>> {
        let traced = graph.nodes.split_off(open.first);
        let mut inner: Vec<Node> = vec![];
        for (k, mut node) in traced.into_iter().enumerate() {
            let k = open.first + k;
            if open.outside.iter().any(|range| range.contains(&k)) {
                for input in &mut node.inputs {
                    *input = outside.value(graph, &inner, *input, &node.layer)?;
                }
                graph.nodes.push(node);
            } else {
                outside
                    .inside
                    .extend(node.outputs.iter().map(|v| (*v, Some(inner.len()))));
                inner.push(node);
            }
        }
        if let Some(output) = graph
            .outputs
            .iter()
            .find(|o| outside.inside.contains_key(&o.value))
        {
            return Err(Error::Name {
                kind: "output",
                name: output.name.clone(),
                problem: "it is a value of the body of a loop; carry or stack the value, and output the result of the loop".to_string(),
            });
        }
        Ok(inner)
    }

    /// Lets draws over time inside the body draw the numbers of their step: the generator's state becomes a
    /// sequence.
    fn step_generators(
        &mut self,
        graph: &mut Graph,
        inner: &mut Vec<Node>,
        outside: &mut Outside,
    ) -> Result<()> {
        let mut steps: HashMap<ValueId, ValueId> = HashMap::new();
        let mut first = vec![];
        for k in 0..inner.len() {
            if !Draw::of(&inner[k].op).is_some_and(|draw| draw.over_time) {
                continue;
            }
            let generator = inner[k].inputs[0];
            let state = match steps.get(&generator) {
                Some(state) => *state,
                None => {
                    let source = outside.value(graph, inner, generator, &self.layer)?;
                    let op = GeneratorSteps {
                        length: self.length,
                    };
                    let sequence = graph.push1(op, &[source], &self.layer)?;
                    let piece = TensorType::new(DType::I64, [1, GENERATOR_STATE]);
                    let piece = graph.add_value(piece);
                    self.received.sequences.push(Received {
                        inside: piece,
                        outside: sequence,
                    });
                    let shape = vec![GENERATOR_STATE];
                    let node =
                        graph.make_node(Reshape { shape }.into(), &[piece], &self.layer, false)?;
                    let state = node.outputs[0];
                    outside.inside.extend([(piece, None), (state, None)]);
                    first.push(node);
                    steps.insert(generator, state);
                    state
                }
            };
            inner[k].inputs[0] = state;
        }
        inner.splice(0..0, first);
        Ok(())
    }
}

/// The values of a body that are needed outside of it.
struct Outside {
    /// Each value of the body, with the node that computes it.
    inside: HashMap<ValueId, Option<usize>>,
    /// The values outside that stand for those of the body: of its first step.
    known: HashMap<ValueId, ValueId>,
    /// The sequences of the body: the piece of the first step is cut out when it is needed.
    sequences: HashMap<ValueId, (ValueId, usize)>,
}

impl Outside {
    fn of(received: &ReceivedValues, length: usize, reverse: bool) -> Self {
        let first = if reverse { length.saturating_sub(1) } else { 0 };
        let all = received.carried.iter().chain(&received.sequences);
        Self {
            inside: all.map(|value| (value.inside, None)).collect(),
            known: received
                .carried
                .iter()
                .map(|c| (c.inside, c.outside))
                .collect(),
            sequences: received
                .sequences
                .iter()
                .map(|s| (s.inside, (s.outside, first)))
                .collect(),
        }
    }

    /// The value outside that is `value` in the first step.
    fn value(
        &mut self,
        graph: &mut Graph,
        inner: &[Node],
        value: ValueId,
        layer: &Arc<str>,
    ) -> Result<ValueId> {
        // A value is copied after those that it is computed from.
        let mut open = vec![value];
        while let Some(&last) = open.last() {
            if let Some(producer) = self.uncopied(last) {
                let count = open.len();
                let inputs = inner[producer].inputs.iter().rev().copied();
                open.extend(inputs.filter(|v| self.uncopied(*v).is_some()));
                if open.len() > count {
                    continue;
                }
                self.copy(graph, &inner[producer], layer)?;
            }
            open.pop();
        }
        self.known_value(graph, value, layer)
    }

    /// The node that computes a value of the body, if nothing outside stands for it yet.
    fn uncopied(&self, value: ValueId) -> Option<usize> {
        let producer = *self.inside.get(&value)?;
        producer.filter(|_| !self.known.contains_key(&value))
    }

    /// The value outside that stands for `value`, all of whose producers are copied.
    fn known_value(
        &mut self,
        graph: &mut Graph,
        value: ValueId,
        layer: &Arc<str>,
    ) -> Result<ValueId> {
        if let Some(&known) = self.known.get(&value) {
            return Ok(known);
        }
        let Some(&(sequence, first)) = self.sequences.get(&value) else {
            return Ok(value);
        };
        let size = graph.shape(value)[0];
        let op = Slice {
            axis: 0,
            start: first * size,
            end: (first + 1) * size,
        };
        let piece = graph.push1(op, &[sequence], layer)?;
        self.known.insert(value, piece);
        Ok(piece)
    }

    /// Copies a node of the body.
    fn copy(&mut self, graph: &mut Graph, node: &Node, layer: &Arc<str>) -> Result<()> {
        let mut copy = node.clone();
        for input in &mut copy.inputs {
            *input = self.known_value(graph, *input, layer)?;
        }
        for output in &mut copy.outputs {
            *output = graph.add_value(graph.ty(*output).clone());
        }
        let made = copy.outputs.iter().copied();
        self.known.extend(node.outputs.iter().copied().zip(made));
        graph.nodes.push(copy);
        Ok(())
    }
}

/// A graph built from the nodes of another.
struct BodyBuilder<'a> {
    outer: &'a Graph,
    graph: Graph,
    /// The values of the body by those of the outer graph.
    values: HashMap<ValueId, ValueId>,
}

impl<'a> BodyBuilder<'a> {
    fn new(outer: &'a Graph) -> Self {
        let mut graph = Graph::default();
        graph.disable_fusion = outer.disable_fusion;
        Self {
            graph,
            outer,
            values: HashMap::new(),
        }
    }

    fn add(&mut self, value: ValueId) -> ValueId {
        let made = self.graph.add_value(self.outer.ty(value).clone());
        self.values.insert(value, made);
        made
    }

    fn input(&mut self, name: String, kind: InputKind, value: ValueId) {
        let value = self.add(value);
        self.graph
            .inputs
            .push(crate::graph::Input { name, kind, value });
    }

    fn node(&mut self, mut node: Node, resolve: &dyn Fn(ValueId) -> ValueId) {
        for input in &mut node.inputs {
            *input = self.values[&resolve(*input)];
        }
        for output in &mut node.outputs {
            *output = self.add(*output);
        }
        self.graph.nodes.push(node);
    }

    fn output(&mut self, name: String, value: ValueId, updates: Option<ValueId>) {
        self.graph.outputs.push(Output {
            name,
            value: self.values[&value],
            updates: updates.map(|input| self.values[&input]),
        });
    }
}
