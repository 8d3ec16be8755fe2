//! Gradients of gradients.

use crate::harness::{check_gradients, tensor};
use spikelet_expr::Expr;
use spikelet_graph::op::Recurrence;
use spikelet_graph::{DType, Tracer, Var};
use std::sync::Arc;

#[test]
fn the_gradient_of_a_gradient_is_the_second_derivative() {
    check_gradients(&[tensor(&[2, 3], 1), tensor(&[3], 2)], |tracer, x| {
        let y = Var::map(&[&x[0], &x[1]], |x| (&x[0] * &x[1]).tanh() * &x[0]);
        tracer.gradients(&y.square().sum_all(), &[&x[1]]).remove(0)
    });
    check_gradients(&[tensor(&[2, 3], 1), tensor(&[4, 3], 2)], |tracer, x| {
        let y = x[0].linear(&x[1]).log_softmax().square();
        tracer.gradients(&y.sum_all(), &[&x[0]]).remove(0)
    });
}

#[test]
fn a_second_derivative_through_a_neuron_is_an_error_and_not_zero() {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    let h = (&x * &v).tanh();
    let r = Arc::new(
        Recurrence::new("n", ["x"], ["v"])
            .output("y", h.clone(), false)
            .next(vec![h]),
    );
    let tracer = Tracer::new(DType::F64);
    let (x, v) = (
        tracer.input("x", DType::F64, [3, 2]),
        tracer.input("v", DType::F64, [2]),
    );
    let y = Var::scan(&r, 3, &[&x], &[&v], &[]).swap_remove(0);
    let dx = tracer.gradients(&y.sum_all(), &[&x]).remove(0);
    tracer.gradients(&dx.square().sum_all(), &[&x]);
    let error = tracer.finish().unwrap_err().to_string();
    assert!(error.contains("second derivatives"), "{error}");
}
