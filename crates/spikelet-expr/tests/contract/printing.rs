//! Printed equations.

use crate::dag::dags;
use insta::assert_snapshot;
use proptest::prelude::*;
use spikelet_expr::{Expr, ExprReader, Listing, Node, vjp};

fn symbols<const N: usize>(names: [&str; N]) -> [Expr; N] {
    names.map(Expr::symbol)
}

#[test]
fn the_equations_of_neurons_read_like_the_paper() {
    let [v, x, h, s] = symbols(["v", "x", "h", "s"]);
    assert_snapshot!(&v + &x, @"v + x");
    assert_snapshot!(&v + (&x - &v) / 3.0, @"v + (x - v) / 3");
    assert_snapshot!(&v + (&x - (&v - 0.25)) / 2.0, @"v + (x - (v - 0.25)) · 0.5");
    assert_snapshot!((&h - 1.0).ge(0.0), @"h - 1 ≥ 0");
    assert_snapshot!(&s * -0.1 + (1.0 - &s) * &h, @"s · -0.1 + (1 - s) · h");
    assert_snapshot!(&h - &s * 1.5, @"h - s · 1.5");
    assert_snapshot!((4.0 * (&h - 1.0)).sigmoid(), @"σ(4 · (h - 1))");
}

#[test]
fn parentheses_keep_the_order_of_evaluation() {
    let [a, b, c] = symbols(["a", "b", "c"]);
    assert_snapshot!((&a + &b) + &c, @"a + b + c");
    assert_snapshot!(&a + (&b + &c), @"a + (b + c)");
    assert_snapshot!(&a - (&b - &c), @"a - (b - c)");
    assert_snapshot!(&a * (&b * &c), @"a · (b · c)");
    assert_snapshot!((&a + &b) * &c, @"(a + b) · c");
    assert_snapshot!(&a / (&b * &c), @"a / (b · c)");
    assert_snapshot!(-(&a * &b), @"-(a · b)");
    assert_snapshot!((-&a) * &b, @"-a · b");
    assert_snapshot!(-(-&a + 1.0).abs(), @"-|1 - a|");
    assert_snapshot!(&a * -2.0 - -3.0 * &b, @"a · -2 - -3 · b");
}

#[test]
fn selections_comparisons_and_functions() {
    let [a, b] = symbols(["a", "b"]);
    assert_snapshot!(Expr::select(a.gt(&b), &a, &b) + 1.0, @"(a > b ? a : b) + 1");
    assert_snapshot!(Expr::select(a.gt(0.0), &a, Expr::select(a.lt(-1.0), -1.0, 0.0)), @"a > 0 ? a : (a < -1 ? -1 : 0)");
    assert_snapshot!((&a + &b).lt(a.le(&b)), @"a + b < (a ≤ b)");
    assert_snapshot!(a.equals(&b).max(a.differs(&b)).min(2.0), @"min(max(a = b, a ≠ b), 2)");
    assert_snapshot!(a.clamp(0.0, 1.0), @"min(max(a, 0), 1)");
    assert_snapshot!((&a * &a).pow(0.5).floor().round(), @"round(floor(pow(a · a, 0.5)))");
    assert_snapshot!(a.erf() + a.erfc() + a.atan() + a.tanh(), @"erf(a) + erfc(a) + atan(a) + tanh(a)");
    assert_snapshot!(a.sin() * a.cos() / a.sqrt() - a.ln(), @"sin(a) · cos(a) / sqrt(a) - ln(a)");
}

#[test]
fn numbers_from_f32_are_printed_with_the_digits_of_f32() {
    assert_snapshot!(Expr::from(0.1_f32), @"0.1");
    assert_snapshot!(Expr::from(0.1_f64), @"0.1");
    assert_snapshot!(Expr::from(1.0 / 3.0), @"0.3333333333333333");
    assert_snapshot!(Expr::from(-2.0), @"-2");
}

#[test]
fn a_custom_gradient_is_printed_by_its_value_and_differentiated_by_its_tangent() {
    let [x] = symbols(["x"]);
    let spike = Expr::custom_gradient((&x - 1.0).ge(0.0), (4.0 * (&x - 1.0)).sigmoid());
    assert_snapshot!(spike, @"x - 1 ≥ 0");
    assert_snapshot!(spike.derivative("x"), @"σ(4 · (x - 1)) · (1 - σ(4 · (x - 1))) · 4");
    assert_snapshot!((&x * (1.0 - &spike)).derivative("x"), @"1 - (x - 1 ≥ 0) + -x · (σ(4 · (x - 1)) · (1 - σ(4 · (x - 1)))) · 4");
}

fn read(text: &str) -> Expr {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

proptest! {
    #[test]
    fn what_is_printed_in_full_is_read_back(dag in dags(40)) {
        let all = dag.expressions();
        let (value, tangent) = (&all[all.len() - 1], &all[all.len() / 2]);
        let gradient = Expr::custom_gradient(value, tangent) - f64::from(0.1_f32);
        for expr in all.iter().chain([&gradient]) {
            let text = format!("{expr:#}");
            prop_assert_eq!(format!("{:#}", read(&text)), text);
        }
        // Equal parts are not joined, and shared ones not copied: the derivative has the same terms.
        let all = [&all[..], &all[..1], &[gradient, Expr::symbol("x") * Expr::symbol("x")]].concat();
        let listing = Listing::exact(&all);
        let mut reader = ExprReader::default();
        for part in &listing.shared {
            prop_assert_eq!(reader.define(part), Ok(part.len()));
        }
        for (text, expr) in listing.values.iter().zip(&all) {
            let (back, length) = reader.read(text).unwrap();
            prop_assert_eq!(length, text.len());
            let derivatives = |e: &Expr| format!("{:#}", vjp(&[(e.clone(), 1.0.into())], &["x"])[0]);
            prop_assert_eq!(derivatives(&back), derivatives(expr));
        }
    }
}

#[test]
fn names_numbers_and_shared_parts_are_read_back() {
    let odd = Expr::symbol("2nd w, é");
    assert_snapshot!(format!("{:#}", read(&format!("{:#}", odd + f64::from(0.1_f32)))), @"`2nd w, é` + 0.10000000149011612");
    for value in [
        0.1,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        5e-324,
        f64::MAX,
    ] {
        let back = read(&format!("{:#}", Expr::constant(value)));
        let Node::Const(back) = back.node() else {
            panic!("{back}");
        };
        assert!(back.to_bits() == value.to_bits() || value.is_nan() && back.is_nan());
    }
    let deep = (0..10_000).fold(Expr::symbol("x"), |x, _| x.exp());
    let text = format!("{deep:#}");
    assert_eq!(format!("{:#}", read(&text)), text);
    let doubled = (0..60).fold(Expr::symbol("x"), |x, _| &x + &x);
    let text = format!("{doubled:#}");
    assert!(text.starts_with("#0 = x + x; #1 = #0 + #0; "), "{text}");
    assert_eq!(format!("{:#}", read(&text)), text);
}

#[test]
fn a_text_that_is_no_expression_says_where_and_what_was_expected() {
    let error = |text: &str| {
        text.parse::<Expr>()
            .map_or_else(|e| e.to_string(), |e| e.to_string())
    };
    assert_snapshot!(error("a + "), @"byte 4: expected a number, a name, a function or a parenthesis");
    assert_snapshot!(error("exp(a"), @"byte 5: expected `)`");
    assert_snapshot!(error("a ? b"), @"byte 5: expected ` : `");
    assert_snapshot!(error("a b"), @"byte 1: expected the end of the expression");
    assert_snapshot!(error("#0 = a; #0 + #1"), @"byte 13: expected a number, a name, a function or a parenthesis");
    assert_snapshot!(error("gelu(a)"), @"byte 0: expected a function that expressions have");
    assert_snapshot!(error(&"-".repeat(1_000_000)), @"byte 500: expected no more than 500 nested expressions");
    assert_snapshot!(error(&"(".repeat(1_000_000)), @"byte 500: expected no more than 500 nested expressions");
}
