//! Every function of `cfunction`, in `float` and `half2`, against its formula in f64: on the host,
//! on a GPU, and through the compiler.

mod backward;

use crate::machine::{Job, Value, Values};
use crate::on_both;
use spikelet_auto_cuda::cfunction as c;
use spikelet_auto_cuda::{CKernel1D, Dtype, Kernel};
use spikelet_graph::f16;

const OPERANDS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Prints a function of the operands for a target.
type Codes = Box<dyn Fn(&str, &[&str], Dtype) -> String>;

/// What a function of numbers gives.
type Formula = Box<dyn Fn(&[f64], Dtype) -> f64>;

/// A function, how it is printed, and its formula.
struct Case {
    name: &'static str,
    /// Values of the operands.
    points: Vec<Vec<f64>>,
    codes: Codes,
    formula: Formula,
}

fn nan() -> f64 {
    f64::NAN
}

const INFINITY: f64 = f64::INFINITY;

/// Where functions of one number do something, with both signs.
fn line(edges: &[f64]) -> Vec<Vec<f64>> {
    let usual = [
        0.0, 1e-30, 6e-8, 0.001, 0.125, 0.3, 0.49, 0.5, 0.51, 0.75, 1.0, 1.5, 2.0, 3.7, 10.0, 60.0,
        90.0, 1000.0, 60000.0, 1e20, 3e38, INFINITY,
    ];
    let near = edges.iter().flat_map(|x| [*x, x * 0.998, x * 1.002]);
    let all = usual.into_iter().chain(near);
    let mut points: Vec<Vec<f64>> = all.flat_map(|x| [vec![x], vec![-x]]).collect();
    points.push(vec![nan()]);
    points
}

fn grid(values: &[f64]) -> Vec<Vec<f64>> {
    let pairs = |a: f64| values.iter().map(move |b| vec![a, *b]);
    values.iter().flat_map(|a| pairs(*a)).collect()
}

fn one(
    name: &'static str,
    codes: impl Fn(&str, &str, Dtype) -> String + 'static,
    formula: impl Fn(f64) -> f64 + 'static,
    edges: &[f64],
) -> Case {
    Case {
        name,
        points: line(edges),
        codes: Box::new(move |y, x, dtype| codes(y, x[0], dtype)),
        formula: Box::new(move |x, _| formula(x[0])),
    }
}

fn two(
    name: &'static str,
    codes: impl Fn(&str, &str, &str, Dtype) -> String + 'static,
    formula: impl Fn(f64, f64) -> f64 + 'static,
) -> Case {
    Case {
        name,
        points: grid(&[
            0.0,
            1.0,
            -1.0,
            0.5,
            2.0,
            -2.0,
            3.0,
            1.1,
            -7.3,
            300.0,
            INFINITY,
            -INFINITY,
            nan(),
        ]),
        codes: Box::new(move |z, x, dtype| codes(z, x[0], x[1], dtype)),
        formula: Box::new(move |x, _| formula(x[0], x[1])),
    }
}

fn truth(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn basic() -> Vec<Case> {
    let mut cases = vec![
        one("abs", |y, x, t| c::abs(y, x, t), f64::abs, &[]),
        one("neg", |y, x, t| c::neg(y, x, t), |x| -x, &[]),
        one("exp", |y, x, t| c::exp(y, x, t), f64::exp, &[]),
        one(
            "sigmoid",
            |y, x, t| c::sigmoid(y, x, 4.0, t),
            |x| logistic(4.0 * x),
            &[],
        ),
        one(
            "sigmoid of a sum",
            |y, x, t| {
                let half = c::constant(None, 0.5, t);
                let sum = match t {
                    Dtype::Float => format!("{x} + {half}"),
                    Dtype::Half2 => format!("__hadd2({x}, {half})"),
                };
                c::sigmoid(y, &sum, 2.0, t)
            },
            |x| logistic(2.0 * (x + 0.5)),
            &[],
        ),
        one(
            "constant",
            |y, _, t| c::constant(y, 0.1, t),
            |_| f64::from(0.1_f32),
            &[],
        ),
        two("add", |z, x, y, t| c::add(z, x, y, t), |x, y| x + y),
        two("sub", |z, x, y, t| c::sub(z, x, y, t), |x, y| x - y),
        two("mul", |z, x, y, t| c::mul(z, x, y, t), |x, y| x * y),
        two("div", |z, x, y, t| c::div(z, x, y, t), |x, y| x / y),
        two("power", |z, x, y, t| c::power(z, x, y, t), f64::powf),
        two("minimal", |z, x, y, t| c::minimal(z, x, y, t), f64::min),
        two("maximum", |z, x, y, t| c::maximum(z, x, y, t), f64::max),
        two(
            "greater_equal",
            |z, x, y, t| c::greater_equal(z, x, y, t),
            |x, y| truth(x >= y),
        ),
        two(
            "greater_than",
            |z, x, y, t| c::greater_than(z, x, y, t),
            |x, y| truth(x > y),
        ),
    ];
    cases.push(Case {
        formula: Box::new(|x, dtype| truth(x[0] >= 0.0 || dtype == Dtype::Half2 && x[0].is_nan())),
        ..one("heaviside", |y, x, t| c::heaviside(y, x, t), |x| x, &[])
    });
    cases
}

/// x, y, z and two masks.
fn choices() -> Vec<Case> {
    let points = |values: &[f64]| -> Vec<Vec<f64>> {
        let masks = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)];
        let with = |(m, n): (f64, f64)| {
            let all = values.iter().enumerate();
            all.map(move |(k, x)| {
                let at = |j: usize| values[(k + j) % values.len()];
                vec![*x, at(1), at(2), m, n]
            })
        };
        masks.into_iter().flat_map(with).collect()
    };
    let pick = |x: &[f64], _| if x[3] != 0.0 { x[0] } else { x[1] };
    let pick_two = |x: &[f64], _| match (x[3] != 0.0, x[4] != 0.0) {
        (true, _) => x[0],
        (false, true) => x[1],
        (false, false) => x[2],
    };
    let finite = [1.0, -2.5, 0.0, 1000.0, 0.125];
    let any = [1.0, nan(), -2.5, INFINITY, 0.0, -INFINITY, 7.0];
    vec![
        Case {
            name: "if_else",
            points: points(&finite),
            codes: Box::new(|z, x, t| c::if_else(z, x[0], x[1], x[3], t)),
            formula: Box::new(pick),
        },
        Case {
            name: "if_else_else",
            points: points(&finite),
            codes: Box::new(|w, x, t| c::if_else_else(w, x[0], x[1], x[2], x[3], x[4], t)),
            formula: Box::new(pick_two),
        },
        Case {
            name: "select",
            points: points(&any),
            codes: Box::new(|z, x, t| c::select(z, x[0], x[1], x[3], t)),
            formula: Box::new(pick),
        },
        Case {
            name: "select_select",
            points: points(&any),
            codes: Box::new(|w, x, t| c::select_select(w, x[0], x[1], x[2], x[3], x[4], t)),
            formula: Box::new(pick_two),
        },
    ]
}

fn cases() -> Vec<Case> {
    [basic(), choices(), backward::cases()]
        .into_iter()
        .flatten()
        .collect()
}

/// `y[index] = …` of the operands' elements.
fn kernel(case: &Case, dtype: Dtype) -> CKernel1D {
    let operands = &OPERANDS[..case.points[0].len()];
    let mut kernel = CKernel1D::new("function");
    for name in operands {
        kernel.add_param(&format!("const {dtype} *"), name).unwrap();
    }
    kernel.add_param(&format!("{dtype} *"), "y").unwrap();
    let elements: Vec<String> = operands
        .iter()
        .map(|name| format!("{name}[index]"))
        .collect();
    let elements: Vec<&str> = elements.iter().map(String::as_str).collect();
    kernel.set_core((case.codes)("y[index]", &elements, dtype));
    kernel
}

/// A tensor of this type; an even number of halves.
fn tensor(values: &[f64], dtype: Dtype) -> Value {
    match dtype {
        Dtype::Float => {
            let values: Vec<f32> = values.iter().map(|x| *x as f32).collect();
            Value::F32(vec![values.len()], values)
        }
        Dtype::Half2 => {
            let mut values: Vec<f16> = values.iter().map(|x| f16::from_f64(*x)).collect();
            values.resize(values.len().next_multiple_of(2), f16::ZERO);
            Value::F16(vec![values.len()], values)
        }
    }
}

fn job(case: &Case, dtype: Dtype) -> Job {
    let threads = 32;
    let count = case.points.len();
    let numel = match dtype {
        Dtype::Float => count,
        Dtype::Half2 => count.div_ceil(2),
    };
    let mut values = Values::from([
        ("numel", Value::Int(numel as i32)),
        ("y", tensor(&vec![0.0; count], dtype)),
    ]);
    for (k, name) in OPERANDS.iter().enumerate().take(case.points[0].len()) {
        let column: Vec<f64> = case.points.iter().map(|point| point[k]).collect();
        values.insert(name, tensor(&column, dtype));
    }
    Job {
        name: format!("{} in {dtype}", case.name),
        kernel: Box::new(kernel(case, dtype)),
        blocks: numel.div_ceil(threads) as u32,
        threads: threads as u32,
        values,
    }
}

fn both() -> Vec<(Case, Dtype)> {
    let with = |dtype| cases().into_iter().map(move |case| (case, dtype));
    Dtype::ALL.into_iter().flat_map(with).collect()
}

fn jobs() -> Vec<Job> {
    both()
        .iter()
        .map(|(case, dtype)| job(case, *dtype))
        .collect()
}

/// Whether a result is that of the formula, rounded to its type, within the last bits.
fn near(given: f64, formula: f64, dtype: Dtype) -> bool {
    let (rounded, digits) = match dtype {
        Dtype::Float => (f64::from(formula as f32), 4e-6),
        // Two in the last place: of the hardware's own functions, and of the rounding.
        Dtype::Half2 => (f64::from(f16::from_f64(formula)), 2e-3),
    };
    if rounded.is_nan() || given.is_nan() {
        return rounded.is_nan() && given.is_nan();
    }
    given == rounded || (given - rounded).abs() <= digits * rounded.abs() + 1e-6
}

fn check(jobs: &[Job], results: &[Values]) {
    let mut wrong = vec![];
    for (((case, dtype), job), result) in both().iter().zip(jobs).zip(results) {
        let columns: Vec<Vec<f64>> = OPERANDS[..case.points[0].len()]
            .iter()
            .map(|name| job.values[name].numbers())
            .collect();
        for (k, given) in result["y"].numbers().into_iter().enumerate() {
            let point: Vec<f64> = columns.iter().map(|column| column[k]).collect();
            let formula = (case.formula)(&point, *dtype);
            if !near(given, formula, *dtype) {
                wrong.push(format!("{} at {point:?}: {given}, not {formula}", job.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

on_both!(functions_are_what_their_formulas_say, jobs(), check);

/// All functions, one after the other, in one kernel.
pub fn all_in_one(dtype: Dtype) -> CKernel1D {
    let mut kernel = CKernel1D::new("functions");
    for name in OPERANDS {
        kernel.add_param(&format!("const {dtype} *"), name).unwrap();
    }
    kernel.add_param(&format!("{dtype} *"), "y").unwrap();
    let elements = OPERANDS.map(|name| format!("{name}[index]"));
    let elements = elements.each_ref().map(|text| text.as_str());
    let blocks: Vec<String> = cases()
        .iter()
        .map(|case| format!("{{\n{}\n}}", (case.codes)("y[index]", &elements, dtype)))
        .collect();
    kernel.set_core(blocks.join("\n"));
    kernel
}
