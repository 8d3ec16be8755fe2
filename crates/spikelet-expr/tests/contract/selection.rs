//! A selection takes one branch; it is not a sum of products.

use crate::naive::evaluate;
use spikelet_expr::{Expr, Program};

fn run(expr: &Expr, x: &[f32]) -> Vec<f32> {
    let program = Program::compile(std::slice::from_ref(expr), &[], &["x"]).unwrap();
    let mut result = vec![0.0; x.len()];
    program.step(&mut program.workspace(x.len()), &[x], &mut [&mut result]);
    result
}

#[test]
fn a_nan_in_the_branch_that_is_not_taken_stays_there() {
    let x = Expr::symbol("x");
    let root = Expr::select(x.gt(0.0), x.sqrt(), 0.0);
    assert_eq!(run(&root, &[-4.0, 0.0, 4.0]), [0.0, 0.0, 2.0]);
    let log = Expr::select(x.le(0.0), -1.0, x.ln());
    assert_eq!(run(&log, &[-1.0, 0.0, 1.0]), [-1.0, -1.0, 0.0]);
}

#[test]
fn a_nan_in_a_comparison_counts_as_no() {
    let x = Expr::symbol("x");
    let sign = Expr::select(x.ge(0.0), 1.0, -1.0);
    assert_eq!(run(&sign, &[f32::NAN, 1.0]), [-1.0, 1.0]);
    assert_eq!(run(&x.differs(&x), &[f32::NAN, 1.0]), [1.0, 0.0]);
}

#[test]
fn a_condition_need_not_be_a_comparison() {
    let x = Expr::symbol("x");
    let chosen = Expr::select(&x, 10.0, 20.0);
    assert_eq!(
        run(&chosen, &[0.0, -0.0, 0.5, f32::NAN]),
        [20.0, 20.0, 10.0, 10.0]
    );
}

#[test]
fn the_derivative_of_a_selection_is_that_of_the_branch_alone() {
    let x = Expr::symbol("x");
    let root = Expr::select(x.gt(0.0), x.sqrt(), 0.0);
    let nested = Expr::select(x.gt(0.0), Expr::select(x.lt(9.0), x.sqrt(), 3.0), -&x);
    let reciprocal = Expr::select(x.equals(0.0), 5.0 * &x, 1.0 / &x);
    for (f, expected) in [
        (root, [0.0, 0.0, 0.25]),
        (nested, [-1.0, -1.0, 0.25]),
        (reciprocal, [-0.0625, 5.0, -0.0625]),
    ] {
        let slope = f.derivative("x");
        let got = [-4.0, 0.0, 4.0].map(|x: f64| evaluate(&slope, &|_| x));
        assert_eq!(got, expected, "{slope}");
    }
}

/// `steps` nested selections with different conditions; the slope of the branches for failed
/// conditions is infinite at zero.
fn nested(steps: usize) -> Expr {
    let x = Expr::symbol("x");
    (0..steps).fold(x.clone(), |inner, k| {
        let bound = k as f64 + 1.0;
        Expr::select(x.gt(-bound), 0.5 * inner, 1.0 / &x)
    })
}

#[test]
fn the_derivative_of_many_nested_selections_is_that_of_the_branches_taken() {
    let slope = nested(40).derivative("x");
    let at = |x: f64| evaluate(&slope, &|_| x);
    // Every condition holds.
    assert_eq!(at(0.0), 0.5_f64.powi(40));
    assert_eq!(at(-0.5), 0.5_f64.powi(40));
    // The outer 32 hold, then none.
    assert_eq!(at(-8.0), 0.5_f64.powi(32) * (-1.0 / 64.0));
    assert_eq!(at(-64.0), -1.0 / 4096.0);
}

#[test]
fn the_derivative_of_nested_selections_grows_as_they_do() {
    let operations = |steps: usize| {
        let slope = nested(steps).derivative("x");
        let program = Program::compile(&[slope], &[], &["x"]).unwrap();
        program.operations()
    };
    let (few, many) = (operations(100), operations(1000));
    assert!(many < 12 * few, "{few} operations became {many}");
}
