//! Every surrogate prints its derivative into the kernels of auto_cuda.

use crate::nodes::compile;
use spikelet::auto_cuda::neuron_kernel::IFNodeBPTTKernel;
use spikelet::auto_cuda::{self, Callable, Dtype};
use spikelet::prelude::*;
use spikelet::surrogate::{entries, from_spec};
use std::sync::Arc;

/// max(0, 1 − |x|) as an expression, without a text of its own.
#[derive(Debug)]
struct Triangle;

impl Surrogate for Triangle {
    fn derivative(&self, x: &Expr) -> Expr {
        (1.0 - x.abs()).max(0.0)
    }
}

/// A derivative that needs something which nobody gives it.
#[derive(Debug)]
struct Lost;

impl Surrogate for Lost {
    fn derivative(&self, x: &Expr) -> Expr {
        x * Expr::symbol("alpha")
    }
}

fn all() -> Vec<Arc<dyn Surrogate>> {
    let known = entries()
        .into_iter()
        .map(|entry| from_spec(&entry.name.into()).expect("defaults"));
    known
        .chain([Arc::new(Triangle) as Arc<dyn Surrogate>])
        .collect()
}

#[test]
#[ignore = "needs NVRTC"]
fn every_surrogate_compiles_inside_a_backward_kernel() {
    for surrogate in all() {
        for dtype in Dtype::ALL {
            for detach_reset in [true, false] {
                let kernel = IFNodeBPTTKernel::new(surrogate.clone(), true, detach_reset, dtype);
                compile(&kernel);
            }
        }
    }
}

#[test]
fn texts_of_their_own_have_the_surrogates_constants() {
    let specs = [
        serde_json::json!({"name": "atan", "alpha": 3.5}),
        serde_json::json!({"name": "piecewise_leaky_relu", "w": 0.7, "c": 0.03}),
        serde_json::json!({"name": "s2nn", "alpha": 3.5, "beta": 0.6}),
        serde_json::json!({"name": "q_pseudo_spike", "alpha": 2.5}),
        serde_json::json!({"name": "leaky_k_relu", "leak": 0.1, "k": 1.5}),
        serde_json::json!({"name": "fake_numerical_gradient", "alpha": 0.4}),
        serde_json::json!({"name": "log_tailed_relu", "alpha": 0.2}),
    ];
    for spec in specs {
        let surrogate = from_spec(&spec).expect("a known surrogate");
        for dtype in Dtype::ALL {
            let own = surrogate.cuda_codes("grad", "x", dtype).unwrap();
            let printed = auto_cuda::cuda_codes(|x| surrogate.derivative(x), "grad", "x", dtype);
            assert_eq!(own, printed.unwrap(), "{spec}");
        }
    }
    let sigmoid = Sigmoid { alpha: 2.5 };
    let text = sigmoid.cuda_codes("grad", "x", Dtype::Float).unwrap();
    assert!(
        text.ends_with(
            "grad = (1.0f - sigmoid_backward__sigmoid_ax) * sigmoid_backward__sigmoid_ax * (2.5f);"
        ),
        "{text}"
    );
}

#[test]
fn a_surrogate_of_ones_own_is_printed_from_its_expression() {
    let triangle: Arc<dyn Surrogate> = Arc::new(Triangle);
    let text = auto_cuda::SurrogateCodes::cuda_codes(
        &triangle,
        "const float slope",
        "over_th",
        Dtype::Float,
    );
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
    let error = Lost.cuda_codes("grad", "x", Dtype::Float).unwrap_err();
    assert!(error.to_string().contains("`alpha`"), "{error}");
}

#[test]
#[ignore = "needs NVRTC"]
fn a_derivative_of_something_else_does_not_compile() {
    let lost: Arc<dyn Surrogate> = Arc::new(Lost);
    let kernel = IFNodeBPTTKernel::new(lost, true, false, Dtype::Float);
    let error = kernel.compile((9, 0)).unwrap_err().to_string();
    assert!(error.contains("Lost: a surrogate's derivative"), "{error}");
}
