//! Plans on the threads of a caller, and in processes that are forked after they ran.

use crate::harness::{Loaded, numbers};
use spikelet_cpu::{CallablePlan, CallingThread, Cpu};
use spikelet_expr::Expr;
use spikelet_graph::op::{Feedback, Recurrence, Scan};
use spikelet_graph::{DType, Graph, Plan, Tensor, Tracer, Var};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

const F: DType = DType::F32;

/// Runs a test in a process that has no other tests: this program again, with this test alone.
fn in_own_process(test: &str, work: impl FnOnce()) {
    const TEST: &str = "SPIKELET_TEST_IN_OWN_PROCESS";
    if std::env::var_os(TEST).is_some_and(|name| name == test) {
        return work();
    }
    let path = format!("{}::{test}", module_path!());
    let (_, path) = path.split_once("::").expect("the name of the program");
    let run = Command::new(std::env::current_exe().unwrap())
        .args([path, "--exact", "--test-threads=1"])
        .env(TEST, test)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&run.stderr)
    );
}

/// Whether `work` succeeds in a forked process. One that does not end is killed.
fn succeeds_in_fork(work: impl FnOnce() -> bool) -> bool {
    // SAFETY: the other threads of this process are idle.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        // SAFETY: ends the process.
        unsafe { libc::_exit(i32::from(!done.unwrap_or(false))) };
    }
    let end = Instant::now() + Duration::from_secs(60);
    let mut status = 0;
    loop {
        // SAFETY: the process is a child of this one, and the status is written.
        match unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } {
            0 if Instant::now() > end => {
                // SAFETY: as above.
                unsafe { libc::kill(child, libc::SIGKILL) };
            }
            0 => std::thread::sleep(Duration::from_millis(5)),
            _ => return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        }
    }
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

const STEPS: usize = 4;
const ROWS: usize = 3;

/// A recurrent layer of so many neurons, and its gradients.
fn layer(neurons: usize) -> Graph {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    let h = v * 0.5 + x;
    let s = Expr::custom_gradient(h.ge(0.1), h.sigmoid());
    let neuron = Recurrence::new("lif", ["x"], ["v", "z"])
        .output("s", s.clone(), true)
        .next(vec![(1.0 - &s) * &h, s]);
    let tracer = Tracer::new(F);
    let x = tracer.input("x", F, [STEPS, ROWS, neurons]);
    let w = tracer.parameter("w", [neurons, neurons]);
    let start = tracer.fill(F, [ROWS, neurons], 0.0);
    let scan = Scan::new(Arc::new(neuron), STEPS).feed_back(Feedback::of(1));
    let made = Var::recurrent_scan(scan, &[&x], &[&start, &start], &[], &w);
    let grads = tracer.gradients(&made[0].square().sum_all(), &[&x, &w]);
    tracer.output("s", &made[0]);
    tracer.output("d_x", &grads[0]);
    tracer.output("d_w", &grads[1]);
    tracer.finish().unwrap()
}

fn operands(neurons: usize) -> [Vec<f32>; 2] {
    let values = |count, seed| numbers(count, seed).iter().map(|x| *x as f32).collect();
    [
        values(STEPS * ROWS * neurons, 1),
        values(neurons * neurons, 2),
    ]
}

/// The results of a layer on the calling thread.
fn call(plan: &CallablePlan, neurons: usize) -> Vec<Vec<f32>> {
    let graph = &plan.plan().graph;
    let given = operands(neurons);
    let of_name = |name: &str| given[usize::from(name == "w")].as_ptr().addr();
    let inputs: Vec<usize> = graph.inputs.iter().map(|i| of_name(&i.name)).collect();
    let empty = |o: &spikelet_graph::Output| vec![0.0_f32; graph.ty(o.value).len()];
    let mut results: Vec<Vec<f32>> = graph.outputs.iter().map(empty).collect();
    let outputs: Vec<usize> = results.iter_mut().map(|r| r.as_mut_ptr().addr()).collect();
    let mut arena = vec![0_u64; plan.arena_bytes().div_ceil(8) + 8];
    let arena = arena.as_mut_ptr().addr().next_multiple_of(64);
    // SAFETY: the memory has the types of the plan.
    unsafe { plan.run(&inputs, &outputs, arena, &CallingThread) }.unwrap();
    results
}

/// More neurons than a band of the transposed weight has.
const SIZES: [usize; 2] = [65, 200];

#[test]
fn a_plan_on_the_calling_thread_starts_no_other() {
    in_own_process("a_plan_on_the_calling_thread_starts_no_other", || {
        let cpu = Cpu::new(2).unwrap();
        let before = threads();
        for neurons in SIZES {
            let plan = cpu.callable(&Plan::new(layer(neurons), &cpu)).unwrap();
            let results = call(&plan, neurons);
            assert!(results.iter().all(|r| r.iter().any(|x| *x != 0.0)));
            assert_eq!(threads(), before, "{neurons} neurons");
        }
    });
}

#[test]
fn plans_run_in_a_process_that_is_forked_after_they_ran() {
    in_own_process(
        "plans_run_in_a_process_that_is_forked_after_they_ran",
        || {
            for neurons in SIZES {
                let cpu = Cpu::new(2).unwrap();
                let plan = cpu.callable(&Plan::new(layer(neurons), &cpu)).unwrap();
                let before = call(&plan, neurons);
                let called = succeeds_in_fork(|| call(&plan, neurons) == before);
                assert!(called, "{neurons} neurons on the calling thread");

                let mut loaded = Loaded::new(layer(neurons), 2);
                let [x, w] = operands(neurons);
                loaded.set("x", &Tensor::f32([STEPS, ROWS, neurons], x));
                loaded.set("w", &Tensor::f32([neurons, neurons], w));
                loaded.run();
                let before = loaded.results();
                let ran = succeeds_in_fork(move || {
                    loaded.run();
                    loaded.results() == before
                });
                assert!(ran, "{neurons} neurons on the threads of the device");
            }
        },
    );
}
