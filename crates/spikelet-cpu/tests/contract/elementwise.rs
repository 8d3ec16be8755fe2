//! Elementwise functions, comparisons and conditions.

use crate::harness::{check_forward, check_gradients, compute, tensor};
use spikelet_expr::Unary;
use spikelet_graph::{DType, Tensor, Var};

type Case = (&'static str, fn(&Var) -> Var, fn(f64) -> f64);

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn log_1p_exp(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// Functions that are defined for every x.
const EVERYWHERE: [Case; 22] = [
    ("square", Var::square, |x| x * x),
    ("abs", Var::abs, f64::abs),
    ("sign", Var::sign, f64::signum),
    ("round", Var::round, f64::round_ties_even),
    ("floor", Var::floor, f64::floor),
    ("ceil", Var::ceil, f64::ceil),
    ("exp", Var::exp, f64::exp),
    ("exp_m1", Var::exp_m1, f64::exp_m1),
    ("sin", Var::sin, f64::sin),
    ("cos", Var::cos, f64::cos),
    ("atan", Var::atan, f64::atan),
    ("tanh", Var::tanh, f64::tanh),
    ("sigmoid", Var::sigmoid, logistic),
    ("log_sigmoid", Var::log_sigmoid, |x| -log_1p_exp(-x)),
    ("erf", Var::erf, |x| Unary::Erf.apply(x)),
    ("relu", Var::relu, |x| x.max(0.0)),
    ("leaky_relu", |x| x.leaky_relu(0.1), |x| x.max(0.1 * x)),
    (
        "elu",
        |x| x.elu(0.7),
        |x| if x > 0.0 { x } else { 0.7 * x.exp_m1() },
    ),
    ("softplus", Var::softplus, log_1p_exp),
    ("silu", Var::silu, |x| x * logistic(x)),
    ("gelu", Var::gelu, |x| {
        x / 2.0 * Unary::Erfc.apply(-x / std::f64::consts::SQRT_2)
    }),
    ("hard_tanh", Var::hard_tanh, |x| x.clamp(-1.0, 1.0)),
];

/// Functions of positive numbers.
const POSITIVE: [Case; 8] = [
    ("sqrt", Var::sqrt, f64::sqrt),
    ("rsqrt", Var::rsqrt, |x| 1.0 / x.sqrt()),
    ("reciprocal", Var::reciprocal, f64::recip),
    ("ln", Var::ln, f64::ln),
    ("ln_1p", Var::ln_1p, f64::ln_1p),
    ("pow(2)", |x| x.pow(2.0), |x| x * x),
    ("pow(1.7)", |x| x.pow(1.7), |x| x.powf(1.7)),
    ("pow(-0.5)", |x| x.pow(-0.5), |x| x.powf(-0.5)),
];

/// Irregular numbers in [−3, 3] (or [0.1, 3.1]), none next to an integer, where some functions have a kink.
fn points(positive: bool) -> Tensor {
    let shift = |x: f64| match positive {
        true => 1.5 * x + 1.6,
        false => 3.0 * x,
    };
    let values = tensor(&[64], 3).to_f64().into_iter().map(shift);
    let smooth = |x: &f64| (x - x.round()).abs() > 0.01 && (x - x.trunc()).abs() != 0.5;
    let values: Vec<f64> = values.filter(smooth).collect();
    Tensor::f64([values.len()], values)
}

#[test]
fn every_function_has_its_value_and_its_derivative() {
    for (cases, positive) in [(&EVERYWHERE[..], false), (&POSITIVE[..], true)] {
        let x = points(positive);
        for (name, function, reference) in cases {
            println!("{name}");
            let want: Vec<f64> = x.to_f64().into_iter().map(reference).collect();
            let inputs = std::slice::from_ref(&x);
            check_forward(inputs, &x.shape, &want, |_, x| function(&x[0]));
            check_gradients(inputs, |_, x| function(&x[0]));
        }
    }
}

#[test]
fn second_derivatives_are_those_of_the_functions() {
    type Function = fn(&Var) -> Var;
    let functions: [Function; 6] = [
        Var::softplus,
        Var::exp_m1,
        Var::ln_1p,
        Var::gelu,
        Var::silu,
        |x| x.norm(&[0]).pow(1.5),
    ];
    for function in functions {
        check_gradients(&[points(true)], |tracer, x| {
            let y = function(&x[0]).sum_all();
            tracer.gradients(&y, &[&x[0]]).remove(0)
        });
    }
}

/// The f32 results and derivatives of a function at some points, as f64.
fn single(function: fn(&Var) -> Var, at: &[f32]) -> (Vec<f64>, Vec<f64>) {
    let x = Tensor::f32([at.len()], at);
    let y = compute(std::slice::from_ref(&x), |_, x| function(&x[0]));
    let dy = compute(&[x], |tracer, x| {
        let y = function(&x[0]).sum_all();
        tracer.gradients(&y, &[&x[0]]).remove(0)
    });
    (y.to_f64(), dy.to_f64())
}

#[test]
fn functions_near_zero_keep_their_digits() {
    let at = [1e-7_f32, -1e-7, 3e-5, -3e-5, 1e-3, -1e-3, 0.3, -0.3];
    type Pair = (fn(&Var) -> Var, fn(f64) -> f64);
    let pairs: [Pair; 2] = [(Var::ln_1p, f64::ln_1p), (Var::exp_m1, f64::exp_m1)];
    for (function, reference) in pairs {
        for (x, y) in at.iter().zip(single(function, &at).0) {
            let want = reference(f64::from(*x));
            assert!(
                (y - want).abs() <= 5e-7 * want.abs(),
                "{x}: {y}, not {want}"
            );
        }
    }
}

#[test]
fn functions_of_large_and_infinite_numbers_have_their_limits() {
    let (inf, nan) = (f32::INFINITY, f64::NAN);
    type Limits = (fn(&Var) -> Var, [f64; 5], [f64; 5]);
    let cases: [Limits; 5] = [
        (
            Var::softplus,
            [0.0, 0.0, 2.0_f64.ln(), 1000.0, f64::INFINITY],
            [0.0, 0.0, 0.5, 1.0, 1.0],
        ),
        (
            Var::log_sigmoid,
            [f64::NEG_INFINITY, -1000.0, -2.0_f64.ln(), 0.0, 0.0],
            [1.0, 1.0, 0.5, 0.0, 0.0],
        ),
        (
            Var::exp_m1,
            [-1.0, -1.0, 0.0, f64::INFINITY, f64::INFINITY],
            [0.0, 0.0, 1.0, f64::INFINITY, f64::INFINITY],
        ),
        (
            |x| x.relu().ln_1p(),
            [0.0, 0.0, 0.0, 1001.0_f64.ln(), f64::INFINITY],
            [0.0, 0.0, 0.0, 1.0 / 1001.0, 0.0],
        ),
        (
            Var::gelu,
            [nan, 0.0, 0.0, 1000.0, f64::INFINITY],
            [nan, 0.0, 0.5, 1.0, nan],
        ),
    ];
    for (k, (function, values, slopes)) in cases.into_iter().enumerate() {
        let (y, dy) = single(function, &[-inf, -1000.0, 0.0, 1000.0, inf]);
        for (given, want) in y.iter().zip(values).chain(dy.iter().zip(slopes)) {
            let same = *given == want || (given - want).abs() <= 1e-6 * want.abs();
            assert!(want.is_nan() || same, "function {k}: {given}, not {want}");
        }
    }
}

#[test]
fn limits_powers_and_extrema_take_tensors_and_numbers() {
    let x = points(true);
    let n = x.shape[0];
    let y = Tensor::f64([n], tensor(&[n], 9).to_f64());
    let inputs = [x.clone(), y.clone()];
    let pairs = || x.to_f64().into_iter().zip(y.to_f64());
    let want: Vec<f64> = pairs().map(|(x, y)| x.powf(y)).collect();
    check_forward(&inputs, &[n], &want, |_, x| x[0].pow(&x[1]));
    let want: Vec<f64> = pairs().map(|(x, y)| x.min(y)).collect();
    check_forward(&inputs, &[n], &want, |_, x| x[0].minimum(&x[1]));
    let want: Vec<f64> = pairs().map(|(x, y)| x.max(2.0 * y).min(2.1)).collect();
    let limited = |x: &[Var]| x[0].clamp(&(&x[1] * 2.0), 2.1);
    check_forward(&inputs, &[n], &want, |_, x| limited(x));
    check_gradients(&inputs, |_, x| x[0].pow(&x[1]));
    check_gradients(&inputs, |_, x| x[0].minimum(&x[1]).maximum(0.3));
    check_gradients(&inputs, |_, x| limited(x));
    let base = Tensor::f64([4, 1], [0.5, 1.5, 2.0, 3.0]);
    let exponent = Tensor::f64([3], [-1.0, 0.5, 2.5]);
    check_gradients(&[base, exponent], |_, x| x[0].pow(&x[1]));
}

#[test]
fn a_power_of_zero_has_a_finite_gradient() {
    let inputs = [
        Tensor::f64([3], [0.0, 0.0, -2.0]),
        Tensor::f64([3], [2.0, 1.0, 3.0]),
    ];
    let gradients = |k: usize| {
        compute(&inputs, |tracer, x| {
            let loss = x[0].pow(&x[1]).sum_all();
            tracer.gradients(&loss, &[&x[k]]).remove(0)
        })
        .to_f64()
    };
    assert_eq!(gradients(0), [0.0, 1.0, 12.0]);
    assert_eq!(gradients(1)[..2], [0.0, 0.0]);
    assert!(gradients(1)[2].is_nan());
}

#[test]
fn comparisons_are_one_or_zero_and_have_no_gradient() {
    let x = Tensor::f64([5], [1.0, 2.0, 3.0, f64::NAN, -0.0]);
    let y = Tensor::f64([5], [2.0, 2.0, 2.0, 2.0, 0.0]);
    type Compare = fn(&Var, &Var) -> Var;
    let cases: [(Compare, [f64; 5]); 6] = [
        (|x, y| x.gt(y), [0.0, 0.0, 1.0, 0.0, 0.0]),
        (|x, y| x.ge(y), [0.0, 1.0, 1.0, 0.0, 1.0]),
        (|x, y| x.lt(y), [1.0, 0.0, 0.0, 0.0, 0.0]),
        (|x, y| x.le(y), [1.0, 1.0, 0.0, 0.0, 1.0]),
        (|x, y| x.equals(y), [0.0, 1.0, 0.0, 0.0, 1.0]),
        (|x, y| x.differs(y), [1.0, 0.0, 1.0, 1.0, 0.0]),
    ];
    for (compare, want) in cases {
        let inputs = [x.clone(), y.clone()];
        let got = compute(&inputs, |_, x| compare(&x[0], &x[1]));
        assert_eq!(got.to_f64(), want);
        let gradient = compute(&inputs, |tracer, x| {
            let loss = compare(&x[0], &x[1]).sum_all();
            tracer.gradients(&loss, &[&x[0]]).remove(0)
        });
        assert_eq!(gradient.to_f64(), [0.0; 5]);
    }
    let number = compute(&[x], |_, x| x[0].gt(1.5) + x[0].le(1.5) * 2.0);
    assert_eq!(number.to_f64(), [2.0, 1.0, 1.0, 0.0, 2.0]);
    let labels = Tensor::i64([3], [0, 7, 2]);
    let hits = compute(&[labels, tensor(&[1], 1)], |_, x| {
        x[0].equals(7.0) + x[0].differs(2.0) * 2.0
    });
    assert_eq!(hits, Tensor::f64([3], [2.0, 3.0, 0.0]));
}

#[test]
fn conditions_combine() {
    let x = Tensor::f64([4], [0.0, 0.0, 1.0, 2.0]);
    let y = Tensor::f64([4], [0.0, 3.0, 0.0, 1.0]);
    type Combine = fn(&Var, &Var) -> Var;
    let cases: [(Combine, [f64; 4]); 4] = [
        (|x, y| x.logical_and(y), [0.0, 0.0, 0.0, 1.0]),
        (|x, y| x.logical_or(y), [0.0, 1.0, 1.0, 1.0]),
        (|x, y| x.logical_xor(y), [0.0, 1.0, 1.0, 0.0]),
        (|x, _| x.logical_not(), [1.0, 1.0, 0.0, 0.0]),
    ];
    for (combine, want) in cases {
        let got = compute(&[x.clone(), y.clone()], |_, x| combine(&x[0], &x[1]));
        assert_eq!(got.to_f64(), want);
    }
}

#[test]
fn a_condition_selects_values_and_gradients() {
    let condition = Tensor::f64([2, 1], [0.0, 1.0]);
    let (a, b) = (tensor(&[2, 3], 1), tensor(&[3], 2));
    let (x, y) = (a.to_f64(), b.to_f64());
    let want = [y[0], y[1], y[2], x[3], x[4], x[5]];
    let inputs = [condition.clone(), a.clone(), b];
    check_forward(&inputs, &[2, 3], &want, |_, x| x[0].where_(&x[1], &x[2]));
    check_gradients(&inputs[1..], |_, x| {
        x[0].gt(0.2).where_(&x[0].square(), &x[1])
    });
    let ty = compute(&[condition.cast(DType::F32)], |_, x| x[0].where_(1.0, -1.0));
    assert_eq!(ty, Tensor::f32([2, 1], [-1.0, 1.0]));
}
