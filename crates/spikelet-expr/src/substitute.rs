//! Symbols replaced by expressions.

use crate::expr::{Expr, Node};
use crate::walk::children_first;
use std::collections::HashMap;

impl Expr {
    /// Every symbol replaced by what `replace` gives for its name; `None` keeps it. Parts that are
    /// shared stay shared.
    pub fn substitute(&self, replace: &dyn Fn(&str) -> Option<Expr>) -> Expr {
        let mut made: HashMap<*const Node, Expr> = HashMap::new();
        children_first(
            &mut made,
            self,
            |made, expr| made.contains_key(&expr.pointer()),
            Expr::children,
            |made, expr| {
                let of = |child: &Expr| &made[&child.pointer()];
                let result = match expr.node() {
                    Node::Const(_) => expr.clone(),
                    Node::Symbol(name) => replace(name).unwrap_or_else(|| expr.clone()),
                    Node::Unary(op, a) => Expr::unary(*op, of(a)),
                    Node::Binary(op, a, b) => Expr::binary(*op, of(a), of(b)),
                    Node::Select {
                        condition,
                        then,
                        otherwise,
                    } => Expr::select(of(condition), of(then), of(otherwise)),
                    Node::Graft { value, tangent } => Expr::graft(of(value), of(tangent)),
                };
                made.insert(expr.pointer(), result);
            },
        );
        made[&self.pointer()].clone()
    }
}
