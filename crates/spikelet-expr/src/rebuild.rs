//! Expressions built anew from their parts.

use crate::expr::{Expr, Node};
use crate::walk::children_first;
use std::collections::HashMap;

impl Expr {
    /// Every part replaced by what `part` makes of it, children before parents. `part` is given the
    /// part and a function that returns the replacement of one of its children. Parts that are
    /// shared stay shared; the expression may be of any depth.
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
        let mut made: HashMap<*const Node, Expr> = HashMap::new();
        children_first(
            &mut made,
            self,
            |made, expr| made.contains_key(&expr.pointer()),
            Expr::children,
            |made, expr| {
                let new = |child: &Expr| made.get(&child.pointer()).unwrap_or(child).clone();
                let result = part(expr, &new);
                made.insert(expr.pointer(), result);
            },
        );
        made[&self.pointer()].clone()
    }

    /// Every symbol replaced by what `replace` gives for its name; `None` keeps it. Parts that are
    /// shared stay shared.
    pub fn substitute(&self, replace: &dyn Fn(&str) -> Option<Expr>) -> Expr {
        self.rebuild(|part, new| match part.node() {
            Node::Const(_) => part.clone(),
            Node::Symbol(name) => replace(name).unwrap_or_else(|| part.clone()),
            Node::Unary(op, a) => Expr::unary(*op, &new(a)),
            Node::Binary(op, a, b) => Expr::binary(*op, &new(a), &new(b)),
            Node::Select {
                condition,
                then,
                otherwise,
            } => Expr::select(new(condition), new(then), new(otherwise)),
            Node::CustomGradient { value, tangent } => {
                Expr::custom_gradient(new(value), new(tangent))
            }
        })
    }
}
