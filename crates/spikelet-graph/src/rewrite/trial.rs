//! Changes of a graph on trial, which can be taken back.

use crate::error::Result;
use crate::graph::{Graph, Node, ValueId};
use crate::op::Op;
use std::sync::Arc;

/// A graph that a pass changes in order to see whether that is better. The cost of a trial is that of its changes,
/// not that of a copy of the graph. They stay unless [`Trial::undo`] takes them back.
pub(crate) struct Trial<'a> {
    pub(crate) graph: &'a mut Graph,
    /// The number of values before.
    values: usize,
    changes: Vec<Change>,
}

enum Change {
    /// A node was inserted here.
    Inserted(usize),
    /// An operand of a node was this value.
    Read(usize, usize, ValueId),
}

impl<'a> Trial<'a> {
    pub(crate) fn new(graph: &'a mut Graph) -> Self {
        Self {
            values: graph.values(),
            graph,
            changes: vec![],
        }
    }

    /// A new value of the type of another.
    pub(crate) fn add_like(&mut self, value: ValueId) -> ValueId {
        let ty = self.graph.ty(value).clone();
        self.graph.add_value(ty)
    }

    /// Inserts a node at a place in the execution order and returns its first result.
    ///
    /// # Errors
    /// When the operands do not fit the operation.
    pub(crate) fn make_at(
        &mut self,
        at: usize,
        op: impl Into<Op>,
        inputs: &[ValueId],
        (layer, backward): (&Arc<str>, bool),
    ) -> Result<ValueId> {
        let node = self.graph.make_node(op.into(), inputs, layer, backward)?;
        let made = node.outputs[0];
        self.insert(at, node);
        Ok(made)
    }

    /// Inserts a node at a place in the execution order.
    pub(crate) fn insert(&mut self, at: usize, node: Node) {
        self.graph.nodes.insert(at, node);
        self.changes.push(Change::Inserted(at));
    }

    /// Lets an operand of a node be another value.
    pub(crate) fn set_input(&mut self, node: usize, operand: usize, value: ValueId) {
        let input = &mut self.graph.nodes[node].inputs[operand];
        let old = std::mem::replace(input, value);
        self.changes.push(Change::Read(node, operand, old));
    }

    /// Takes all changes back.
    pub(crate) fn undo(self) {
        for change in self.changes.into_iter().rev() {
            match change {
                Change::Inserted(at) => drop(self.graph.nodes.remove(at)),
                Change::Read(node, operand, old) => self.graph.nodes[node].inputs[operand] = old,
            }
        }
        self.graph.truncate_values(self.values);
    }
}
