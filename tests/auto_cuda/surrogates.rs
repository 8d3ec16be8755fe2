//! Every surrogate prints its derivative into the kernels of auto_cuda.

use crate::auto_cuda::nodes::compile;
use spikelet::auto_cuda::neuron_kernel::IFNodeBPTTKernel;
use spikelet::auto_cuda::{self, Dtype, SurrogateCodes};
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
