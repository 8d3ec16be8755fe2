//! Traversal and drop of expressions without recursion, for any depth.

use crate::expr::{Expr, Node};
use std::sync::{Arc, LazyLock};

/// Visits the nodes of an expression, children before parents, in order of evaluation. A node for
/// which `done` holds is skipped with all nodes below it; `visit` has to make `done` hold.
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
    /// The address of the node, which identifies shared nodes of an expression.
    pub(crate) fn pointer(&self) -> *const Node {
        Arc::as_ptr(&self.0)
    }

    /// The expression with the value: skips custom gradients.
    pub(crate) fn valued(&self) -> &Expr {
        let mut expr = self;
        while let Node::CustomGradient { value, .. } = expr.node() {
            expr = value;
        }
        expr
    }

    /// The operands of the value.
    pub(crate) fn value_children(&self) -> Vec<Expr> {
        match self.node() {
            Node::CustomGradient { value, .. } => vec![value.clone()],
            _ => self.children(),
        }
    }
}

impl Node {
    /// Moves the children that have children themselves to `into`.
    fn take_children(&mut self, into: &mut Vec<Expr>) {
        static LEAF: LazyLock<Expr> = LazyLock::new(|| Expr::constant(0.0));
        let children: [Option<&mut Expr>; 3] = match self {
            Self::Const(_) | Self::Symbol(_) => return,
            Self::Unary(_, a) => [Some(a), None, None],
            Self::Binary(_, a, b) => [Some(a), Some(b), None],
            Self::Select(condition, then, otherwise) => {
                [Some(condition), Some(then), Some(otherwise)]
            }
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
    /// Iterative, so that a deep expression does not overflow the stack.
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
