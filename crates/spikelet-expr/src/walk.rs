//! Expressions of any depth: walked, and dropped, without recursion.

use crate::expr::{Expr, Node};
use std::sync::{Arc, LazyLock};

/// Visits the parts of an expression, children before parents, in order of evaluation. A part that
/// is `done` is passed over with all below it; `visit` has to make it so.
pub(crate) fn children_first<S>(
    state: &mut S,
    root: &Expr,
    done: impl Fn(&S, &Expr) -> bool,
    children: impl Fn(&Expr) -> Vec<Expr>,
    mut visit: impl FnMut(&mut S, &Expr),
) {
    let mut open = vec![(root.clone(), false)];
    while let Some((expr, ready)) = open.pop() {
        if done(state, &expr) {
            continue;
        }
        if ready {
            visit(state, &expr);
            continue;
        }
        let below = children(&expr);
        open.push((expr, true));
        open.extend(below.into_iter().rev().map(|child| (child, false)));
    }
}

impl Expr {
    /// The address of the node, which tells shared parts of one expression apart.
    pub(crate) fn pointer(&self) -> *const Node {
        Arc::as_ptr(&self.0)
    }

    /// What has the value: grafts are seen through.
    pub(crate) fn valued(&self) -> &Expr {
        let mut expr = self;
        while let Node::CustomGradient { value, .. } = expr.node() {
            expr = value;
        }
        expr
    }

    /// The nodes directly below that the value is made of.
    pub(crate) fn value_children(&self) -> Vec<Expr> {
        match self.node() {
            Node::CustomGradient { value, .. } => vec![value.clone()],
            _ => self.children(),
        }
    }
}

impl Node {
    /// Takes out the children that have children of their own.
    fn take_children(&mut self, into: &mut Vec<Expr>) {
        static LEAF: LazyLock<Expr> = LazyLock::new(|| Expr::constant(0.0));
        let children: [Option<&mut Expr>; 3] = match self {
            Self::Const(_) | Self::Symbol(_) => return,
            Self::Unary(_, a) => [Some(a), None, None],
            Self::Binary(_, a, b) => [Some(a), Some(b), None],
            Self::Select {
                condition,
                then,
                otherwise,
            } => [Some(condition), Some(then), Some(otherwise)],
            Self::CustomGradient { value, tangent } => [Some(value), Some(tangent), None],
        };
        for child in children.into_iter().flatten() {
            if !matches!(child.node(), Self::Const(_) | Self::Symbol(_)) {
                into.push(std::mem::replace(child, LEAF.clone()));
            }
        }
    }
}

impl Drop for Node {
    /// Without recursion, so that a deep expression does not overflow the stack.
    fn drop(&mut self) {
        let mut open = vec![];
        self.take_children(&mut open);
        while let Some(Expr(node)) = open.pop() {
            if let Some(mut node) = Arc::into_inner(node) {
                node.take_children(&mut open);
            }
        }
    }
}
