//! Common sub-expressions: every distinct value gets one number, children before parents.

use crate::expr::{Binary, Expr, Node, Unary};
use std::collections::HashMap;
use std::sync::Arc;

/// A node whose children are numbers of the same interner. Grafts are seen by their value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Const(u64),
    Symbol(Arc<str>),
    Unary(Unary, usize),
    Binary(Binary, usize, usize),
    Select(usize, usize, usize),
}

#[derive(Default)]
pub(crate) struct Interner {
    pub(crate) keys: Vec<Key>,
    by_key: HashMap<Key, usize>,
    by_pointer: HashMap<*const Node, usize>,
    /// Keeps every visited node alive, so that its address stays its own.
    alive: Vec<Expr>,
}

impl Interner {
    /// The number of `expr`; those of its sub-expressions are smaller.
    pub(crate) fn intern(&mut self, expr: &Expr) -> usize {
        let pointer = Arc::as_ptr(&expr.0);
        if let Some(&id) = self.by_pointer.get(&pointer) {
            return id;
        }
        let id = match expr.node() {
            Node::Graft { value, .. } => self.intern(value),
            _ => {
                let key = self.key(expr);
                let next = self.keys.len();
                let id = *self.by_key.entry(key.clone()).or_insert(next);
                if id == next {
                    self.keys.push(key);
                }
                id
            }
        };
        self.by_pointer.insert(pointer, id);
        self.alive.push(expr.clone());
        id
    }

    fn key(&mut self, expr: &Expr) -> Key {
        match expr.node() {
            Node::Const(value) => Key::Const(value.to_bits()),
            Node::Symbol(name) => Key::Symbol(name.clone()),
            Node::Unary(op, a) => Key::Unary(*op, self.intern(a)),
            Node::Binary(op, a, b) => {
                let a = self.intern(a);
                Key::Binary(*op, a, self.intern(b))
            }
            Node::Select {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.intern(condition);
                let then = self.intern(then);
                Key::Select(condition, then, self.intern(otherwise))
            }
            Node::Graft { value, .. } => {
                let id = self.intern(value);
                self.keys[id].clone()
            }
        }
    }
}
