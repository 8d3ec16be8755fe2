//! Simplification while an expression is built.
//!
//! Only rewrites that preserve every finite value are applied, since the last bits decide spikes.
//! Some deviate on purpose if an intermediate value is not finite or a zero has a sign: 0·x and 0/x
//! are 0, x + 0 is x and −(x − y) is y − x, so that vanishing derivatives cost nothing. Constants are
//! folded in f64, independently of the type of the evaluator.

use crate::expr::{Binary, Expr, Node};
use crate::math::Real;
use crate::unary::Unary;
use std::sync::Arc;

pub(crate) fn apply_binary<R: Real>(op: Binary, a: R, b: R) -> R {
    let truth = |yes: bool| if yes { R::ONE } else { R::ZERO };
    match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Pow => a.powr(b),
        Binary::Min => a.min_nan(b),
        Binary::Max => a.max_nan(b),
        Binary::Lt => truth(a < b),
        Binary::Le => truth(a <= b),
        Binary::Gt => truth(a > b),
        Binary::Ge => truth(a >= b),
        Binary::Eq => truth(a == b),
        Binary::Ne => truth(a != b),
    }
}

pub(crate) fn unary(op: Unary, a: &Expr) -> Expr {
    if let Some(value) = a.as_constant() {
        return Expr::constant(op.apply(value));
    }
    match (op, a.node()) {
        (Unary::Neg, Node::Unary(Unary::Neg, inner)) => inner.clone(),
        (Unary::Neg, Node::Binary(Binary::Sub, x, y)) => binary(Binary::Sub, y, x),
        _ => Expr(Arc::new(Node::Unary(op, a.clone()))),
    }
}

pub(crate) fn binary(op: Binary, a: &Expr, b: &Expr) -> Expr {
    if let (Some(x), Some(y)) = (a.as_constant(), b.as_constant()) {
        return Expr::constant(apply_binary(op, x, y));
    }
    let keep = || Expr(Arc::new(Node::Binary(op, a.clone(), b.clone())));
    match (op, a.as_constant(), b.as_constant()) {
        (Binary::Add, Some(0.0), _) => b.clone(),
        (Binary::Add | Binary::Sub, _, Some(0.0)) => a.clone(),
        (Binary::Sub, Some(0.0), _) => unary(Unary::Neg, b),
        (Binary::Mul, Some(0.0), _) | (Binary::Mul, _, Some(0.0)) => Expr::constant(0.0),
        (Binary::Div, Some(0.0), _) => Expr::constant(0.0),
        (Binary::Mul, Some(1.0), _) => b.clone(),
        (Binary::Mul | Binary::Div | Binary::Pow, _, Some(1.0)) => a.clone(),
        (Binary::Mul, Some(-1.0), _) => unary(Unary::Neg, b),
        (Binary::Mul, _, Some(-1.0)) => unary(Unary::Neg, a),
        // A power of two has an exact reciprocal: the product has the quotient's bits.
        (Binary::Div, _, Some(c)) if has_exact_reciprocal(c) => {
            binary(Binary::Mul, a, &Expr::constant(1.0 / c))
        }
        _ => match (op, a.node(), b.node()) {
            (Binary::Add, _, Node::Unary(Unary::Neg, y)) => binary(Binary::Sub, a, y),
            (Binary::Add, Node::Unary(Unary::Neg, x), _) => binary(Binary::Sub, b, x),
            (Binary::Sub, _, Node::Unary(Unary::Neg, y)) => binary(Binary::Add, a, y),
            (Binary::Mul | Binary::Div, Node::Unary(Unary::Neg, x), Node::Unary(Unary::Neg, y)) => {
                binary(op, x, y)
            }
            _ => keep(),
        },
    }
}

fn has_exact_reciprocal(c: f64) -> bool {
    const MANTISSA: u64 = (1 << 52) - 1;
    c.to_bits() & MANTISSA == 0 && (1e-30..1e30).contains(&c.abs())
}

pub(crate) fn select(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
    if let Some(c) = condition.as_constant() {
        return if c != 0.0 { then } else { otherwise };
    }
    if let (Some(a), Some(b)) = (then.as_constant(), otherwise.as_constant()) {
        let truth = matches!(condition.node(), Node::Binary(op, ..) if op.is_comparison());
        if a.to_bits() == b.to_bits() {
            return then;
        }
        if truth && a == 1.0 && b == 0.0 {
            return condition;
        }
    }
    if Arc::ptr_eq(&then.0, &otherwise.0) {
        return then;
    }
    Expr(Arc::new(Node::Select(condition, then, otherwise)))
}
