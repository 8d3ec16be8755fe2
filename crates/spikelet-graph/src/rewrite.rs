//! Rewriting a graph: the toolkit that passes are written on.
//!
//! A [`Rewriter`] owns the nodes of a graph while a pass changes them. It keeps the producer, the
//! readers and the use count of every value up to date, so that a pass asks
//! [`producer`](Rewriter::producer) or [`only_reader`](Rewriter::only_reader) instead of searching
//! the nodes, and each question and each edit takes constant time. A pattern is a function from a
//! node to what it matched, written with `?`; [`Rewriter::apply`] offers it every node in order:
//!
//! ```
//! use spikelet_graph::op::Reshape;
//! use spikelet_graph::rewrite::Rewriter;
//! use spikelet_graph::{DType, Tracer};
//!
//! let tracer = Tracer::new(DType::F32);
//! let x = tracer.input("x", DType::F32, [2, 6]);
//! tracer.output("y", &x.reshape([3, 4]).reshape([12]));
//! let mut graph = tracer.finish()?;
//!
//! // reshape(reshape(x)) → reshape(x)
//! let changes = Rewriter::new(&mut graph).apply(|graph, outer| {
//!     graph.op::<Reshape>(outer)?;
//!     let (inner, _) = graph.made_by::<Reshape>(graph.node(outer).inputs[0])?;
//!     let source = graph.node(inner).inputs[0];
//!     graph.set_input(outer, 0, source);
//!     graph.remove_if_unread(inner);
//!     Some(())
//! });
//! assert_eq!((changes, graph.nodes.len()), (1, 1));
//! # Ok::<(), spikelet_graph::Error>(())
//! ```
//!
//! An operation may own a graph, such as the body of a loop. [`for_each_graph`] applies a pass to a
//! graph and to all graphs inside it.

mod cost;
mod order;
#[cfg(test)]
mod tests;
mod trial;

pub(crate) use cost::cost;
pub(crate) use trial::Trial;

use crate::error::Result;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Op, OpKind, Operation, Reshape};
use crate::types::{DType, TensorType};
use std::fmt;
use std::sync::Arc;

/// A node of a graph that is being rewritten. It names the same node until the node is removed,
/// whatever is inserted around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(u32);

impl NodeId {
    const NONE: Self = Self(u32::MAX);

    fn index(self) -> usize {
        self.0 as usize
    }

    fn exists(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

/// A node in the list of all nodes, which is in execution order.
struct Slot {
    /// `None` once it was removed.
    node: Option<Node>,
    previous: NodeId,
    next: NodeId,
    /// Ascends along the list, so that two nodes can be compared.
    position: u64,
    /// The time of the node, once it was asked for.
    cost: Option<u64>,
}

/// A graph whose nodes are being changed. Dropping it puts the nodes back into the graph.
pub struct Rewriter<'a> {
    graph: &'a mut Graph,
    slots: Vec<Slot>,
    first: NodeId,
    last: NodeId,
    /// By value, the node that computes it.
    producers: Vec<Option<NodeId>>,
    /// By value, the nodes that read it. A node that stopped reading it may still be listed, and
    /// one may be listed twice: the use counts, which the graph has, are exact.
    readers: Vec<Vec<NodeId>>,
    /// By value, the number of outputs of the graph that it is.
    outputs: Vec<usize>,
}

impl<'a> Rewriter<'a> {
    /// Takes the nodes of a graph.
    pub fn new(graph: &'a mut Graph) -> Self {
        let nodes = std::mem::take(&mut graph.nodes);
        graph.use_counts_mut().clear();
        let mut rewriter = Self {
            slots: Vec::with_capacity(nodes.len()),
            first: NodeId::NONE,
            last: NodeId::NONE,
            producers: vec![],
            readers: vec![],
            outputs: vec![],
            graph,
        };
        rewriter.grow();
        for k in 0..rewriter.graph.outputs.len() {
            let value = rewriter.graph.outputs[k].value;
            rewriter.outputs[value.index()] += 1;
            rewriter.graph.use_counts_mut()[value.index()] += 1;
        }
        for node in nodes {
            rewriter.push(node);
        }
        rewriter
    }

    /// The graph: its values, inputs and outputs, and which values are read. Its list of nodes is
    /// empty until the rewriter is dropped.
    pub fn graph(&self) -> &Graph {
        self.graph
    }

    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> &TensorType {
        self.graph.ty(value)
    }

    /// The shape of a value.
    pub fn shape(&self, value: ValueId) -> &[usize] {
        self.graph.shape(value)
    }

    /// Whether the node was not removed.
    pub fn contains(&self, node: NodeId) -> bool {
        self.slots[node.index()].node.is_some()
    }

    /// A node.
    ///
    /// # Panics
    /// When the node was removed.
    pub fn node(&self, node: NodeId) -> &Node {
        let node = self.slots[node.index()].node.as_ref();
        node.expect("a pass uses no node that it has removed")
    }

    /// The operation of a node, if it is of this kind: `graph.op::<MatMul>(node)?`.
    pub fn op<O: OpKind>(&self, node: NodeId) -> Option<&O> {
        O::of(&self.node(node).op)
    }

    /// The node that computes a value; `None` for an input.
    pub fn producer(&self, value: ValueId) -> Option<NodeId> {
        self.producers.get(value.index()).copied().flatten()
    }

    /// The node that computes a value and its operation, if that is of this kind.
    pub fn made_by<O: OpKind>(&self, value: ValueId) -> Option<(NodeId, &O)> {
        let node = self.producer(value)?;
        Some((node, self.op(node)?))
    }

    /// How often nodes and outputs of the graph read a value.
    pub fn use_count(&self, value: ValueId) -> usize {
        self.graph.use_count(value)
    }

    /// How many outputs of the graph a value is.
    pub fn output_count(&self, value: ValueId) -> usize {
        self.outputs.get(value.index()).copied().unwrap_or(0)
    }

    /// The nodes that read a value, each once, in execution order.
    pub fn readers(&self, value: ValueId) -> Vec<NodeId> {
        let listed = self.readers.get(value.index()).into_iter().flatten();
        let reads = |k: &NodeId| {
            let node = self.slots[k.index()].node.as_ref();
            node.is_some_and(|node| node.inputs.contains(&value))
        };
        let mut readers: Vec<NodeId> = listed.copied().filter(reads).collect();
        readers.sort_by_key(|k| self.position(*k));
        readers.dedup();
        readers
    }

    /// The node that alone reads a value, and reads it once; `None` also where the value is an
    /// output of the graph.
    pub fn only_reader(&self, value: ValueId) -> Option<NodeId> {
        if self.use_count(value) != 1 || self.output_count(value) > 0 {
            return None;
        }
        self.readers(value).first().copied()
    }

    /// The predicted time of a node, in bytes that a device moves meanwhile: its operands and
    /// results, or its floating-point operations where those take longer. Views take none.
    pub fn cost(&mut self, node: NodeId) -> u64 {
        if let Some(cost) = self.slots[node.index()].cost {
            return cost;
        }
        let cost = cost(self.graph, self.node(node));
        self.slots[node.index()].cost = Some(cost);
        cost
    }

    /// A new value, which no node computes yet.
    pub fn add_value(&mut self, ty: TensorType) -> ValueId {
        let value = self.graph.add_value(ty);
        self.grow();
        value
    }

    /// Changes the element type of a value.
    pub fn set_dtype(&mut self, value: ValueId, dtype: DType) {
        self.graph.set_dtype(value, dtype);
        for node in self.readers(value).into_iter().chain(self.producer(value)) {
            self.slots[node.index()].cost = None;
        }
    }

    /// A node with new results, which is not in the graph yet.
    ///
    /// # Errors
    /// When the operands do not fit the operation.
    pub fn make(
        &mut self,
        op: impl Into<Op>,
        inputs: &[ValueId],
        layer: &Arc<str>,
        backward: bool,
    ) -> Result<Node> {
        let node = self.graph.make_node(op.into(), inputs, layer, backward)?;
        self.grow();
        Ok(node)
    }

    /// Adds a node at the end.
    pub fn push(&mut self, node: Node) -> NodeId {
        let id = self.add_slot(node);
        self.link(id, self.last, NodeId::NONE);
        id
    }

    /// Adds a node before another.
    pub fn insert_before(&mut self, at: NodeId, node: Node) -> NodeId {
        let id = self.add_slot(node);
        self.link(id, self.slots[at.index()].previous, at);
        id
    }

    /// Adds a node after another.
    pub fn insert_after(&mut self, at: NodeId, node: Node) -> NodeId {
        let id = self.add_slot(node);
        self.link(id, at, self.slots[at.index()].next);
        id
    }

    /// Removes a node. Its results, where something still reads them, are computed by the node that
    /// took them over, if any.
    pub fn remove(&mut self, node: NodeId) -> Node {
        self.unlink(node);
        let removed = self.slots[node.index()].node.take();
        let removed = removed.expect("a pass removes a node once");
        self.forget(node, &removed);
        removed
    }

    /// Removes a node unless one of its results is read. Returns whether it did.
    pub fn remove_if_unread(&mut self, node: NodeId) -> bool {
        let outputs = &self.node(node).outputs;
        let unread = outputs.iter().all(|v| self.use_count(*v) == 0);
        if unread {
            self.remove(node);
        }
        unread
    }

    /// Removes every node of whose results none is read, last first, and returns how many.
    pub fn remove_unread(&mut self) -> usize {
        let all = self.order().into_iter().rev();
        all.filter(|node| self.remove_if_unread(*node)).count()
    }

    /// Puts another node in the place of a node, under the same id.
    pub fn set(&mut self, id: NodeId, node: Node) {
        let old = self.slots[id.index()].node.take();
        if let Some(old) = old {
            self.forget(id, &old);
        }
        self.learn(id, &node);
        let slot = &mut self.slots[id.index()];
        slot.node = Some(node);
        slot.cost = None;
    }

    /// Changes the operation of a node.
    pub fn set_op(&mut self, id: NodeId, op: impl Into<Op>) {
        let slot = &mut self.slots[id.index()];
        if let Some(node) = &mut slot.node {
            node.op = op.into();
        }
        slot.cost = None;
    }

    /// Lets a node be a view of `source` in the shape of its result. Where `source` has that shape, everything reads
    /// `source` itself: the node stays unread, for a trace that knows its result.
    pub fn set_view(&mut self, id: NodeId, source: ValueId) {
        let result = self.node(id).outputs[0];
        let shape = self.shape(result).to_vec();
        let is_same = *self.ty(result) == *self.ty(source);
        self.set_op(id, Reshape { shape });
        self.set_input(id, 0, source);
        if is_same {
            self.replace(result, source);
        }
    }

    /// A value in another shape, before the node `at` and of its layer; the value itself if it has that shape.
    pub fn reshaped(&mut self, at: NodeId, value: ValueId, shape: Vec<usize>) -> Option<ValueId> {
        if self.shape(value) == shape {
            return Some(value);
        }
        let (layer, backward) = (self.node(at).layer.clone(), self.node(at).backward);
        let node = self.make(Reshape { shape }, &[value], &layer, backward);
        let node = node.ok()?;
        let made = node.outputs[0];
        self.insert_before(at, node);
        Some(made)
    }

    /// Lets operand `operand` of a node be another value.
    pub fn set_input(&mut self, id: NodeId, operand: usize, value: ValueId) {
        let slot = &mut self.slots[id.index()];
        let Some(node) = &mut slot.node else { return };
        let old = std::mem::replace(&mut node.inputs[operand], value);
        slot.cost = None;
        self.readers[value.index()].push(id);
        let counts = self.graph.use_counts_mut();
        counts[old.index()] -= 1;
        counts[value.index()] += 1;
    }

    /// Lets output `k` of the graph be another value.
    pub fn set_output(&mut self, k: usize, value: ValueId) {
        let old = std::mem::replace(&mut self.graph.outputs[k].value, value);
        for (value, change) in [(old, -1), (value, 1)] {
            let at = value.index();
            self.outputs[at] = self.outputs[at].wrapping_add_signed(change);
            let count = &mut self.graph.use_counts_mut()[at];
            *count = count.wrapping_add_signed(change);
        }
    }

    /// Lets every node and output that reads `old` read `new`.
    pub fn replace(&mut self, old: ValueId, new: ValueId) {
        for reader in self.readers(old) {
            for operand in 0..self.node(reader).inputs.len() {
                if self.node(reader).inputs[operand] == old {
                    self.set_input(reader, operand, new);
                }
            }
        }
        for k in 0..self.graph.outputs.len() {
            if self.graph.outputs[k].value == old {
                self.set_output(k, new);
            }
        }
    }

    /// Offers every node to a rule, in execution order, and returns how often it changed something.
    /// Nodes that the rule inserts are not offered; nodes that it removed are skipped.
    pub fn apply(&mut self, mut rule: impl FnMut(&mut Self, NodeId) -> Option<()>) -> usize {
        let mut changes = 0;
        for node in self.order() {
            if self.contains(node) && rule(self, node).is_some() {
                changes += 1;
            }
        }
        changes
    }

    fn add_slot(&mut self, node: Node) -> NodeId {
        self.grow();
        let id = u32::try_from(self.slots.len()).expect("a graph has fewer than 2^32 nodes");
        let id = NodeId(id);
        self.learn(id, &node);
        self.slots.push(Slot {
            node: Some(node),
            previous: NodeId::NONE,
            next: NodeId::NONE,
            position: 0,
            cost: None,
        });
        id
    }

    /// Counts what a node reads and computes.
    fn learn(&mut self, id: NodeId, node: &Node) {
        for input in &node.inputs {
            let readers = &mut self.readers[input.index()];
            if readers.last() != Some(&id) {
                readers.push(id);
            }
            self.graph.use_counts_mut()[input.index()] += 1;
        }
        for output in &node.outputs {
            self.producers[output.index()] = Some(id);
        }
    }

    /// Takes back what [`Self::learn`] counted.
    fn forget(&mut self, id: NodeId, node: &Node) {
        for input in &node.inputs {
            self.graph.use_counts_mut()[input.index()] -= 1;
        }
        for output in &node.outputs {
            let producer = &mut self.producers[output.index()];
            *producer = producer.filter(|other| *other != id);
        }
    }

    /// Extends the tables to the values of the graph.
    fn grow(&mut self) {
        let values = self.graph.values();
        self.producers.resize(values, None);
        self.readers.resize(values, vec![]);
        self.outputs.resize(values, 0);
        self.graph.use_counts_mut().resize(values, 0);
    }
}

impl Drop for Rewriter<'_> {
    fn drop(&mut self) {
        let order = self.order();
        let nodes = order.into_iter().map(|k| self.slots[k.index()].node.take());
        self.graph.nodes = nodes.flatten().collect();
        // From here on the list of nodes is open to changes that nothing counts.
        self.graph.forget_uses();
    }
}

/// Applies a pass to every graph that an operation of `graph` owns, and to those inside them, then
/// to `graph` itself.
pub fn for_each_graph(graph: &mut Graph, pass: &mut dyn FnMut(&mut Graph)) {
    for node in &mut graph.nodes {
        if let Some(body) = node.op.body_mut() {
            for_each_graph(body, pass);
        }
    }
    pass(graph);
}

impl fmt::Debug for Rewriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rewriter")
            .field("first", &self.first)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}
