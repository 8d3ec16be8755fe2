//! Derivatives against central differences, in f64.

use crate::naive::evaluate;
use proptest::prelude::*;
use spikelet_expr::{Expr, Unary, vjp};

/// A smooth function of values within [−1, 1] that stays there.
fn smooth(kind: usize, a: &Expr, b: &Expr) -> Expr {
    match kind {
        0 => (a + b) * 0.5,
        1 => (a - b) * 0.5,
        2 => a * b,
        3 => a / (2.0 + b),
        4 => a.tanh(),
        5 => a.sigmoid(),
        6 => a.atan(),
        7 => a.erf(),
        8 => a.erfc() * 0.5,
        9 => a.sin(),
        10 => a.cos(),
        11 => a.exp() / 3.0,
        12 => (2.0 + a).ln(),
        13 => (2.0 + a).sqrt() * 0.5,
        14 => (2.0 + a).pow(b) / 3.0,
        15 => (2.0 + a).pow(2.5) / 16.0,
        _ => -a,
    }
}

fn smooth_trees() -> impl Strategy<Value = Vec<Expr>> {
    let step = (0..17_usize, any::<[prop::sample::Index; 2]>());
    prop::collection::vec(step, 1..9).prop_map(|steps| {
        let mut all = vec![Expr::symbol("x"), Expr::symbol("y")];
        for (kind, picks) in steps {
            let [a, b] = picks.map(|i| i.get(&all).clone());
            all.push(smooth(kind, &a, &b));
        }
        all
    })
}

fn at(expr: &Expr, x: f64, y: f64) -> f64 {
    evaluate(expr, &|name| if name == "x" { x } else { y })
}

/// Fourth-order central differences with respect to x and y.
fn differences(f: &dyn Fn(f64, f64) -> f64, x: f64, y: f64) -> [f64; 2] {
    let h = 1e-3;
    let slope =
        |g: &dyn Fn(f64) -> f64| (8.0 * (g(h) - g(-h)) - (g(2.0 * h) - g(-2.0 * h))) / (12.0 * h);
    [slope(&|d| f(x + d, y)), slope(&|d| f(x, y + d))]
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn derivatives_of_smooth_expressions_equal_central_differences(
        all in smooth_trees(), x in -0.9..0.9_f64, y in -0.9..0.9_f64,
    ) {
        let f = all.last().unwrap();
        let expected = differences(&|x, y| at(f, x, y), x, y);
        for (name, expected) in ["x", "y"].iter().zip(expected) {
            let got = at(&f.derivative(name), x, y);
            prop_assert!(close(got, expected), "d/d{} of {}: {}, not {}", name, f, got, expected);
        }
    }

    #[test]
    fn derivatives_of_derivatives_are_second_derivatives(
        all in smooth_trees(), x in -0.9..0.9_f64, y in -0.9..0.9_f64,
    ) {
        let f = all.last().unwrap().derivative("x");
        let expected = differences(&|x, y| at(&f, x, y), x, y);
        for (name, expected) in ["x", "y"].iter().zip(expected) {
            let got = at(&f.derivative(name), x, y);
            prop_assert!(close(got, expected), "d²/dx d{}: {}, not {}", name, got, expected);
        }
    }

    #[test]
    fn several_outputs_are_pulled_back_as_their_weighted_sum(
        all in smooth_trees(), x in -0.9..0.9_f64, y in -0.9..0.9_f64,
    ) {
        let weights: Vec<f64> = (0..all.len()).map(|k| 0.5 - 0.3 * k as f64).collect();
        let pairs: Vec<(Expr, Expr)> =
            all.iter().zip(&weights).map(|(f, &w)| (f.clone(), Expr::from(w))).collect();
        let total = |x: f64, y: f64| all.iter().zip(&weights).map(|(f, w)| w * at(f, x, y)).sum();
        let expected = differences(&total, x, y);
        for (got, expected) in vjp(&pairs, &["x", "y"]).iter().zip(expected) {
            prop_assert!(close(at(got, x, y), expected), "{} {}", at(got, x, y), expected);
        }
    }
}

#[test]
fn the_derivative_of_every_elementary_function_equals_central_differences() {
    let x = Expr::symbol("x");
    for op in Unary::ALL.into_iter().filter(|op| op.is_elementary()) {
        let f = Expr::unary(op, &x);
        for point in [-2.3, -0.7, -0.1, 0.2, 0.9, 3.1] {
            let [expected, _] = differences(&|x, _| at(&f, x, 0.0), point, 0.0);
            let got = at(&f.derivative("x"), point, 0.0);
            // Points outside the domain have no derivative.
            let agree = close(got, expected) || !at(&f, point, 0.0).is_finite();
            assert!(agree, "{f} at {point}: {got}, not {expected}");
        }
    }
}

#[test]
fn functions_with_kinks_have_the_slope_of_the_side() {
    let x = Expr::symbol("x");
    let slope = |f: &Expr, x: f64| at(&f.derivative("x"), x, 0.0);
    assert_eq!(
        [-2.0, 0.0, 2.0].map(|at| slope(&x.abs(), at)),
        [-1.0, 0.0, 1.0]
    );
    let clamped = x.clamp(-1.0, 1.0);
    assert_eq!(
        [-2.0, -1.0, 0.0, 1.0, 2.0].map(|at| slope(&clamped, at)),
        [0.0, 1.0, 1.0, 1.0, 0.0]
    );
    let (y, three) = (Expr::symbol("y"), Expr::constant(3.0));
    assert_eq!(at(&x.min(&y).derivative("y"), 1.0, 1.0), 0.0);
    assert_eq!(at(&x.max(&y).derivative("y"), 1.0, 2.0), 1.0);
    let piecewise = Expr::select(x.gt(1.0), &x * &x, &three * &x);
    assert_eq!(
        [0.0, 1.0, 2.0].map(|at| slope(&piecewise, at)),
        [3.0, 3.0, 4.0]
    );
    for flat in [x.round(), x.floor(), x.gt(0.0), x.equals(1.0), x.detach()] {
        assert_eq!(flat.derivative("x").as_constant(), Some(0.0));
    }
}

#[test]
fn symbols_with_the_same_name_are_the_same_symbol() {
    let f = Expr::symbol("x") * Expr::symbol("x");
    assert_eq!(at(&f.derivative("x"), 3.0, 0.0), 6.0);
}

#[test]
fn substitution_replaces_symbols_in_values_and_tangents() {
    let x = Expr::symbol("x");
    let spike = Expr::custom_gradient(x.ge(0.0), x.sigmoid());
    let shifted = spike.substitute(&|name| (name == "x").then(|| Expr::symbol("h") - 1.0));
    assert_eq!(shifted.to_string(), "h - 1 ≥ 0");
    assert_eq!(shifted.symbols(), ["h"]);
    assert_eq!(shifted.derivative("h").symbols(), ["h"]);
}
