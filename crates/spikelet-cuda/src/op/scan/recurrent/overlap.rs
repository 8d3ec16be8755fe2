//! Whether two scans with feedback run faster side by side, each on half of the GPU.

use super::tiling;
use crate::gpu::Properties;
use spikelet_graph::{DeviceShare, Graph, Node};

// Measured on an NVIDIA H200 with two layers of 512 LIF neurons, batches of 16 to 256, 250 and 1000 time steps.

/// Microseconds of a chunk besides its steps: the start of a kernel that waits for another one, and its weights.
const START: f64 = 13.0;

/// How much longer a step takes while another layer's scan runs.
const BESIDE: f64 = 1.6;

/// The measured time of a step of few rows, as a part of the time that tilings are compared by.
const MEASURED: f64 = 0.45;

/// The most chunks. More of them save little: one of the layers waits for the other during one chunk at each end.
const MAX_CHUNKS: usize = 16;

/// The steps of a scan, and the predicted microseconds of one.
fn predicted(
    gpu: &Properties,
    graph: &Graph,
    node: &Node,
    share: DeviceShare,
) -> Option<(usize, f64)> {
    let inputs = graph.types(&node.inputs);
    let scan = node.op.ports()?.scan();
    let tiling = tiling(&node.op, (gpu, share), &inputs)?;
    Some((scan.time_steps, tiling.cost))
}

/// The number of chunks in which the pair is fastest; `None` if it is faster one after the other. Half of a GPU that
/// one scan fills takes longer for each step than is saved, so that only scans overlap that leave half of it idle.
pub(crate) fn overlap_chunks(
    gpu: &Properties,
    graph: &Graph,
    first: &Node,
    second: &Node,
) -> Option<usize> {
    let mut step: f64 = 0.0;
    let mut time_steps = 0;
    for (node, share) in [(first, DeviceShare::First), (second, DeviceShare::Second)] {
        let (steps, whole) = predicted(gpu, graph, node, DeviceShare::Whole)?;
        let (_, half) = predicted(gpu, graph, node, share)?;
        if half > whole {
            return None;
        }
        (time_steps, step) = (steps, step.max(MEASURED * half));
    }
    let alone = 2.0 * (time_steps as f64 * step + START);
    let together = |count: usize| {
        let chunk = (time_steps / count) as f64 * step;
        let beside = (count - 1) as f64 * BESIDE * chunk;
        2.0 * chunk + beside + (count + 1) as f64 * START
    };
    let counts = (2..=MAX_CHUNKS).filter(|count| time_steps.is_multiple_of(*count));
    let best = counts.min_by(|a, b| together(*a).total_cmp(&together(*b)))?;
    (together(best) < alone).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_expr::Expr;
    use spikelet_graph::op::{Feedback, Op, Recurrence, Scan};
    use spikelet_graph::{DType, Tracer, Var};

    /// The chunks of two layers on a large GPU.
    fn chunks([time, batch, neurons]: [usize; 3]) -> Option<usize> {
        let (v, x) = (Expr::symbol("v"), Expr::symbol("x"));
        let h = v * 0.5 + x;
        let s = h.ge(1.0);
        let lif = Recurrence::new("lif", ["x"], ["v", "s"])
            .output("y", s.clone(), true)
            .next(vec![&h - &s, s]);
        let lif = std::sync::Arc::new(lif);
        let tracer = Tracer::new(DType::F32);
        let mut y = tracer.input("x", DType::F32, [time, batch, neurons]);
        let zeros = tracer.fill(DType::F32, [batch, neurons], 0.0);
        for layer in ["first", "second"] {
            let weight = tracer.parameter(layer, [neurons, neurons]);
            let op = Scan::new(lif.clone(), time).feed_back(Feedback::of(1));
            y = Var::recurrent_scan(op, &[&y], &[&zeros, &zeros], &[], &weight)[0].clone();
        }
        tracer.output("y", &y);
        let graph = tracer.finish().unwrap();
        let scans = graph.nodes.iter();
        let scans: Vec<&Node> = scans
            .filter(|node| matches!(node.op, Op::Scan(_)))
            .collect();
        overlap_chunks(&Properties::large((9, 0)), &graph, scans[0], scans[1])
    }

    #[test]
    fn scans_that_leave_half_of_the_gpu_idle_overlap() {
        assert!(chunks([1000, 16, 512]).is_some());
        assert!(chunks([250, 16, 512]).is_some());
    }

    #[test]
    fn scans_that_fill_the_gpu_run_one_after_the_other() {
        for batch in [128, 256, 1024] {
            assert_eq!(chunks([250, batch, 512]), None);
            assert_eq!(chunks([1000, batch, 512]), None);
        }
    }

    #[test]
    fn few_steps_and_prime_numbers_of_steps_are_not_divided() {
        assert_eq!(chunks([20, 16, 512]), None);
        assert_eq!(chunks([997, 16, 512]), None);
    }
}
