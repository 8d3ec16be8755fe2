//! The elementwise functions, conditions, statistics and places of `Var`: as on the CPU.

use crate::harness::{Near, SUMS, data, gpu, same, same_on, scaled, special, tensor};
use spikelet_graph::{Precision, Tensor, Var};

type Function = fn(&Var) -> Var;

const FUNCTIONS: [(&str, Function); 31] = [
    ("square", Var::square),
    ("sqrt", Var::sqrt),
    ("rsqrt", Var::rsqrt),
    ("reciprocal", Var::reciprocal),
    ("abs", Var::abs),
    ("sign", Var::sign),
    ("round", Var::round),
    ("floor", Var::floor),
    ("ceil", Var::ceil),
    ("exp", Var::exp),
    ("exp_m1", Var::exp_m1),
    ("ln", Var::ln),
    ("ln_1p", Var::ln_1p),
    ("sin", Var::sin),
    ("cos", Var::cos),
    ("atan", Var::atan),
    ("tanh", Var::tanh),
    ("sigmoid", Var::sigmoid),
    ("log_sigmoid", Var::log_sigmoid),
    ("erf", Var::erf),
    ("relu", Var::relu),
    ("leaky_relu", |x| x.leaky_relu(0.1)),
    ("elu", |x| x.elu(0.7)),
    ("softplus", Var::softplus),
    ("silu", Var::silu),
    ("gelu", Var::gelu),
    ("hard_tanh", Var::hard_tanh),
    ("pow 1.7", |x| x.pow(1.7)),
    ("pow -2", |x| x.pow(-2.0)),
    ("not", Var::logical_not),
    ("detach", Var::detach),
];

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn elementwise_functions_and_their_derivatives_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    let special = special();
    let inputs = [
        Tensor::f32([special.len()], special),
        scaled(&[1001], 1, 4.0, 0.0),
        scaled(&[7, 33], 2, 40.0, 0.0),
    ];
    for x in inputs {
        same_on(
            &gpu,
            &[("x", x.clone())],
            |_| Near::Bits,
            |tracer| {
                let x = data(tracer, "x", &x);
                for (name, function) in FUNCTIONS {
                    let y = function(&x);
                    tracer.output(name, &y);
                    let dx = tracer.gradients(&y.sum_all(), &[&x]).remove(0);
                    tracer.output(&format!("d {name}"), &dx);
                }
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn comparisons_conditions_and_functions_of_two_tensors_have_the_bits_of_the_cpu() {
    // Few distinct values: many are equal.
    let few = |seed| {
        let values = tensor(&[40, 12], seed).to_f64();
        let values: Vec<f32> = values.iter().map(|x| (x * 3.0).round() as f32).collect();
        Tensor::f32([40, 12], values)
    };
    let (a, b) = (few(1), few(2));
    let row = scaled(&[12], 3, 2.0, 0.0);
    let inputs = [("a", a.clone()), ("b", b.clone()), ("row", row.clone())];
    same(&inputs, Near::Bits, |tracer| {
        let [a, b] = [("a", &a), ("b", &b)].map(|(name, t)| data(tracer, name, t));
        let row = data(tracer, "row", &row);
        let made = [
            ("gt", a.gt(&b)),
            ("ge", a.ge(&row)),
            ("lt", a.lt(1.0)),
            ("le", a.le(&b)),
            ("equals", a.equals(&b)),
            ("differs", a.differs(&b)),
            ("and", a.logical_and(&b)),
            ("or", a.logical_or(&b)),
            ("xor", a.logical_xor(&b)),
            ("where", a.gt(&b).where_(&row, -1.5)),
            ("minimum", a.minimum(&row)),
            ("maximum", a.maximum(&b)),
            ("clamp", a.clamp(&row, 1.0)),
            ("pow", row.pow(&a)),
        ];
        let mut loss = tracer.fill(a.ty().dtype, [], 0.0);
        for (name, y) in made {
            tracer.output(name, &y);
            loss = loss + y.slice(0, 0..7).sum_all();
        }
        let dx = tracer.gradients(&loss, &[&a, &b]);
        tracer.output("da", &dx[0]);
        tracer.output("db", &dx[1]);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn statistics_and_running_sums_agree_with_the_cpu() {
    let gpu = gpu();
    for shape in [[3, 4, 5], [20, 64, 33]] {
        let x = scaled(&shape, 4, 2.0, 0.5);
        same_on(
            &gpu,
            &[("x", x.clone())],
            |_| SUMS,
            |tracer| {
                let x = data(tracer, "x", &x);
                let made = [
                    ("min", x.min(&[0])),
                    ("var", x.var(&[0, 2], 1)),
                    ("std", x.std(&[1], 0)),
                    ("norm", x.norm(&[2])),
                    ("log_sum_exp", x.log_sum_exp(&[2])),
                    ("cumsum 0", x.cumsum(0)),
                    ("cumsum 2", x.cumsum(2)),
                ];
                for (name, y) in made {
                    tracer.output(name, &y);
                    let loss = y.square().mean_all();
                    let dx = tracer.gradients(&loss, &[&x]).remove(0);
                    tracer.output(&format!("d {name}"), &dx);
                }
                tracer.output("argmin", &x.argmin());
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn reversed_rolled_padded_and_stacked_axes_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    let x = tensor(&[5, 6, 7], 4);
    for precision in [Precision::F32, Precision::Bf16] {
        same_on(
            &gpu,
            &[("x", x.clone())],
            |_| Near::Bits,
            |tracer| {
                tracer.set_precision(precision);
                let x = data(tracer, "x", &x);
                let doubled = &x * 2.0;
                let mut made = vec![("stack", Var::stack(&[&x, &doubled], 1))];
                for (axis, name) in ["flip 0", "flip 1", "flip 2"].into_iter().enumerate() {
                    made.push((name, x.flip(axis)));
                }
                made.push(("roll", x.roll(1, -2)));
                made.push(("pad", x.pad(2, 2, 1, 0.25)));
                made.push(("chunk", x.chunk(1, 3).swap_remove(1)));
                for (name, y) in made {
                    tracer.output(name, &y);
                    let dx = tracer.gradients(&y.square().sum_all(), &[&x]).remove(0);
                    tracer.output(&format!("d {name}"), &dx);
                }
            },
        );
    }
    let labels = Tensor::i64([2, 3], [1, 2, 3, 4, 5, 6]);
    same_on(
        &gpu,
        &[("labels", labels.clone())],
        |_| Near::Bits,
        |tracer| {
            let labels = data(tracer, "labels", &labels);
            tracer.output("flip", &labels.flip(1));
            tracer.output("equals", &labels.equals(4.0));
        },
    );
}
