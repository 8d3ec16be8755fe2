//! A long program is planned and loaded in time that grows with its length.

use crate::harness::buffers;
use crate::long_program::{assert_about_linear, cpu_time, recurrent};
use spikelet_cpu::Cpu;
use spikelet_graph::{Backend, Plan};
use std::time::Duration;

/// The shortest of some runs, and the number of kernels.
fn time(time_steps: usize) -> (Duration, usize) {
    let cpu = Cpu::new(2).unwrap();
    let one = || {
        let start = cpu_time();
        let plan = Plan::new(recurrent(time_steps), &cpu);
        let planned = cpu_time() - start;
        let (inputs, outputs) = buffers(&plan, &cpu);
        drop(cpu.load(&plan, &inputs, &outputs).unwrap());
        let all = cpu_time() - start;
        let (kernels, loaded) = (plan.kernels.len(), all - planned);
        println!("{kernels} kernels: planned {planned:.1?}, loaded {loaded:.1?}");
        (all, kernels)
    };
    (0..3).map(|_| one()).min().expect("three runs")
}

#[test]
fn planning_and_loading_are_about_linear() {
    assert_about_linear(time);
}
