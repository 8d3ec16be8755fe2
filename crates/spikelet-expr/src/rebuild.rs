//! Rewriting expressions node by node.

use crate::expr::{Expr, Node};
use crate::walk::children_first;
use std::collections::HashMap;

impl Expr {
    /// Replaces every node by the result of `part`, children before parents. `part` gets the node and
    /// a function that returns the replacement of a child. Shared nodes stay shared; any depth is
    /// supported.
    ///
    /// ```
    /// use spikelet_expr::{Expr, Node};
    /// let e = (Expr::symbol("x") + 1.0).exp();
    /// let doubled = e.rebuild(|part, new| match part.node() {
    ///     Node::Const(value) => Expr::constant(2.0 * value),
    ///     Node::Unary(op, a) => Expr::unary(*op, &new(a)),
    ///     Node::Binary(op, a, b) => Expr::binary(*op, &new(a), &new(b)),
    ///     _ => part.clone(),
    /// });
    /// assert_eq!(doubled.to_string(), "exp(x + 2)");
    /// ```
    pub fn rebuild(&self, mut part: impl FnMut(&Expr, &dyn Fn(&Expr) -> Expr) -> Expr) -> Expr {
        let mut replaced: HashMap<*const Node, Expr> = HashMap::new();
        children_first(
            &mut replaced,
            self,
            |replaced, expr| replaced.contains_key(&expr.pointer()),
            Expr::children,
            |replaced, expr| {
                let new = |child: &Expr| replaced.get(&child.pointer()).unwrap_or(child).clone();
                let result = part(expr, &new);
                replaced.insert(expr.pointer(), result);
            },
        );
        replaced[&self.pointer()].clone()
    }

    /// Replaces every symbol by the result of `replace` for its name; `None` keeps it. Shared nodes
    /// stay shared.
    pub fn substitute(&self, replace: &dyn Fn(&str) -> Option<Expr>) -> Expr {
        self.rebuild(|part, new| match part.node() {
            Node::Const(_) => part.clone(),
            Node::Symbol(name) => replace(name).unwrap_or_else(|| part.clone()),
            Node::Unary(op, a) => Expr::unary(*op, &new(a)),
            Node::Binary(op, a, b) => Expr::binary(*op, &new(a), &new(b)),
            Node::Select(condition, then, otherwise) => {
                Expr::select(new(condition), new(then), new(otherwise))
            }
            Node::CustomGradient { value, tangent } => {
                Expr::custom_gradient(new(value), new(tangent))
            }
        })
    }
}
