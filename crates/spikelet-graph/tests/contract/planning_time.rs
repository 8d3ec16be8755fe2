//! Planning takes about as long for each operation of a long program as for one of a short program.

use crate::long_program::{assert_about_linear, busy, recurrent};
use crate::targets::Binary;
use spikelet_graph::Plan;
use std::time::Duration;

/// The shortest of some runs from tracing to a checked plan, and the number of kernels.
fn time(time_steps: usize) -> (Duration, usize) {
    let one = || {
        let start = busy();
        let graph = recurrent(time_steps);
        let traced = busy() - start;
        let plan = Plan::new(graph, &Binary);
        let planned = busy() - start;
        plan.check().unwrap();
        let all = busy() - start;
        println!(
            "{} kernels: traced {traced:.1?}, planned {:.1?}, checked {:.1?}",
            plan.kernels.len(),
            planned - traced,
            all - planned
        );
        (all, plan.kernels.len())
    };
    (0..3).map(|_| one()).min().expect("three runs")
}

#[test]
fn planning_is_about_linear() {
    assert_about_linear(time);
}
