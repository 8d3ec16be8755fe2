//! Sums over ranks that are threads with a CPU each.

use crate::harness::{Loaded, numbers};
use crate::overlapping_layers::{overlapping_step, shared_scans};
use crate::thread_ranks::ThreadProcessGroup;
use spikelet_cpu::Cpu;
use spikelet_graph::op::Op;
use spikelet_graph::{
    Backend, Buckets, DType, Graph, InPlaceUpdates, Node, Plan, ProcessGroup, Result,
    SchedulingPolicy, SpikeStorage, Target, Tensor, TensorType, Tracer, Var, WorkspaceQuery,
};
use std::sync::Arc;

const F: DType = DType::F32;

/// The result of a closure on each rank of a group, from its rank and its CPU.
fn ranks<T: Send>(size: usize, run: impl Fn(usize, Cpu) -> T + Sync) -> Vec<T> {
    let run = &run;
    std::thread::scope(|scope| {
        let threads: Vec<_> = ThreadProcessGroup::group(size)
            .into_iter()
            .map(|exchange| {
                scope.spawn(move || {
                    let rank = exchange.rank();
                    run(rank, Cpu::new(2).unwrap().in_group(Arc::new(exchange)))
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

fn values(count: usize, rank: usize) -> Vec<f32> {
    let values = numbers(count, 3 + rank as u64);
    values.into_iter().map(|x| x as f32).collect()
}

fn load(graph: Graph, cpu: Cpu) -> Loaded {
    Loaded::with_plan(Plan::new(graph, &cpu), cpu)
}

fn bits(tensor: &Tensor) -> Vec<u32> {
    tensor
        .to_f64()
        .iter()
        .map(|x| (*x as f32).to_bits())
        .collect()
}

/// Three tensors, of which the first is read by others, the second is an input, and the third is
/// summed where it lives.
fn three(ranks: usize) -> Graph {
    let t = Tracer::new(F);
    let x = t.input("x", F, [40_000]);
    let (a, c) = (x.exp(), x.square().sum_all());
    let sums = Var::all_reduce(&[&a, &x, &c], ranks);
    for (name, sum) in ["a", "x sum", "c"].iter().zip(&sums) {
        t.output(name, &sum.map1(|v| v * 1.0));
    }
    t.output("kept", &(&a - 1.0));
    t.finish().unwrap()
}

#[test]
fn all_ranks_get_the_sum_of_what_each_puts_in() {
    for size in 1..=4 {
        let found = ranks(size, |rank, cpu| {
            let mut loaded = load(three(size), cpu);
            loaded.set("x", &Tensor::f32([40_000], values(40_000, rank)));
            loaded.run();
            loaded.run();
            loaded.results()
        });
        let all: Vec<Vec<f32>> = (0..size).map(|rank| values(40_000, rank)).collect();
        let expected: Vec<f64> = (0..40_000)
            .map(|k| all.iter().map(|x| f64::from(x[k])).sum())
            .collect();
        for (k, (sum, expected)) in found[0]["x sum"].to_f64().iter().zip(&expected).enumerate() {
            assert!(
                (sum - expected).abs() < 1e-6,
                "element {k}: {sum}, not {expected}"
            );
        }
        let squares: f64 = all.iter().flatten().map(|x| f64::from(x * x)).sum();
        assert!((found[0]["c"].to_f64()[0] / squares - 1.0).abs() < 1e-5);
        for (rank, own) in found.iter().enumerate() {
            for name in ["a", "x sum", "c"] {
                assert_eq!(
                    bits(&own[name]),
                    bits(&found[0][name]),
                    "`{name}` of {rank}"
                );
            }
            let kept = own["kept"].to_f64()[7];
            assert!((kept - (f64::from(all[rank][7]).exp() - 1.0)).abs() < 1e-5);
        }
    }
}

#[test]
fn the_gradient_of_what_a_rank_puts_in_is_the_sum_of_all_ranks_gradients() {
    let size = 3;
    let found = ranks(size, |rank, cpu| {
        let t = Tracer::new(F);
        let (x, c) = (t.input("x", F, [5]), t.input("c", F, [5]));
        let sum = &Var::all_reduce(&[&x], size)[0];
        let loss = (sum.map1(|v| v.tanh()) * &c + &x * &x).sum_all();
        let grad = t.gradients(&loss, &[&x]).remove(0);
        t.output("g", &grad);
        let mut loaded = load(t.finish().unwrap(), cpu);
        loaded.set("x", &Tensor::f32([5], values(5, rank)));
        loaded.set("c", &Tensor::f32([5], values(5, 10 + rank)));
        loaded.run();
        loaded.get("g").to_f64()
    });
    for k in 0..5 {
        let of = |first: usize| -> Vec<f64> {
            (0..size)
                .map(|r| f64::from(values(5, first + r)[k]))
                .collect()
        };
        let (x, c) = (of(0), of(10));
        let slope = 1.0 - x.iter().sum::<f64>().tanh().powi(2);
        for (rank, grads) in found.iter().enumerate() {
            let expected = c.iter().sum::<f64>() * slope + 2.0 * x[rank];
            let (found, near) = (grads[k], 2e-6);
            assert!(
                (found - expected).abs() < near,
                "rank {rank}: {found}, not {expected}"
            );
        }
    }
}

fn load_error(ranks: usize, cpu: &Cpu) -> String {
    let plan = Plan::new(three(ranks), cpu);
    let graph = &plan.graph;
    let inputs = graph.inputs.iter().map(|i| cpu.allocate(graph.ty(i.value)));
    let inputs = inputs.collect::<Result<Vec<_>>>().unwrap();
    let outputs = graph
        .outputs
        .iter()
        .map(|o| cpu.allocate(graph.ty(o.value)).map(Some));
    let outputs = outputs.collect::<Result<Vec<_>>>().unwrap();
    let loaded = cpu.load(&plan, &inputs, &outputs);
    loaded.err().unwrap().to_string()
}

#[test]
fn a_plan_for_another_group_is_rejected() {
    let cpu = Cpu::new(1).unwrap();
    assert!(load_error(2, &cpu).contains("2 ranks"));
    let two = ThreadProcessGroup::group(2).remove(0);
    let cpu = cpu.in_group(Arc::new(two));
    let text = load_error(3, &cpu);
    assert!(
        text.contains("3 ranks") && text.contains("group of 2"),
        "{text}"
    );
}

#[test]
fn the_error_of_a_rank_without_its_peer_names_operation_and_rank() {
    let errors = ranks(2, |rank, cpu| {
        if rank == 1 {
            return String::new();
        }
        let t = Tracer::new(F);
        let x = t.input("x", F, [3]);
        let sums = t.scope("norm", || Var::all_reduce(&[&x], 2));
        t.output("y", &sums[0]);
        let mut loaded = load(t.finish().unwrap(), cpu);
        loaded.executor.run().unwrap_err().to_string()
    });
    let text = &errors[0];
    assert!(text.contains("`norm`") && text.contains("rank 1"), "{text}");
}

/// A step of gradient descent of two layers on a part of a batch.
fn step(batch: usize, size: usize, buckets: Buckets) -> Graph {
    let t = Tracer::new(F);
    let (x, y) = (t.input("x", F, [batch, 20]), t.input("y", F, [batch, 5]));
    let (w, v) = (t.parameter("w", [30, 20]), t.parameter("v", [5, 30]));
    let loss = (x.linear(&w).map1(|v| v.tanh()).linear(&v) - y)
        .square()
        .mean_all();
    let mut grads = t.gradients(&loss, &[&w, &v]);
    if size > 1 {
        grads = t.all_reduce_gradients(&grads, size, buckets);
    }
    for (w, g) in [&w, &v].iter().zip(&grads) {
        t.update(
            w,
            &Var::map(&[w, g], |x| &x[0] - &x[1] * (0.5 / size as f64)),
        );
    }
    t.finish().unwrap()
}

fn trained(graph: Graph, cpu: Cpu, rank: usize, batch: usize) -> Vec<Tensor> {
    let mut loaded = load(graph, cpu);
    loaded.set("w", &Tensor::f32([30, 20], values(600, 100)));
    loaded.set("v", &Tensor::f32([5, 30], values(150, 101)));
    for step in 0..5 {
        let (x, y) = (values(8 * 20, 7 + step), values(8 * 5, 17 + step));
        let part = |all: &[f32], row: usize| all[rank * batch * row..][..batch * row].to_vec();
        loaded.set("x", &Tensor::f32([batch, 20], part(&x, 20)));
        loaded.set("y", &Tensor::f32([batch, 5], part(&y, 5)));
        loaded.run();
    }
    vec![loaded.get("w"), loaded.get("v")]
}

#[test]
fn ranks_with_parts_of_a_batch_train_as_one_with_the_whole() {
    let one = Cpu::new(1).unwrap();
    let whole = trained(step(8, 1, Buckets::default()), one, 0, 8);
    for buckets in [
        Buckets::default(),
        Buckets {
            first: 1,
            others: 1,
        },
    ] {
        for size in [2, 4] {
            let parts = ranks(size, |rank, cpu| {
                trained(step(8 / size, size, buckets), cpu, rank, 8 / size)
            });
            for (k, whole) in whole.iter().enumerate() {
                for own in &parts {
                    assert_eq!(bits(&own[k]), bits(&parts[0][k]));
                    let pairs = own[k].to_f64().into_iter().zip(whole.to_f64());
                    let apart = pairs.fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
                    assert!(apart < 1e-6, "{apart}");
                }
            }
        }
    }
}

/// A CPU whose plans overlap recurrent layers as those of a GPU do.
struct Overlaps(Cpu);

impl WorkspaceQuery for Overlaps {
    fn workspace(&self, graph: &Graph, node: &Node) -> usize {
        self.0.workspace(graph, node)
    }
}

impl SpikeStorage for Overlaps {
    fn reads_bits(&self, op: &Op, inputs: &[TensorType], operand: usize) -> bool {
        self.0.reads_bits(op, inputs, operand)
    }
    fn writes_bits(&self, op: &Op, inputs: &[TensorType], result: usize) -> bool {
        self.0.writes_bits(op, inputs, result)
    }
}

impl SchedulingPolicy for Overlaps {
    fn overlap_chunks(&self, _: &Graph, _: &Node, _: &Node) -> Option<usize> {
        Some(4)
    }
}

impl InPlaceUpdates for Overlaps {}

impl Target for Overlaps {}

#[test]
fn overlapping_recurrent_layers_train_on_ranks_as_on_one() {
    // Chunks of 8 steps whose spikes, as bits, are a multiple of what views are aligned to.
    let [time, all, neurons] = [32, 16, 64];
    // The weights after each of so many steps, of a rank with a part of the batch.
    let train = |mut loaded: Loaded, rank: usize, batch: usize, steps: usize| -> Vec<Vec<u32>> {
        let weight = |seed| -> Vec<f32> {
            let all = numbers(neurons * neurons, seed);
            all.into_iter().map(|w| (w * 0.2) as f32).collect()
        };
        loaded.set("first", &Tensor::f32([neurons, neurons], weight(1)));
        loaded.set("second", &Tensor::f32([neurons, neurons], weight(2)));
        let mut found = vec![];
        for step in 0..steps {
            let whole = values(time * all * neurons, 30 + step);
            let rows = whole.chunks(all * neurons);
            let own = rows.flat_map(|row| &row[rank * batch * neurons..][..batch * neurons]);
            let own: Vec<f32> = own.copied().collect();
            loaded.set("x", &Tensor::f32([time, batch, neurons], own));
            loaded.run();
            found.push([bits(&loaded.get("first")), bits(&loaded.get("second"))].concat());
        }
        found
    };
    let one = load(
        overlapping_step([time, all, neurons], 0),
        Cpu::new(1).unwrap(),
    );
    let whole = train(one, 0, all, 1);
    for size in [2, 4] {
        let parts = ranks(size, |rank, cpu| {
            let graph = overlapping_step([time, all / size, neurons], size);
            let plan = Plan::new(graph, &Overlaps(cpu.clone()));
            assert_eq!(shared_scans(&plan), 16, "{plan}");
            train(Loaded::with_plan(plan, cpu), rank, all / size, 4)
        });
        for own in &parts {
            assert_eq!(*own, parts[0]);
        }
        // The spikes of later steps may differ by the order of the sums.
        for (a, b) in parts[0][0].iter().zip(&whole[0]) {
            let (a, b) = (f32::from_bits(*a), f32::from_bits(*b));
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
        assert_ne!(parts[0][0], parts[0][1]);
    }
}
