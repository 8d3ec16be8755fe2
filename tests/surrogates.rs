//! Every surrogate against its formula, written out in plain Rust.

#[path = "surrogates/formulas.rs"]
mod formulas;

use formulas::{Case, Formula, cases};
use serde_json::json;
use spikelet::document::DocumentProblem;
use spikelet::surrogate::{SURROGATES, from_spec};
use spikelet_expr::Evaluate;
use spikelet_expr::{Expr, Program};

fn evaluate<R: Evaluate>(expr: &Expr, xs: &[f64]) -> Vec<f64> {
    let program = Program::compile(std::slice::from_ref(expr), &[], &["x"])
        .expect("an expression in x alone");
    let mut work = program.workspace::<R>(xs.len());
    program.set_uniform(&mut work, &[]);
    let xs: Vec<R> = xs.iter().map(|&x| R::from_f64(x)).collect();
    let mut ys = vec![R::ZERO; xs.len()];
    program.step(&mut work, &[&xs], &mut [&mut ys]);
    ys.into_iter().map(R::to_f64).collect()
}

/// A grid of numbers that f32 holds, the kinks, and their neighbors in f32.
fn samples(case: &Case) -> Vec<f64> {
    let mut xs: Vec<f64> = (-96..=96).map(|i| f64::from(i) / 16.0).collect();
    xs.extend([-0.0, 1e-3, -1e-3, 20.0, -20.0]);
    for kink in &case.kinks {
        let near = *kink as f32;
        xs.extend([near.next_down(), near, near.next_up()].map(f64::from));
    }
    xs
}

fn compare<R: Evaluate>(case: &Case, what: &str, expr: &Expr, formula: &Formula, tolerance: f64) {
    let xs = samples(case);
    for (x, got) in xs.iter().zip(evaluate::<R>(expr, &xs)) {
        let x = R::from_f64(*x).to_f64();
        let want = formula(x);
        assert!(
            (got - want).abs() <= tolerance * want.abs().max(1.0),
            "{} {what} at {x}: {got}, expected {want}",
            case.spec
        );
    }
}

#[test]
fn every_surrogate_has_cases_and_the_first_is_its_default() {
    for name in SURROGATES.names() {
        let first = cases()
            .into_iter()
            .find(|case| case.spec["name"] == name)
            .unwrap_or_else(|| panic!("`{name}` has no case"));
        assert_eq!(
            from_spec(&json!(name)).unwrap().spec(),
            first.spec,
            "a name alone means the defaults"
        );
    }
}

#[test]
fn derivatives_and_primitives_are_the_written_formulas_boundaries_included() {
    for case in cases() {
        let derivative = case.derivative_expr();
        compare::<f64>(&case, "g'", &derivative, &case.derivative, 1e-13);
        compare::<f32>(&case, "g'", &derivative, &case.derivative, 3e-6);
        assert_eq!(case.primitive_expr().is_some(), case.primitive.is_some());
        if let (Some(g), Some(formula)) = (case.primitive_expr(), &case.primitive) {
            compare::<f64>(&case, "g", &g, formula, 1e-13);
            compare::<f32>(&case, "g", &g, formula, 3e-6);
        }
    }
}

#[test]
fn the_derivative_is_that_of_the_primitive() {
    const H: f64 = 1e-5;
    for case in cases() {
        let Some(g) = case.primitive_expr() else {
            continue;
        };
        let smooth = |x: &f64| case.kinks.iter().all(|kink| (x - kink).abs() > 1e-3);
        let xs: Vec<f64> = (-100..=100)
            .map(|i| 0.0531 * f64::from(i) + 0.0007)
            .filter(smooth)
            .collect();
        let shifted = |by: f64| evaluate::<f64>(&g, &xs.iter().map(|x| x + by).collect::<Vec<_>>());
        let (above, below) = (shifted(H), shifted(-H));
        let got = evaluate::<f64>(&case.derivative_expr(), &xs);
        for i in 0..xs.len() {
            let difference = (above[i] - below[i]) / (2.0 * H);
            assert!(
                (got[i] - difference).abs() <= case.slack * difference.abs().max(1.0),
                "{} at {}: {} against a difference quotient of {difference}",
                case.spec,
                xs[i],
                got[i]
            );
        }
    }
}

fn assert_finite<R: Evaluate>(case: &Case, largest: f64) {
    let mut xs = samples(case);
    xs.extend([1e-45, -1e-45, 1e-38, -1e-38, 1e30, -1e30]);
    let moderate = xs.len();
    xs.extend([largest, -largest]);
    for expr in std::iter::once(case.derivative_expr()).chain(case.primitive_expr()) {
        for (i, y) in evaluate::<R>(&expr, &xs).into_iter().enumerate() {
            let fine = y.is_finite() || (i >= moderate && !y.is_nan());
            assert!(fine, "{} at {}: {expr} is {y}", case.spec, xs[i]);
        }
    }
}

#[test]
fn finite_inputs_give_finite_values_at_every_pole_and_far_out() {
    for case in cases() {
        assert_finite::<f32>(&case, f32::MAX.into());
        assert_finite::<f64>(&case, f64::MAX);
    }
}

#[test]
fn nan_goes_where_the_comparisons_send_it() {
    for case in cases() {
        let derivative = case.derivative_expr();
        for got in [
            evaluate::<f32>(&derivative, &[f64::NAN])[0],
            evaluate::<f64>(&derivative, &[f64::NAN])[0],
        ] {
            let same = got.is_nan() == case.at_nan.is_nan();
            assert!(same, "{} at NaN: {got}", case.spec);
            assert!(
                got.is_nan() || (got - case.at_nan).abs() < 1e-7,
                "{} at NaN: {got}, expected {}",
                case.spec,
                case.at_nan
            );
        }
    }
}

#[test]
fn a_specification_names_its_surrogate_and_builds_it_again() {
    for name in SURROGATES.names() {
        let built = SURROGATES.named(name).unwrap();
        assert_eq!(built.spec()["name"], name);
        assert_eq!(*from_spec(&built.spec()).unwrap(), *built);
    }
    for case in cases() {
        let once = case.surrogate();
        assert_eq!(once.spec(), case.spec);
        let again = from_spec(&once.spec()).unwrap();
        assert_eq!(format!("{again:?}"), format!("{once:?}"));
    }
}

#[test]
fn names_are_unique_and_in_alphabetical_order() {
    let names: Vec<&str> = SURROGATES.names().collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
}

#[test]
fn an_unknown_constant_is_refused_with_a_list_of_the_known_ones() {
    for name in SURROGATES.names() {
        let error = from_spec(&json!({"name": name, "unknown": 1.0})).unwrap_err();
        let spikelet::DefinitionError::Field { problem, .. } = error else {
            panic!("another error: {error}");
        };
        let DocumentProblem::UnknownKey { owner, key, known } = &*problem else {
            panic!("another problem: {problem}");
        };
        assert_eq!((&**owner, &**key), (&*format!("`{name}`"), "unknown"));
        let fields = SURROGATES.find(name).unwrap().declaration.fields;
        assert!(
            fields
                .iter()
                .all(|field| known.contains(&field.key.to_string()))
        );
    }
}

#[test]
fn a_constant_of_the_wrong_type_is_refused() {
    for spec in [
        json!({"name": "atan", "alpha": "steep"}),
        json!({"name": "squarewave_fourier_series", "n": 2.5}),
        json!({"name": "multi_level_spike_count", "max_spike_count": -1}),
    ] {
        let error = from_spec(&spec).unwrap_err();
        assert!(
            matches!(error, spikelet::DefinitionError::Field { .. }),
            "{error}"
        );
    }
}

fn fires(case: &Case, x: f64, noise: f64) -> f64 {
    let forward = case
        .surrogate()
        .forward(&Expr::symbol("x"), &Expr::constant(noise));
    evaluate::<f32>(&forward, &[x])[0]
}

#[test]
fn a_surrogate_without_noise_fires_at_zero_and_above() {
    let deterministic = |case: &Case| {
        let surrogate = case.surrogate();
        surrogate.is_binary() && !surrogate.needs_noise()
    };
    for case in cases().iter().filter(|case| deterministic(case)) {
        for (x, spike) in [
            (0.0, 1.0),
            (-0.0, 1.0),
            (3.0, 1.0),
            (-1e-7, 0.0),
            (-3.0, 0.0),
        ] {
            assert_eq!(fires(case, x, 0.5), spike, "{} at {x}", case.spec);
        }
    }
}

#[test]
fn poisson_pass_fires_where_the_draw_is_not_above_x() {
    let case = Case::new(json!({"name": "poisson_pass"}), |_| 1.0);
    assert!(case.surrogate().needs_noise() && case.surrogate().is_binary());
    let smallest = f64::from(f32::MIN_POSITIVE);
    for (x, noise, spike) in [
        (0.5, 0.5, 1.0),
        (0.5, 0.75, 0.0),
        (0.0, smallest, 0.0),
        (-1.0, smallest, 0.0),
        (1.0, 1.0, 1.0),
        (2.0, 1.0, 1.0),
    ] {
        assert_eq!(fires(&case, x, noise), spike, "x = {x}, noise = {noise}");
    }
}

#[test]
fn multi_level_spike_counts_are_rounded_to_even_and_bounded() {
    let spec = json!({"name": "multi_level_spike_count", "max_spike_count": 3});
    let case = Case::new(spec, |_| 1.0);
    assert!(!case.surrogate().is_binary() && !case.surrogate().needs_noise());
    for (x, count) in [
        (-2.0, 0.0),
        (0.5, 0.0),
        (0.51, 1.0),
        (1.5, 2.0),
        (2.5, 2.0),
        (2.6, 3.0),
        (9.0, 3.0),
    ] {
        assert_eq!(fires(&case, x, 0.5), count, "x = {x}");
    }
}
