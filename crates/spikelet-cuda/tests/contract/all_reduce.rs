//! Groups of GPUs: sums over ranks, in captured plans too, and errors after a rank is disconnected. All
//! tests need NCCL; those named `two_gpus_…` need two GPUs, the others one.

use crate::harness::{Loaded, Near, apart, compare, gpu, tensor, traced};
use crate::overlapping_layers::{overlapping_step, shared_scans};
use crate::thread_ranks::ThreadProcessGroup;
use spikelet_cpu::Cpu;
use spikelet_cuda::Cuda;
use spikelet_graph::op::AllReduceStart;
use spikelet_graph::{Backend, Buckets, DType, ProcessGroup, Tensor, Tracer, Var};
use std::collections::BTreeMap;
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const F: DType = DType::F32;

/// A bucket for each gradient.
const EACH: Buckets = Buckets {
    first: 1,
    others: 1,
};

/// Serializes the tests: groups that share GPUs would wait for each other's kernels.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets a GPU join a group.
fn join(gpu: &Cuda, exchange: ThreadProcessGroup, patience: u64) {
    gpu.join_group_within(Arc::new(exchange), Duration::from_secs(patience))
        .unwrap_or_else(|error| panic!("{error}"));
}

/// What two ranks with a GPU each make of their number and their GPU.
fn two<T: Send>(patience: u64, run: impl Fn(usize, &Cuda) -> T + Sync) -> Vec<T> {
    let _turn = turn();
    let gpus = [0, 1].map(|k| Cuda::new(k).unwrap_or_else(|error| panic!("{error}")));
    let run = &run;
    std::thread::scope(|scope| {
        let threads: Vec<_> = ThreadProcessGroup::group(2)
            .into_iter()
            .zip(gpus)
            .map(|(exchange, gpu)| {
                scope.spawn(move || {
                    let rank = exchange.rank();
                    join(&gpu, exchange, patience);
                    run(rank, &gpu)
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

/// Two layers on a part of a batch, a step of gradient descent; `ranks` of 0 add nothing up.
fn step(t: &Tracer, batch: usize, ranks: usize, buckets: Buckets) {
    let (x, y) = (t.input("x", F, [batch, 300]), t.input("y", F, [batch, 70]));
    let (w, v) = (t.parameter("w", [500, 300]), t.parameter("v", [70, 500]));
    let out = x.linear(&w).map1(|v| v.tanh()).linear(&v);
    let loss = (out - y).square().mean_all();
    let mut grads = t.gradients(&loss, &[&w, &v]);
    let mut mean = loss;
    if ranks > 0 {
        grads = t.all_reduce_gradients(&grads, ranks, buckets);
        mean = &Var::all_reduce(&[&mean], ranks)[0] / ranks as f64;
    }
    t.output("loss", &mean.map1(|v| v * 1.0));
    for (w, g) in [&w, &v].iter().zip(&grads) {
        let share = 0.5 / ranks.max(1) as f64;
        t.update(w, &Var::map(&[w, g], |x| &x[0] - &x[1] * share));
    }
}

/// The results after each of `runs` steps of rank `rank`.
fn train(
    loaded: &mut Loaded<'_>,
    rank: usize,
    batch: usize,
    runs: usize,
) -> Vec<BTreeMap<String, Tensor>> {
    loaded.set("w", &tensor(&[500, 300], 1));
    loaded.set("v", &tensor(&[70, 500], 2));
    let each = (0..runs).map(|run| {
        let part = |columns: usize, seed: u64| {
            let whole = tensor(&[16, columns], seed + 10 * run as u64).to_f64();
            let own = &whole[rank * batch * columns..][..batch * columns];
            Tensor::f32(
                [batch, columns],
                own.iter().map(|x| *x as f32).collect::<Vec<_>>(),
            )
        };
        loaded.set("x", &part(300, 3));
        loaded.set("y", &part(70, 4));
        loaded.run();
        loaded.results()
    });
    each.collect()
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_group_of_one_changes_nothing_kernel_by_kernel_and_replayed() {
    let _turn = turn();
    let gpu = gpu();
    let alone = train(
        &mut Loaded::new(traced(|t| step(t, 16, 0, EACH)), &gpu),
        0,
        16,
        6,
    );
    join(&gpu, ThreadProcessGroup::group(1).remove(0), 60);
    for buckets in [EACH, Buckets::default()] {
        let mut loaded = Loaded::new(traced(|t| step(t, 16, 1, buckets)), &gpu);
        let grouped = train(&mut loaded, 0, 16, 6);
        for (run, (found, expected)) in grouped.iter().zip(&alone).enumerate() {
            let what = format!("run {run}\n{}", loaded.plan);
            compare(found, expected, |_| Near::Bits, &what);
        }
        assert_eq!(loaded.profile().len(), loaded.plan.kernels.len());
        loaded.run();
        gpu.synchronize().unwrap();
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_operand_that_others_read_is_summed_elsewhere() {
    let _turn = turn();
    let gpu = gpu();
    join(&gpu, ThreadProcessGroup::group(1).remove(0), 60);
    let graph = traced(|t| {
        let x = t.input("x", F, [10_000]);
        let sums = Var::all_reduce(&[&x.exp(), &x], 1);
        t.output("a", &(&sums[0] + &x.exp()));
        t.output("b", &sums[1].map1(|v| v * 2.0));
    });
    let mut loaded = Loaded::new(graph, &gpu);
    loaded.set("x", &tensor(&[10_000], 5));
    let expected = loaded.get("x").to_f64();
    for _ in 0..4 {
        loaded.run();
        let found = loaded.get("b").to_f64();
        assert!(found.iter().zip(&expected).all(|(b, x)| *b == 2.0 * x));
        let found = loaded.get("a").to_f64();
        let near = |(a, x): (&f64, &f64)| (a - 2.0 * x.exp()).abs() < 1e-5;
        assert!(found.iter().zip(&expected).all(near));
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_plan_for_another_group_is_rejected() {
    let _turn = turn();
    let gpu = gpu();
    let error = || {
        let graph = traced(|t| {
            let x = t.input("x", F, [3]);
            t.output(
                "y",
                &t.scope("norm", || Var::all_reduce(&[&x], 2).remove(0)),
            );
        });
        Loaded::try_new(graph, &gpu).err().unwrap().to_string()
    };
    let ungrouped = error();
    for word in ["cuda:0", "`norm`", "2 ranks", "no group"] {
        assert!(ungrouped.contains(word), "no `{word}` in: {ungrouped}");
    }
    join(&gpu, ThreadProcessGroup::group(1).remove(0), 60);
    let smaller = error();
    for word in ["cuda:0", "`norm`", "2 ranks", "group of 1"] {
        assert!(smaller.contains(word), "no `{word}` in: {smaller}");
    }
    let twice = gpu.join_group(Arc::new(ThreadProcessGroup::group(1).remove(0)));
    let twice = twice.unwrap_err().to_string();
    assert!(twice.contains("already"), "{twice}");
}

/// The weights after each of some steps of two recurrent layers that overlap, of rank `rank` of `ranks`.
fn train_overlapping(gpu: &Cuda, rank: usize, ranks: usize) -> Vec<BTreeMap<String, Tensor>> {
    let [time, batch, neurons] = [250, 16, 512];
    let mut loaded = Loaded::new(overlapping_step([time, batch, neurons], ranks), gpu);
    assert!(shared_scans(&loaded.plan) > 0, "{}", loaded.plan);
    let weight = |seed| {
        let all = tensor(&[neurons, neurons], seed).to_f64();
        let small = all.iter().map(|w| (w * 0.06) as f32);
        Tensor::f32([neurons, neurons], small.collect::<Vec<_>>())
    };
    loaded.set("first", &weight(1));
    loaded.set("second", &weight(2));
    // Kernel by kernel, captured, and replayed.
    let each = (0..6).map(|run| {
        let seed = 3 + (ranks.max(1) * run + rank) as u64;
        loaded.set("x", &tensor(&[time, batch, neurons], seed));
        loaded.run();
        loaded.results()
    });
    each.collect()
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn overlapping_recurrent_layers_in_a_group_of_one_have_the_bits_of_one_alone() {
    let _turn = turn();
    let gpu = gpu();
    let alone = train_overlapping(&gpu, 0, 0);
    join(&gpu, ThreadProcessGroup::group(1).remove(0), 60);
    let grouped = train_overlapping(&gpu, 0, 1);
    for (run, (found, expected)) in grouped.iter().zip(&alone).enumerate() {
        compare(found, expected, |_| Near::Bits, &format!("run {run}"));
    }
}

// NCCL has at most one rank on a GPU: two ranks need two of them.
#[test]
#[ignore = "needs two NVIDIA GPUs"]
fn two_gpus_with_overlapping_recurrent_layers_have_the_same_bits() {
    let ranks = two(60, |rank, gpu| train_overlapping(gpu, rank, 2));
    for (run, (mut a, mut b)) in std::iter::zip(ranks[0].clone(), ranks[1].clone()).enumerate() {
        // Each rank has its own loss.
        let losses = [a.remove("loss"), b.remove("loss")];
        assert_ne!(losses[0], losses[1], "run {run}");
        compare(&b, &a, |_| Near::Bits, &format!("run {run}"));
    }
}

/// The results of two CPUs.
fn on_two_cpus(runs: usize) -> Vec<BTreeMap<String, Tensor>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = ThreadProcessGroup::group(2)
            .into_iter()
            .map(|exchange| {
                scope.spawn(move || {
                    let rank = exchange.rank();
                    let cpu = Cpu::new(1).unwrap().in_group(Arc::new(exchange));
                    let mut loaded = Loaded::new(traced(|t| step(t, 8, 2, EACH)), &cpu);
                    train(&mut loaded, rank, 8, runs)
                })
            })
            .collect();
        let mut all = threads.into_iter().map(|t| t.join().unwrap());
        let first = all.next().unwrap();
        assert_eq!(all.count(), 1);
        first
    })
}

#[test]
#[ignore = "needs two NVIDIA GPUs"]
fn two_gpus_have_the_same_bits_over_many_replays_and_agree_with_two_cpus() {
    let runs = 20;
    for buckets in [EACH, Buckets::default()] {
        let ranks = two(60, |rank, gpu| {
            let mut loaded = Loaded::new(traced(|t| step(t, 8, 2, buckets)), gpu);
            train(&mut loaded, rank, 8, runs)
        });
        for (run, (a, b)) in ranks[0].iter().zip(&ranks[1]).enumerate() {
            compare(
                b,
                a,
                |_| Near::Bits,
                &format!("the other rank after run {run}"),
            );
        }
        for (run, (found, expected)) in ranks[0].iter().zip(on_two_cpus(runs)).enumerate() {
            for (name, expected) in expected {
                let apart = apart(&found[&name], &expected, Near::OfLargest(1e-4));
                assert_eq!(apart, None, "`{name}` after run {run}");
            }
        }
    }
}

#[test]
#[ignore = "needs two NVIDIA GPUs"]
fn two_gpus_leave_sums_alone_that_have_not_arrived() {
    let size = 1 << 20;
    let ranks = two(60, |rank, gpu| {
        let graph = traced(|t| {
            let x = t.input("x", F, [size]);
            let started = t.apply(AllReduceStart { ranks: 2 }, &[&x.map1(|v| v * 2.0)]);
            // Work that wants the memory meanwhile.
            let mut y = x.clone();
            for _ in 0..8 {
                y = y
                    .map1(|v| v.sin())
                    .reshape([1 << 10, 1 << 10])
                    .permute(&[1, 0]);
                y = y.reshape([size]);
            }
            let sum = t.apply1(spikelet_graph::op::AllReduceDone, &[&started[0]]);
            t.output("sum", &sum.map1(|v| v * 1.0));
            t.output("y", &y.sum_all());
        });
        let mut loaded = Loaded::new(graph, gpu);
        loaded.set("x", &tensor(&[size], 6 + rank as u64));
        let each = (0..20).map(|_| {
            loaded.run();
            loaded.get("sum")
        });
        each.collect::<Vec<Tensor>>()
    });
    let inputs = [6, 7].map(|seed| tensor(&[size], seed).to_f64());
    let pairs = inputs[0].iter().zip(&inputs[1]);
    let expected: Vec<f32> = pairs.map(|(a, b)| (2.0 * (a + b)) as f32).collect();
    let expected = Tensor::f32([size], expected);
    for sum in ranks.iter().flatten() {
        assert_eq!(apart(sum, &expected, Near::OfLargest(1e-6)), None);
    }
}

#[test]
#[ignore = "needs two NVIDIA GPUs"]
fn two_gpus_can_abort_the_group_when_a_peer_stops() {
    let finished = Barrier::new(2);
    let message = two(5, |rank, gpu| {
        let mut loaded = Loaded::new(traced(|t| step(t, 8, 2, EACH)), gpu);
        train(&mut loaded, rank, 8, 3);
        if rank == 1 {
            finished.wait();
            return String::new();
        }
        loaded.run();
        let message = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                gpu.abort_group();
            });
            gpu.synchronize().unwrap_err().to_string()
        });
        let again = gpu.synchronize().unwrap_err().to_string();
        assert_eq!(message, again);
        finished.wait();
        message
    });
    assert!(
        message[0].contains("rank 0 of 2") && message[0].contains("aborted"),
        "{}",
        message[0]
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn joining_ends_when_another_rank_does_not_join_in_time() {
    let _turn = turn();
    let gpu = gpu();
    // The other rank takes part in the rendezvous, but does not join.
    let mut ranks = ThreadProcessGroup::group(2);
    let (other, own) = (ranks.remove(1), ranks.remove(0));
    let absent = std::thread::spawn(move || {
        let mut ranks_without = [0.0];
        other.all_reduce(&mut ranks_without).unwrap();
        other.broadcast(&mut vec![], 0).ok();
        std::thread::sleep(Duration::from_secs(5));
    });
    let joined = gpu.join_group_within(Arc::new(own), Duration::from_secs(2));
    let message = joined.unwrap_err().to_string();
    assert!(message.contains("2 s"), "{message}");
    absent.join().unwrap();
}
