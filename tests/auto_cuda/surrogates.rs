//! Every surrogate prints its derivative into the kernels of auto_cuda.

use crate::auto_cuda::nodes::compile;
use spikelet::auto_cuda::neuron_kernel::IFNodeBPTTKernel;
use spikelet::auto_cuda::{self, CudaCodes, Dtype, SurrogateCodes, cfunction as c};
use spikelet::prelude::*;
use spikelet::surrogate::{SURROGATES, Scaled, from_spec};
use std::sync::Arc;

/// max(0, 1 − |x|) as an expression, without a text of its own.
#[derive(Debug, Schema)]
struct Triangle;

impl Surrogate for Triangle {
    fn derivative(&self, x: &Expr) -> Expr {
        (1.0 - x.abs()).max(0.0)
    }
}

/// A derivative that needs something which nobody gives it.
#[derive(Debug, Schema)]
struct Lost;

impl Surrogate for Lost {
    fn derivative(&self, x: &Expr) -> Expr {
        x * Expr::symbol("alpha")
    }
}

fn all() -> Vec<Arc<dyn Surrogate>> {
    let known = SURROGATES
        .names()
        .map(|name| from_spec(&name.into()).expect("defaults"));
    known
        .chain([Arc::new(Triangle) as Arc<dyn Surrogate>])
        .collect()
}

#[test]
#[ignore = "needs NVRTC"]
fn every_surrogate_compiles_inside_a_backward_kernel() {
    for surrogate in all() {
        let printed = auto_cuda::surrogate(&*surrogate).expect("an expression of x");
        for dtype in Dtype::ALL {
            for detach_reset in [true, false] {
                let kernel = IFNodeBPTTKernel::new(printed.clone(), true, detach_reset, dtype);
                compile(&kernel);
            }
        }
    }
}

#[test]
fn a_surrogate_of_ones_own_is_printed_from_its_expression() {
    let triangle = auto_cuda::surrogate(&Triangle).expect("an expression of x");
    let text = triangle.cuda_codes("const float slope", "over_th", Dtype::Float);
    assert_eq!(
        text,
        "const float slope__0 = fabsf(over_th);\n\
         const float slope__1 = 1.0f - slope__0;\n\
         const float slope__2 = spk_max(slope__1, 0.0f);\n\
         const float slope = slope__2;"
    );
}

#[test]
fn a_derivative_of_something_else_is_refused() {
    let error = auto_cuda::surrogate(&Lost).unwrap_err();
    assert!(error.to_string().contains("`alpha`"), "{error}");
}

#[test]
fn the_sigmoid_is_printed_as_in_the_tutorial_with_any_alpha() -> Result<()> {
    let tutorial =
        include_str!("../../crates/spikelet-auto-cuda/tests/auto_cuda/reference/sigmoid_codes.cu");
    // As Python prints them.
    let printed = [
        (4.0, "4.0f"),
        (1.0, "1.0f"),
        (0.3, "0.3f"),
        (25.0, "25.0f"),
        (2.345678901234, "2.345678901234f"),
        (2.5e-7, "2.5e-07f"),
        (1e16, "1e+16f"),
    ];
    for (alpha, printed) in printed {
        let text = Sigmoid { alpha }.cuda_codes("grad_s", "over_th", Dtype::Float)?;
        let alpha = format!("({printed})");
        assert_eq!(
            text.replace('\n', " "),
            tutorial.trim().replace("(4.0f)", &alpha)
        );
    }
    Ok(())
}

/// Another derivative than the name says.
#[derive(Debug, Schema)]
#[schema(name = "sigmoid")]
struct Impostor {
    #[schema(default = 4.0)]
    alpha: f64,
}

impl Surrogate for Impostor {
    fn derivative(&self, x: &Expr) -> Expr {
        2.0 * x
    }
}

#[test]
fn a_sigmoid_with_another_derivative_is_printed_from_its_expression() -> Result<()> {
    let scaled = Scaled::new(Sigmoid::default(), 0.5);
    for (other, part) in [
        (&scaled as &dyn Surrogate, "spk_sigmoid"),
        (&Impostor::default(), "2.0f * x"),
    ] {
        let text = other.cuda_codes("float y", "x", Dtype::Float)?;
        assert!(text.contains(part) && !text.contains("expf"), "{text}");
    }
    Ok(())
}

#[test]
fn each_surrogate_has_the_text_of_the_function_of_its_name() -> Result<()> {
    type Function = fn(&str, &str, [f64; 3], Dtype) -> String;
    let functions: [(&str, &[&str], Function); 19] = [
        ("sigmoid", &["alpha"], |y, x, [a, ..], t| {
            c::sigmoid_backward(y, x, a, t)
        }),
        ("atan", &["alpha"], |y, x, [a, ..], t| {
            c::atan_backward(y, x, a, t)
        }),
        ("piecewise_leaky_relu", &["w", "c"], |y, x, [w, k, _], t| {
            c::piecewise_leaky_relu_backward(y, x, w, k, t)
        }),
        ("s2nn", &["alpha", "beta"], |y, x, [a, b, _], t| {
            c::s2nn_backward(y, x, a, b, t)
        }),
        ("q_pseudo_spike", &["alpha"], |y, x, [a, ..], t| {
            c::q_pseudo_spike_backward(y, x, a, t)
        }),
        ("leaky_k_relu", &["leak", "k"], |y, x, [l, k, _], t| {
            c::leaky_k_relu_backward(y, x, l, k, t)
        }),
        ("fake_numerical_gradient", &["alpha"], |y, x, [a, ..], t| {
            c::fake_numerical_gradient_backward(y, x, a, t)
        }),
        ("log_tailed_relu", &["alpha"], |y, x, [a, ..], t| {
            c::log_tailed_relu_backward(y, x, a, t)
        }),
        ("piecewise_quadratic", &["alpha"], |y, x, [a, ..], t| {
            c::piecewise_quadratic_backward(y, x, a, t)
        }),
        ("piecewise_exp", &["alpha"], |y, x, [a, ..], t| {
            c::piecewise_exp_backward(y, x, a, t)
        }),
        ("soft_sign", &["alpha"], |y, x, [a, ..], t| {
            c::soft_sign_backward(y, x, a, t)
        }),
        ("super_spike", &["alpha"], |y, x, [a, ..], t| {
            c::super_spike_backward(y, x, a, t)
        }),
        ("nonzero_sign_log_abs", &["alpha"], |y, x, [a, ..], t| {
            c::nonzero_sign_log_abs_backward(y, x, a, t)
        }),
        ("erf", &["alpha"], |y, x, [a, ..], t| {
            c::erf_backward(y, x, a, t)
        }),
        (
            "squarewave_fourier_series",
            &["n", "t_period"],
            |y, x, [n, p, _], t| c::squarewave_fourier_series_backward(y, x, n as u32, p, t),
        ),
        ("rect", &["alpha"], |y, x, [a, ..], t| {
            c::rect_backward(y, x, a, t)
        }),
        ("deterministic_pass", &[], |y, x, _, t| {
            c::deterministic_pass_backward(y, x, t)
        }),
        (
            "bilinear_leaky_relu",
            &["a", "b", "c"],
            |y, x, [a, b, k], t| c::bilinear_leaky_relu_backward(y, x, a, b, k, t),
        ),
        ("sign_swish", &["beta"], |y, x, [b, ..], t| {
            c::sign_swish_backward(y, x, b, t)
        }),
    ];
    for (name, constants, function) in functions {
        for given in [
            [1.5, 0.25, 0.75],
            [2.0, 0.5, 3.0],
            [3.0, 2.0, 1.0],
            [4.0, 1.0, 0.3],
        ] {
            let mut spec = serde_json::json!({"name": name});
            let mut given: [f64; 3] = given;
            for (key, value) in constants.iter().zip(&mut given) {
                *value = if *key == "n" { value.ceil() } else { *value };
                spec[*key] = if *key == "n" {
                    (*value as u32).into()
                } else {
                    (*value).into()
                };
            }
            let surrogate = from_spec(&spec)?;
            for dtype in Dtype::ALL {
                let y = format!("const {dtype} grad_s_to_h");
                assert_eq!(
                    surrogate.cuda_codes(&y, "over_th", dtype)?,
                    function(&y, "over_th", given, dtype),
                    "{spec}"
                );
            }
        }
    }
    Ok(())
}
