//! A graph partitioned into a forward and a backward plan.

use crate::targets::Plain;
use spikelet_graph::op::Operation;
use spikelet_graph::{DType, Graph, Node, Plan, Result, Tracer, Var};

fn traced() -> Result<Graph> {
    let tracer = Tracer::new(DType::F32);
    let x = tracer.input("x", DType::F32, [4, 3]);
    let grad = tracer.input("grad_y", DType::F32, [4, 2]);
    let w = tracer.parameter("w", [2, 3]);
    let sum = tracer.state("sum", [2, 3]);
    let y = x.linear(&w).map1(|e| e.sigmoid());
    tracer.output("y", &y);
    let made = tracer.gradients_given(&[(&y, &grad)], &[&w, &x]);
    tracer.update(&sum, &(&sum + &made[0]));
    tracer.output("grad_x", &made[1]);
    tracer.finish()
}

#[test]
fn the_backward_plan_reads_the_saved_values_and_recomputes_nothing() -> Result<()> {
    let plans = Plan::forward_backward(traced()?, &Plain, &|o| o.name == "y")?;
    let products = |plan: &Plan| {
        let is_product = |n: &&Node| n.op.name() == "matmul";
        plan.graph.nodes.iter().filter(is_product).count()
    };
    assert_eq!(products(&plans.forward), 1);
    assert_eq!(products(&plans.backward), 2);
    let inputs = &plans.backward.graph.inputs;
    for name in &plans.saved {
        assert!(inputs.iter().any(|i| i.name == *name), "{name}");
        assert!(plans.forward.graph.outputs.iter().any(|o| o.name == *name));
    }
    assert!(!plans.saved.is_empty());
    Ok(())
}

#[test]
fn an_input_that_the_forward_plan_overwrites_cannot_be_read_by_the_backward_plan() -> Result<()> {
    let tracer = Tracer::new(DType::F32);
    let v = tracer.state("v", [3]);
    let x = tracer.input("x", DType::F32, [3]);
    tracer.update(&v, &(&v + &x));
    tracer.output("late", &Var::map(&[&v], |e| e[0].exp()));
    let refused = Plan::forward_backward(tracer.finish()?, &Plain, &|o| o.name == "v");
    let message = refused.expect_err("it is read").to_string();
    assert!(message.contains("overwrites `v`"), "{message}");
    Ok(())
}
