//! The execution order of the nodes: a linked list whose nodes have ascending positions.

use super::{NodeId, Rewriter, Slot};

/// The distance between the positions of neighbors that were numbered together.
const SPACING: u64 = 1 << 32;

impl Rewriter<'_> {
    /// The nodes in execution order, as they are now: edits do not change the list.
    pub fn order(&self) -> Vec<NodeId> {
        let mut order = vec![];
        let mut at = self.first.exists();
        while let Some(node) = at {
            order.push(node);
            at = self.next(node);
        }
        order
    }

    /// The node after `node`.
    pub fn next(&self, node: NodeId) -> Option<NodeId> {
        self.slots[node.index()].next.exists()
    }

    /// The node before `node`.
    pub fn previous(&self, node: NodeId) -> Option<NodeId> {
        self.slots[node.index()].previous.exists()
    }

    /// Whether `a` runs before `b`.
    pub fn precedes(&self, a: NodeId, b: NodeId) -> bool {
        self.position(a) < self.position(b)
    }

    /// A number that ascends in execution order; edits may renumber all nodes.
    pub fn position(&self, node: NodeId) -> u64 {
        self.slots[node.index()].position
    }

    /// Moves a node behind the node `at`, or to the start if `at` is `None`.
    pub fn move_after(&mut self, node: NodeId, at: Option<NodeId>) {
        if at == Some(node) {
            return;
        }
        self.unlink(node);
        let (previous, next) = match at {
            Some(at) => (at, self.slots[at.index()].next),
            None => (NodeId::NONE, self.first),
        };
        self.link(node, previous, next);
    }

    /// Moves a node to the end.
    pub fn move_last(&mut self, node: NodeId) {
        self.unlink(node);
        self.link(node, self.last, NodeId::NONE);
    }

    /// Puts a node between two neighbors.
    pub(super) fn link(&mut self, id: NodeId, previous: NodeId, next: NodeId) {
        let slot = &mut self.slots[id.index()];
        (slot.previous, slot.next) = (previous, next);
        match previous.exists() {
            Some(previous) => self.slots[previous.index()].next = id,
            None => self.first = id,
        }
        match next.exists() {
            Some(next) => self.slots[next.index()].previous = id,
            None => self.last = id,
        }
        let low = previous.exists().map_or(0, |k| self.position(k));
        let position = match next.exists() {
            Some(next) => low + (self.position(next) - low) / 2,
            None => low + SPACING,
        };
        self.slots[id.index()].position = position;
        if position == low {
            self.number();
        }
    }

    pub(super) fn unlink(&mut self, id: NodeId) {
        let Slot { previous, next, .. } = self.slots[id.index()];
        match previous.exists() {
            Some(previous) => self.slots[previous.index()].next = next,
            None => self.first = next,
        }
        match next.exists() {
            Some(next) => self.slots[next.index()].previous = previous,
            None => self.last = previous,
        }
    }

    /// Numbers all nodes anew where two neighbors had no position between them.
    fn number(&mut self) {
        let mut position = 0;
        let mut at = self.first.exists();
        while let Some(node) = at {
            position += SPACING;
            self.slots[node.index()].position = position;
            at = self.next(node);
        }
    }
}
