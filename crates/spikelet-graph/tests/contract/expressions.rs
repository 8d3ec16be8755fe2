//! Expressions that share their parts: as text, 60 doublings would have 2^60 letters.

use crate::graphs::F;
use crate::targets::Binary;
use spikelet_expr::Expr;
use spikelet_graph::op::{Pooling, Recurrence, Window};
use spikelet_graph::{Plan, Tracer, Var};
use std::sync::Arc;

fn doubled(x: &Expr) -> Expr {
    (0..60).fold(x.clone(), |e, _| &e * &e + 1.0)
}

/// Plans the gradient of `x` and prints everything.
fn planned(build: impl FnOnce(&Var, &Var) -> Var) -> Plan {
    let t = Tracer::new(F);
    let (x, b) = (t.input("x", F, [4, 8, 8, 3]), t.input("b", F, [3]));
    let loss = build(&x, &b).sum_all();
    let grads = t.gradients(&loss, &[&x, &b]);
    t.output("dx", &grads[0]);
    t.output("db", &grads[1]);
    let graph = t.finish().unwrap();
    assert!(graph.to_string().len() < 200_000);
    let plan = Plan::new(graph, &Binary);
    plan.check().unwrap();
    assert!(plan.to_string().len() < 200_000);
    plan
}

#[test]
fn a_map_of_sixty_doublings_is_planned() {
    let plan = planned(|x, b| Var::map(&[x, b], |x| doubled(&(&x[0] + &x[1]))));
    assert!(plan.flops() > 0);
}

#[test]
fn sixty_doubling_operations_are_planned() {
    planned(|x, b| (0..60).fold(x + b, |y, _| &y * &y + 1.0));
}

#[test]
fn sixty_doublings_before_a_maximum_are_planned() {
    let block = Window::blocks(2);
    planned(|x, b| {
        let y = Var::map(&[x, b], |x| doubled(&(&x[0] + &x[1])));
        y.pool(Pooling::Max, [block, block])
    });
}

#[test]
fn a_neuron_of_sixty_doublings_is_planned() {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    let h = doubled(&(v + x));
    let step = Recurrence::new("doubled", ["x"], ["v"])
        .output("s", h.ge(1.0), true)
        .output("h", h.clone(), false)
        .next(vec![h]);
    let step = Arc::new(step);
    planned(|x, b| Var::scan(&step, 4, &[&(x + b)], &[b], &[]).swap_remove(1));
}

#[test]
fn a_chain_of_ten_thousand_maps_is_one_operation() {
    let t = Tracer::new(F);
    let x = t.input("x", F, [4]);
    let y = (0..10_000).fold(x, |y, k| if k % 2 == 0 { y.exp() } else { y * 0.5 });
    t.output("y", &y);
    let plan = Plan::new(t.finish().unwrap(), &Binary);
    assert_eq!(plan.kernels.len(), 1);
    assert_eq!(plan.flops(), 4 * 10_000);
}
