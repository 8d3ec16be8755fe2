//! Equations in conventional notation.

use spikelet::expr::{Binary, Expr, Node};
use std::f64::consts::{FRAC_1_PI, PI, TAU};

/// The expression for people: `H ≥ 1` for `H - 1 ≥ 0`, squares as squares, numbers with six
/// digits. For reading only.
///
/// `a − c ≥ 0` and `a ≥ c` are the same in floating point too.
pub fn pretty(expr: &Expr) -> String {
    let written = expr.rebuild(|part, new| match part.node() {
        Node::Const(value) => number(*value),
        Node::Symbol(_) => part.clone(),
        Node::Unary(op, a) => Expr::unary(*op, &new(a)),
        Node::Binary(op, a, b) => binary(*op, &new(a), &new(b)),
        Node::Select(condition, then, otherwise) => {
            Expr::select(new(condition), new(then), new(otherwise))
        }
        Node::CustomGradient { value, .. } => new(value),
    });
    written.to_string()
}

fn binary(op: Binary, a: &Expr, b: &Expr) -> Expr {
    if op.is_comparison()
        && b.as_constant() == Some(0.0)
        && let Node::Binary(Binary::Sub, left, right) = a.node()
    {
        return Expr::binary(op, left, right);
    }
    if op == Binary::Mul && a.as_constant().is_none() && a.same_value(b) {
        let square = match a.node() {
            Node::Symbol(name) => format!("{name}²"),
            Node::Binary(..) | Node::Select(..) => format!("({a})²"),
            _ => return Expr::binary(op, a, b),
        };
        return Expr::symbol(square);
    }
    if op == Binary::Mul
        && let Some(factor) = b.as_constant()
        && let Some(divisor) = reciprocal(factor)
    {
        return Expr::binary(Binary::Div, a, &Expr::symbol(divisor));
    }
    if op == Binary::Sub && a.as_constant() == Some(0.0) {
        return -b;
    }
    Expr::binary(op, a, b)
}

/// The divisor in place of a factor: 2 for 0.5, π for 1/π.
fn reciprocal(factor: f64) -> Option<String> {
    if (factor - six_digits(FRAC_1_PI)).abs() < f64::EPSILON {
        return Some("π".to_string());
    }
    let divisor = 1.0 / factor;
    (factor < 1.0 && divisor == divisor.round() && divisor.log2().fract() == 0.0)
        .then(|| divisor.to_string())
}

/// π and twice π by name, other numbers with six digits.
fn number(value: f64) -> Expr {
    let named = [(PI, "π"), (TAU, "2π")]
        .into_iter()
        .find(|(n, _)| (value - n).abs() < 1e-12);
    named.map_or_else(
        || Expr::constant(six_digits(value)),
        |(_, name)| Expr::symbol(name),
    )
}

fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_have_conventional_notation() {
        let (h, x) = (Expr::symbol("H"), Expr::symbol("x"));
        assert_eq!(pretty(&(&h - 1.0).ge(0.0)), "H ≥ 1");
        let u = &x * std::f64::consts::PI;
        assert_eq!(pretty(&(1.0 / (1.0 + &u * &u))), "1 / (1 + (x · π)²)");
        assert_eq!(pretty(&(u.atan() * FRAC_1_PI)), "atan(x · π) / π");
        assert_eq!(pretty(&(&x / 4.0)), "x / 4");
        assert_eq!(pretty(&(&x * &x)), "x²");
        assert_eq!(pretty(&Expr::constant(0.1)), "0.1");
    }
    #[test]
    fn deep_equations_and_those_that_share_their_parts_often_are_printed() {
        let x = Expr::symbol("x");
        let deep = (0..200_000).fold(x.clone(), |e, _| (e + 0.5).sqrt());
        assert!(pretty(&deep).ends_with(" + 0.5)"));
        let products = (0..2000).fold(x.clone(), |e, _| (&e * &x).sin());
        assert!(pretty(&products).contains("sin(sin(x²) · x)"));
        let doubled = (0..60).fold(x, |e, _| &e + &e.exp());
        assert!(pretty(&doubled).starts_with("#0 = x + exp(x); "));
    }
}
