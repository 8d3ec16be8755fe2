//! A step allocates nothing: arena, scratch memory and registers are made when a plan is loaded. Beside the arena they
//! do not grow with the batch.

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../spikelet-graph/tests/support/thread_process_group.rs"]
mod thread_ranks;

use spikelet_cpu::Cpu;
use spikelet_expr::Expr;
use spikelet_graph::op::{Conv, HostTensor, MatMul, Pooling, Recurrence, Scan, Window};
use spikelet_graph::{
    Backend, Buckets, Buffer, DType, Executor, Graph, Plan, RandomAxes, Tracer, Var,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use thread_ranks::ThreadProcessGroup;

/// Counts what is allocated, on any thread.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is handed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const F: DType = DType::F32;
const TIME: usize = 8;
const BATCH: usize = 64;
const HIDDEN: usize = 96;
const CLASSES: usize = 10;

fn neuron() -> Arc<Recurrence> {
    let [x, v, w] = ["x", "v", "w"].map(Expr::symbol);
    let h = &v + (x - &v) * w.sigmoid();
    let u = &h - 1.0;
    let s = Expr::custom_gradient(u.ge(0.0), (&u * 4.0).sigmoid());
    let next = (1.0 - &s) * &h;
    Arc::new(
        Recurrence::new("plif", ["x"], ["v"])
            .params(["w"])
            .output("s", s, true)
            .next(vec![next]),
    )
}

/// Encoder, linear layers, neurons, loss, gradients, their sums over a group of one, and an
/// optimizer with moments.
///
/// The matrix library packs its operands into memory of its own. With `dense` the second layer
/// goes through it, otherwise every product is one of spikes with weights.
fn training_step(dense: bool) -> Graph {
    let tracer = Tracer::new(F);
    let image = tracer.input("image", F, [BATCH, 196]);
    let generator = tracer.input("generator", DType::I64, [4]);
    let labels = tracer.input("labels", DType::I64, [BATCH]);
    let w1 = tracer.parameter("w1", [HIDDEN, 196]);
    let w2 = tracer.parameter("w2", [CLASSES, HIDDEN]);
    let tau = tracer.parameter("tau", [HIDDEN]);
    let (v1, v2) = (
        tracer.state("v1", [BATCH, HIDDEN]),
        tracer.state("v2", [BATCH, CLASSES]),
    );
    let spikes = image
        .repeat_over_time(TIME)
        .bernoulli(&generator, RandomAxes::Time);
    let first = Var::scan(&neuron(), TIME, &[&spikes.linear(&w1)], &[&v1], &[&tau]);
    let current = if dense {
        first[0].linear(&w2)
    } else {
        first[0].slice(2, 0..CLASSES) * 1.5 + w2.sum(&[1])
    };
    let zero = tracer.fill(F, [], 0.0);
    let second = Var::scan(&neuron(), TIME, &[&current], &[&v2], &[&zero]);
    let scores = second[0].mean(&[0]);
    let loss = -(scores.log_softmax() * labels.one_hot(CLASSES))
        .sum(&[1])
        .mean_all();
    let wrt = [&w1, &w2, &tau];
    let grads = tracer.gradients(&loss, &wrt);
    let grads = tracer.all_reduce_gradients(&grads, 1, Buckets::default());
    tracer.output("loss", &loss);
    tracer.output("correct", &scores.argmax().equals(&labels).sum_all());
    tracer.output("counts", &first[0].permute(&[1, 0, 2]).sum(&[0, 2]));
    tracer.output("joined", &Var::concat(&[&scores, &second[1]], 1).max(&[1]));
    tracer.update(&v1, &first[1]);
    tracer.update(&v2, &second[1]);
    for (k, (p, g)) in wrt.iter().zip(&grads).enumerate() {
        let m = tracer.state(&format!("m{k}"), p.shape());
        let s = tracer.state(&format!("s{k}"), p.shape());
        let next = Var::map_many(&[p, &m, &s, g], |x| {
            let m = &x[1] * 0.9 + &x[3] * 0.1;
            let s = &x[2] * 0.999 + (&x[3] * &x[3]) * 0.001;
            vec![&x[0] - &m / (s.sqrt() + 1e-8) * 0.001, m, s]
        });
        tracer.update(p, &next[0]);
        tracer.update(&m, &next[1]);
        tracer.update(&s, &next[2]);
    }
    tracer.finish().unwrap()
}

/// Neurons over 16-bit sequences, and their gradients: everything but matrix products.
fn half_step() -> Graph {
    let tracer = Tracer::new(F);
    let x = tracer.input("x", F, [TIME, BATCH, HIDDEN]);
    let (gain, tau) = (
        tracer.parameter("gain", [HIDDEN]),
        tracer.parameter("tau", [HIDDEN]),
    );
    let v = tracer.state("v", [BATCH, HIDDEN]);
    let current = Var::map(&[&x, &gain], |x| &x[0] * &x[1]).cast(DType::BF16);
    let made = Var::scan(&neuron(), TIME, &[&current], &[&v], &[&tau]);
    let scores = (&made[0] * 0.5).sum(&[0]).log_softmax();
    let grads = tracer.gradients(&scores.max(&[1]).sum_all(), &[&gain, &tau]);
    tracer.update(&v, &made[1]);
    tracer.update(&gain, &(&gain - &grads[0] * 0.1));
    tracer.update(&tau, &(&tau - &grads[1] * 0.1));
    tracer.finish().unwrap()
}

/// A first convolution, whose windows are multiplied without the matrix library, normalization,
/// pooled neurons, pooling, and all gradients.
fn images_step() -> Graph {
    let tracer = Tracer::new(F);
    let images = tracer.input("images", F, [BATCH, 10, 12, 1]);
    let w = tracer.parameter("w", [20, 3, 3, 1]);
    let tau = tracer.parameter("tau", [20]);
    let v = tracer.state("v", [BATCH, 8, 10, 20]);
    let y = images.conv(&w, Conv::new(2));
    let [mean, variance] = y.mean_var();
    let normal = (&y - mean) / (variance + 1e-5).sqrt();
    let scan = Scan {
        pool: Some([2, 2]),
        ..Scan::new(neuron(), TIME)
    };
    let made = tracer.apply(scan, &[&normal.repeat_over_time(TIME), &v, &tau]);
    let average = Pooling::Average {
        count_padding: true,
    };
    let pooled = made[0]
        .pool(Pooling::Max, [Window::blocks(2), Window::blocks(1)])
        .pool(average, [Window::Adaptive { outputs: 1 }; 2]);
    let loss = pooled.square().sum_all();
    let grads = tracer.gradients(&loss, &[&w, &tau]);
    tracer.output("loss", &loss);
    tracer.update(&v, &made[1]);
    tracer.update(&w, &(&w - &grads[0] * 0.1));
    tracer.update(&tau, &(&tau - &grads[1] * 0.1));
    tracer.finish().unwrap()
}

/// A product of rows that are mostly zeros, and an update by as many outer products.
fn sparse_step(rows: usize) -> Graph {
    let tracer = Tracer::new(F);
    let (x, g) = (
        tracer.input("x", F, [rows, HIDDEN]),
        tracer.input("g", F, [rows, CLASSES]),
    );
    let w = tracer.state("w", [CLASSES, HIDDEN]);
    let product = MatMul {
        sparse: true,
        ..MatMul::new(false, true)
    };
    tracer.output("y", &tracer.apply1(product, &[&x, &w]).sum_all());
    tracer.update(&w, &w.rank_update(&[[&g, &x]], None));
    tracer.finish().unwrap()
}

/// The bytes that loading a plan allocates beside its arena.
fn bytes_beside_the_arena(graph: Graph) -> usize {
    let cpu = Cpu::new(2).unwrap();
    let plan = Plan::new(graph, &cpu);
    let buffer = |v| cpu.allocate(plan.graph.ty(v)).unwrap();
    let inputs: Vec<Buffer> = plan.graph.inputs.iter().map(|i| buffer(i.value)).collect();
    let fresh = |o: &spikelet_graph::Output| o.updates.is_none().then(|| buffer(o.value));
    let outputs: Vec<Option<Buffer>> = plan.graph.outputs.iter().map(fresh).collect();
    let arena = cpu.arena(&plan).unwrap();
    let before = BYTES.load(Ordering::SeqCst);
    let loaded = cpu.load_into(&plan, &inputs, &outputs, &arena).unwrap();
    let after = BYTES.load(Ordering::SeqCst);
    drop(loaded);
    after - before
}

/// The fewest allocations of a run, of ten after two warm-up runs.
///
/// What a step allocates it allocates in every run. The thread pool has lists that grow once in a
/// while, and threads that make themselves known when they first get work: hence the fewest.
fn allocations(graph: Graph, threads: usize) -> usize {
    let only = ThreadProcessGroup::group(1).remove(0);
    let cpu = Cpu::new(threads).unwrap().in_group(Arc::new(only));
    let plan = Plan::new(graph, &cpu);
    let buffer = |v| cpu.allocate(plan.graph.ty(v)).unwrap();
    let inputs: Vec<Buffer> = plan.graph.inputs.iter().map(|i| buffer(i.value)).collect();
    for buffer in &inputs {
        if buffer.ty.dtype == F {
            let varied = |k: usize| (k * 7 % 11) as f32 * 0.09 - 0.3;
            let values: Vec<f32> = (0..buffer.ty.len()).map(varied).collect();
            cpu.upload(buffer, HostTensor::F32(&values)).unwrap();
        } else {
            cpu.upload(buffer, HostTensor::I64(&vec![1; buffer.ty.len()]))
                .unwrap();
        }
    }
    let fresh = |o: &spikelet_graph::Output| o.updates.is_none().then(|| buffer(o.value));
    let outputs: Vec<Option<Buffer>> = plan.graph.outputs.iter().map(fresh).collect();
    let mut executor: Box<dyn Executor> = cpu.load(&plan, &inputs, &outputs).unwrap();
    for _ in 0..2 {
        executor.run().unwrap();
    }
    let mut count = || {
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        executor.run().unwrap();
        ALLOCATIONS.load(Ordering::SeqCst) - before
    };
    (0..10).map(|_| count()).min().expect("there are ten runs")
}

#[test]
fn a_training_step_allocates_nothing_on_any_thread_and_little_when_it_is_loaded() {
    // One test, so that no other thread allocates meanwhile.
    let [few, many] = [10_000, 100_000].map(|rows| bytes_beside_the_arena(sparse_step(rows)));
    assert!(many < few + (1 << 20), "{few} B and {many} B");
    for threads in [1, 2, 4] {
        assert_eq!(
            allocations(training_step(false), threads),
            0,
            "{threads} threads"
        );
        assert_eq!(allocations(half_step(), threads), 0, "{threads} threads");
        assert_eq!(allocations(images_step(), threads), 0, "{threads} threads");
    }
    let packed = allocations(training_step(true), 2);
    println!("with dense products, whose library packs operands: {packed} allocations a step");
}
