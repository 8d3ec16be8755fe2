//! A long program, and how the time that it takes grows with its length. The tests of planning and
//! of loading share it.

use spikelet_expr::Expr;
use spikelet_graph::op::Recurrence;
use spikelet_graph::{DType, Graph, Tracer, Var};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

const F: DType = DType::F32;

/// A recurrent network traced step by step, with its gradients.
pub fn recurrent(time_steps: usize) -> Graph {
    let [a, b] = ["x", "v"].map(Expr::symbol);
    let h = b * 0.5 + a;
    let neuron = Recurrence::new("lif", ["x"], ["v"])
        .output("s", Expr::custom_gradient(h.ge(1.0), h.sigmoid()), true)
        .next(vec![h]);
    let neuron = Arc::new(neuron);
    let t = Tracer::new(F);
    let x = t.input("x", F, [time_steps, 4, 8]);
    let (w_in, w_back) = (t.parameter("w_in", [8, 8]), t.parameter("w_back", [8, 8]));
    let (mut v, mut spikes) = (t.fill(F, [4, 8], 0.0), t.fill(F, [1, 4, 8], 0.0));
    let mut total = t.fill(F, [1, 4, 8], 0.0);
    for step in 0..time_steps {
        let x = x.slice(0, step..step + 1);
        let charge = x.linear(&w_in) + spikes.linear(&w_back);
        let mut made = Var::scan(&neuron, 1, &[&charge], &[&v], &[]);
        v = made.swap_remove(1);
        spikes = made.swap_remove(0);
        total = total + spikes.square();
    }
    let loss = total.mean_all();
    let grads = t.gradients(&loss, &[&w_in, &w_back]);
    t.output("loss", &loss);
    t.update(&w_in, &(&w_in - &grads[0] * 0.1));
    t.update(&w_back, &(&w_back - &grads[1] * 0.1));
    t.finish().unwrap()
}

/// The CPU time of this thread, if the system reports it; otherwise the elapsed time.
pub fn cpu_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|ns| ns.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// Compares ten times the time steps with one: `time` gives the duration and the number of kernels.
pub fn assert_about_linear(time: impl Fn(usize) -> (Duration, usize)) {
    let (short, few) = time(100);
    let (long, many) = time(1000);
    assert!(many > 9 * few && many > 10_000, "{few} and {many} kernels");
    let times = long.as_secs_f64() / short.as_secs_f64();
    assert!(
        times < 30.0,
        "ten times the kernels took {times:.0} times as long"
    );
}
