//! A step of gradient descent of two recurrent layers behind each other, whose scans a device can overlap. The tests of
//! devices share it.

use spikelet_expr::Expr;
use spikelet_graph::op::{Feedback, Recurrence, Scan};
use spikelet_graph::{Buckets, DType, DeviceShare, Graph, Plan, Tracer, Var};
use std::sync::Arc;

const F: DType = DType::F32;

/// The step, with gradients that are summed over ranks, each in a bucket of its own; 0 ranks sum nothing.
pub fn overlapping_step([time, batch, neurons]: [usize; 3], ranks: usize) -> Graph {
    let (v, x) = (Expr::symbol("v"), Expr::symbol("x"));
    let h = v * 0.5 + x;
    let s = Expr::custom_gradient(h.ge(0.5), (&h * 2.0 - 1.0).sigmoid());
    let lif = Recurrence::new("lif", ["x"], ["v", "s"])
        .output("y", s.clone(), true)
        .next(vec![&h - &s, s]);
    let lif = Arc::new(lif);
    let t = Tracer::new(F);
    let x = t.input("x", F, [time, batch, neurons]);
    let zeros = t.fill(F, [batch, neurons], 0.0);
    let weights = ["first", "second"].map(|name| t.parameter(name, [neurons, neurons]));
    let layer = |x: &Var, w: &Var| {
        let op = Scan::new(lif.clone(), time).feed_back(Feedback::of(1));
        Var::recurrent_scan(op, &[x], &[&zeros, &zeros], &[], w)[0].clone()
    };
    let y = layer(&layer(&x, &weights[0]).linear(&weights[1]), &weights[1]);
    let loss = (y.mean(&[0]) - 0.3).square().mean_all();
    let mut grads = t.gradients(&loss, &weights.each_ref());
    if ranks > 0 {
        let each = Buckets {
            first: 1,
            others: 1,
        };
        grads = t.all_reduce_gradients(&grads, ranks, each);
    }
    for (w, g) in weights.iter().zip(&grads) {
        let share = 0.5 / ranks.max(1) as f64;
        t.update(w, &Var::map(&[w, g], |x| &x[0] - &x[1] * share));
    }
    t.output("loss", &loss);
    t.finish().unwrap()
}

/// The number of scans that share the device with another one.
pub fn shared_scans(plan: &Plan) -> usize {
    let shares = plan.graph.nodes.iter().map(|node| node.notes.share);
    shares.filter(|share| *share != DeviceShare::Whole).count()
}
