//! States that neuron scans keep for their backward passes.

use crate::targets::{Checkpoints, Plain};
use insta::assert_snapshot;
use spikelet_expr::Expr;
use spikelet_graph::op::{Op, Port, Ports, Recurrence, Scan, ScanGrad};
use spikelet_graph::{DType, Graph, Plan, Tracer, Var, pass};
use std::sync::Arc;

fn neuron() -> Arc<Recurrence> {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    let h = &v * 0.5 + x;
    Arc::new(
        Recurrence::new("li", ["x"], ["v"])
            .output("y", h.tanh(), false)
            .next(vec![h]),
    )
}

/// A scan over a current that is cheap to make again, and its gradient. Both of its factors vary
/// over time: the scan does not take it in.
pub fn traced() -> Graph {
    let t = Tracer::new(DType::F32);
    let (x, w) = (t.input("x", DType::F32, [11, 8]), t.parameter("w", [11, 8]));
    let v = t.state("v", [8]);
    let current = Var::map(&[&x, &w], |x| &x[0] * &x[1]);
    let made = Var::scan(&neuron(), 11, &[&current], &[&v], &[]);
    let loss = made[0].square().sum_all();
    t.output("dw", &t.gradients(&loss, &[&w])[0]);
    t.update(&v, &made[1]);
    t.finish().unwrap()
}

#[test]
fn a_scan_keeps_the_states_that_its_backward_pass_starts_from() {
    let mut graph = traced();
    pass::fuse::run(&mut graph);
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[11, 8]
    %1 = Parameter `w`  f32[11, 8]
    %2 = State `v`  f32[8]
    %3 = map[x0 · x1](%0, %1)  f32[11, 8]
    %4, %5, %6 = scan[li #0, T=11](%3, %2)  f32[11, 8], f32[8], f32[11, 8]
        x; v; ; y
        #0 = v · 0.5 + x
        y = tanh(#0)
        v ← #0
    %9 = fill[1]()  f32[]  ∂ loss
    %10 = reshape[1, 1](%9)  f32[1, 1]  ∂
    %12 = map[x1 · x0 + x1 · x0 as f32](%4, %10)  f32[11, 8]  ∂
    %13, %14 = scan_grad[li #0, T=11; of output 0](%3, %2, %12)  f32[11, 8], f32[8]  ∂
    %15 = map[x1 · x0 as f32](%0, %13)  f32[11, 8]  ∂
    `dw` = %15
    `v`: %2 becomes %5
    ");
    let report = pass::checkpoint::run(&mut graph, &Checkpoints(5));
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[11, 8]
    %1 = Parameter `w`  f32[11, 8]
    %2 = State `v`  f32[8]
    %3 = map[x0 · x1](%0, %1)  f32[11, 8]
    %4, %5, %6, %16 = scan[li #0, T=11, checkpoint every 5](%3, %2)  f32[11, 8], f32[8], f32[11, 8], f32[2, 8]
        x; v; ; y
        #0 = v · 0.5 + x
        y = tanh(#0)
        v ← #0
    %9 = fill[1]()  f32[]  ∂ loss
    %10 = reshape[1, 1](%9)  f32[1, 1]  ∂
    %12 = map[x1 · x0 + x1 · x0 as f32](%4, %10)  f32[11, 8]  ∂
    %13, %14 = scan_grad[li #0, T=11, checkpoint every 5; of output 0](%3, %2, %12, %16)  f32[11, 8], f32[8]  ∂
    %15 = map[x1 · x0 as f32](%0, %13)  f32[11, 8]  ∂
    `dw` = %15
    `v`: %2 becomes %5
    ");
    assert_snapshot!(report.summary, @"1 neuron scans store states every few steps (64 bytes)");
    let before = graph.to_string();
    assert_eq!(
        pass::checkpoint::run(&mut graph, &Checkpoints(5)).changes,
        0
    );
    assert_eq!(graph.to_string(), before);
}

#[test]
fn a_plan_wires_kept_states_even_where_the_current_is_made_again() {
    let plan = Plan::new(traced(), &Checkpoints(4));
    assert_snapshot!(plan.graph, @"
    %0 = Data `x`  f32[11, 8]
    %1 = Parameter `w`  f32[11, 8]
    %2 = State `v`  f32[8]
    %3 = map[x0 · x1](%0, %1)  f32[11, 8]
    %4, %5, %6, %16 = scan[li #0, T=11, checkpoint every 4](%3, %2)  f32[11, 8], f32[8], f32[11, 8], f32[2, 8]
        x; v; ; y
        #0 = v · 0.5 + x
        y = tanh(#0)
        v ← #0
    %9 = fill[1]()  f32[]  ∂ loss
    %10 = reshape[1, 1](%9)  f32[1, 1]  ∂
    %12 = map[x1 · x0 + x1 · x0 as f32](%4, %10)  f32[11, 8]  ∂
    %17 = map[x0 · x1](%0, %1)  f32[11, 8]  ∂
    %13, %14 = scan_grad[li #0, T=11, checkpoint every 4; of output 0](%17, %2, %12, %16)  f32[11, 8], f32[8]  ∂
    %15 = map[x1 · x0 as f32](%0, %13)  f32[11, 8]  ∂
    `dw` = %15
    `v`: %2 becomes %5
    ");
    assert!(plan.is_sound());
}

#[test]
fn nothing_is_kept_for_a_target_that_does_not_want_it_or_that_wants_too_few() {
    for plan in [
        Plan::new(traced(), &Plain),
        Plan::new(traced(), &Checkpoints(11)),
        Plan::new(traced(), &Checkpoints(0)),
    ] {
        assert!(
            !plan.graph.to_string().contains("checkpoint every"),
            "{}",
            plan.graph
        );
    }
}

#[test]
fn a_backward_pass_without_its_scan_starts_from_the_first_state() {
    let t = Tracer::new(DType::F32);
    let [x, g] = ["x", "g"].map(|name| t.input(name, DType::F32, [6, 8]));
    let v = t.state("v", [8]);
    let grad = ScanGrad::new(Scan::new(neuron(), 6), vec![Port::OutputGrad(0)]);
    t.output("dx", &t.apply(grad, &[&x, &v, &g])[0]);
    let mut graph = t.finish().unwrap();
    assert_eq!(
        pass::checkpoint::run(&mut graph, &Checkpoints(2)).changes,
        0
    );
}

#[test]
fn scans_of_one_operation_keep_states_for_their_own_backward_passes() {
    let t = Tracer::new(DType::F32);
    let (scan, v) = (Scan::new(neuron(), 6), t.state("v", [8]));
    let inputs = ["a", "b"].map(|name| t.parameter(name, [6, 8]));
    let outputs = inputs
        .each_ref()
        .map(|x| t.apply(scan.clone(), &[x, &v]).swap_remove(0));
    let loss = (&outputs[0] * &outputs[1]).sum_all();
    for (name, grad) in ["d_a", "d_b"]
        .iter()
        .zip(t.gradients(&loss, &inputs.each_ref()))
    {
        t.output(name, &grad);
    }
    let mut graph = t.finish().unwrap();
    let run = pass::checkpoint::run(&mut graph, &Checkpoints(2));
    assert_eq!(run.changes, 2, "{graph}");
    for node in &graph.nodes {
        let Op::ScanGrad(grad) = &node.op else {
            continue;
        };
        let stored = node.inputs[grad.reads(Port::Checkpoint(0))];
        let forward = graph.nodes.iter().find(|n| n.outputs.contains(&stored));
        let forward = forward.expect("a scan stores the states");
        assert_eq!(forward.inputs[0], node.inputs[0], "{graph}");
    }
}

#[test]
fn states_that_cannot_be_kept_are_refused() {
    let error = |op: Op, kept: bool| {
        let t = Tracer::new(DType::F32);
        let x = t.input("x", DType::F32, [6, 8]);
        let (v, k) = (t.state("v", [8]), t.input("kept", DType::F32, [3, 8]));
        let operands = if kept {
            vec![&x, &v, &x, &k]
        } else {
            vec![&x, &v]
        };
        t.apply(op, &operands);
        t.finish().unwrap_err().to_string()
    };
    let scan = Scan {
        checkpoint: Some(6),
        ..Scan::new(neuron(), 6)
    };
    assert_snapshot!(error(scan.into(), false), @"
    li: cannot store checkpoints every 6 of 6 steps
      given: f32[6, 8] and f32[8]
      help: use at least 1 and less than the number of time steps
    ");
    let scan = Scan {
        checkpoint: Some(2),
        ..Scan::new(neuron(), 6)
    };
    let grad = ScanGrad::new(scan, vec![Port::OutputGrad(0)]);
    assert_eq!(grad.operand(Port::Checkpoint(0)), Some(3));
    assert_snapshot!(error(grad.into(), true), @"
    li_grad: a sequence of checkpoints is f32[3, 8], not f32[2, 8]
      given: f32[6, 8] and f32[8] and f32[6, 8] and f32[3, 8]
      help: pass what the scan over the same operands computes, and the gradients of its results
    ");
}
