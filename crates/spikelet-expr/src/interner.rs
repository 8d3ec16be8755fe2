//! Common subexpressions: every distinct value gets an index, children before parents.

use crate::expr::{Binary, Expr, Node};
use crate::unary::Unary;
use crate::walk::children_first;
use std::collections::HashMap;
use std::sync::Arc;

/// A node whose children are indices of the same interner. Custom gradients are replaced by their
/// values.
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
    /// Keeps every visited node alive, so that its address is not reused.
    alive: Vec<Expr>,
}

impl Interner {
    /// The index of `expr`; those of its subexpressions are smaller.
    pub(crate) fn intern(&mut self, expr: &Expr) -> usize {
        children_first(
            self,
            expr,
            |known, expr| known.by_pointer.contains_key(&expr.pointer()),
            Expr::value_children,
            Self::add,
        );
        self.index(expr)
    }

    fn index(&self, expr: &Expr) -> usize {
        self.by_pointer[&expr.pointer()]
    }

    /// Adds an expression whose children have indices.
    fn add(&mut self, expr: &Expr) {
        let key = match expr.node() {
            Node::Const(value) => Key::Const(value.to_bits()),
            Node::Symbol(name) => Key::Symbol(name.clone()),
            Node::Unary(op, a) => Key::Unary(*op, self.index(a)),
            Node::Binary(op, a, b) => Key::Binary(*op, self.index(a), self.index(b)),
            Node::Select(condition, then, otherwise) => Key::Select(
                self.index(condition),
                self.index(then),
                self.index(otherwise),
            ),
            Node::CustomGradient { value, .. } => self.keys[self.index(value)].clone(),
        };
        let next = self.keys.len();
        let id = *self.by_key.entry(key.clone()).or_insert(next);
        if id == next {
            self.keys.push(key);
        }
        self.by_pointer.insert(expr.pointer(), id);
        self.alive.push(expr.clone());
    }
}

impl Expr {
    /// Whether both have the same structure, and hence the same value, apart from the tangents of custom
    /// gradients.
    ///
    /// ```
    /// use spikelet_expr::Expr;
    /// let sum = || Expr::symbol("x") + Expr::symbol("y");
    /// assert!(sum().same_value(&sum()));
    /// assert!(!sum().same_value(&(Expr::symbol("y") + Expr::symbol("x"))));
    /// ```
    pub fn same_value(&self, other: &Expr) -> bool {
        let mut interner = Interner::default();
        interner.intern(self) == interner.intern(other)
    }
}
