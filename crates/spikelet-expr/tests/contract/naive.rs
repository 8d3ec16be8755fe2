//! The reference evaluator for programs: one element and one node at a time.

use spikelet_expr::math::Real;
use spikelet_expr::{Binary, Expr, Node};

pub fn binary<R: Real>(op: Binary, a: R, b: R) -> R {
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

/// The value of an expression, its symbols looked up by name.
pub fn evaluate<R: Real>(expr: &Expr, symbol: &dyn Fn(&str) -> R) -> R {
    match expr.node() {
        Node::Const(value) => R::from_f64(*value),
        Node::Symbol(name) => symbol(name),
        Node::Unary(op, a) => op.apply(evaluate(a, symbol)),
        Node::Binary(op, a, b) => binary(*op, evaluate(a, symbol), evaluate(b, symbol)),
        Node::Select(condition, then, otherwise) => {
            if evaluate(condition, symbol) != R::ZERO {
                evaluate(then, symbol)
            } else {
                evaluate(otherwise, symbol)
            }
        }
        Node::CustomGradient { value, .. } => evaluate(value, symbol),
    }
}

/// The same bits, or both NaN: the sign and payload of a NaN are unspecified.
pub fn same<R: Real>(a: R, b: R) -> bool {
    let (a, b) = (a.to_f64(), b.to_f64());
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}
