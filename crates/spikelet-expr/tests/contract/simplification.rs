//! Simplification preserves finite values.

use crate::dag::{Step, dags};
use crate::naive::evaluate;
use proptest::prelude::*;
use spikelet_expr::{Expr, Node};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn simplification_never_changes_a_finite_value(
        dag in dags(14),
        symbols in prop::array::uniform4(prop_oneof![
            -3.0..3.0_f64,
            prop::sample::select(vec![0.0, 1.0, -1.0, 0.5]),
        ]),
    ) {
        let values = dag.values(symbols);
        let look_up = |name: &str| match name {
            "x" => symbols[0],
            "y" => symbols[1],
            "v" => symbols[2],
            _ => symbols[3],
        };
        // A value is compared if all its operands are finite.
        let leaves = values.len() - dag.steps.len();
        let mut finite = vec![true; leaves];
        for step in &dag.steps {
            let at = finite.len();
            let from = match *step {
                Step::Unary(_, a) => finite[a],
                Step::Binary(_, a, b) => finite[a] && finite[b],
                Step::Select(c, a, b) => finite[c] && finite[a] && finite[b],
            };
            finite.push(from && values[at].is_finite());
        }
        for ((expr, value), finite) in dag.expressions().iter().zip(values).zip(finite) {
            if finite {
                // Zero may change its sign, hence `==`.
                let got = evaluate::<f64>(expr, &look_up);
                prop_assert!(got == value, "{}: {} became {}", expr, value, got);
            }
        }
    }
}

#[test]
fn vanishing_and_neutral_operands_are_removed() {
    let x = Expr::symbol("x");
    for (expr, text) in [
        (&x * 0.0, "0"),
        (0.0 / &x, "0"),
        (&x + 0.0, "x"),
        (0.0 - &x, "-x"),
        (&x * 1.0, "x"),
        (&x / 1.0, "x"),
        (x.pow(1.0), "x"),
        (&x * -1.0, "-x"),
        (-(-&x), "x"),
        (-(&x - 2.0), "2 - x"),
        (&x + -(&x * &x), "x - x · x"),
        (Expr::select(1.0, &x, 3.0), "x"),
        (Expr::select(x.gt(0.0), 1.0, 0.0), "x > 0"),
        (Expr::select(x.gt(0.0), 2.0, 2.0), "2"),
        (Expr::select(x.gt(0.0), &x, &x), "x"),
        (Expr::constant(0.1) + 0.2, "0.30000000000000004"),
    ] {
        assert_eq!(expr.to_string(), text);
    }
}

#[test]
fn only_division_by_a_power_of_two_becomes_a_product() {
    let x = Expr::symbol("x");
    assert_eq!((&x / 4.0).to_string(), "x · 0.25");
    assert_eq!((&x / -0.5).to_string(), "x · -2");
    for c in [3.0, 0.1, 6.0] {
        assert!(matches!(
            (&x / c).node(),
            Node::Binary(spikelet_expr::Binary::Div, ..)
        ));
    }
}
