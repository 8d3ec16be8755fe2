//! Parts of the graphs of several passes' tests.

use spikelet_expr::Expr;
use spikelet_graph::op::Recurrence;
use spikelet_graph::{DType, Graph, Tracer, Var, pass};
use std::sync::Arc;

pub const F: DType = DType::F32;

/// A graph as it was traced, before any pass.
pub fn traced(build: impl FnOnce(&Tracer)) -> Graph {
    let tracer = Tracer::new(F);
    build(&tracer);
    tracer.check().unwrap();
    tracer.traced()
}

/// The graph without the unread values that a pass has replaced.
pub fn live(mut graph: Graph) -> Graph {
    pass::dead_code::run(&mut graph);
    graph
}

/// Spikes of a neuron that is never reset.
pub fn neuron() -> Arc<Recurrence> {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    let h = &v + x;
    Arc::new(
        Recurrence::new("if", ["x"], ["v"])
            .output("s", h.ge(1.0), true)
            .next(vec![h]),
    )
}

/// A leaky neuron whose input has a weight, the parameter `k`.
pub fn weighted() -> Arc<Recurrence> {
    let [x, v, k] = ["x", "v", "k"].map(Expr::symbol);
    let h = v * 0.5 + x * k;
    Arc::new(
        Recurrence::new("li", ["x"], ["v"])
            .params(["k"])
            .output("y", h.tanh(), false)
            .next(vec![h]),
    )
}

/// `[T, N, C, H, W] → [T, N, H, W, C]`
pub fn channels_last(x: &Var) -> Var {
    x.permute(&[0, 1, 3, 4, 2])
}

/// `[T, N, H, W, C] → [T, N, C, H, W]`
pub fn channels_second(x: &Var) -> Var {
    x.permute(&[0, 1, 4, 2, 3])
}

/// The neuron over a sequence, from a potential of 0.
pub fn spikes(x: &Var) -> Var {
    let zero = x.tracer().fill(F, [], 0.0);
    Var::scan(&neuron(), x.dim(0), &[x], &[&zero], &[]).swap_remove(0)
}
