//! A spiking network with a table of embeddings, products of spikes with spikes, a choice of the largest
//! features and a loss that picks scores: trained under a memory budget, in 16 bits, step by step.

use crate::harness::{Loaded, numbers, tensor};
use spikelet_cpu::Cpu;
use spikelet_expr::Expr;
use spikelet_graph::op::Recurrence;
use spikelet_graph::{DType, Graph, Plan, Precision, Tensor, Tracer, Var};
use std::collections::BTreeMap;
use std::sync::Arc;

const TIME: usize = 6;
const BATCH: usize = 8;
const TOKENS: usize = 12;
const WIDTH: usize = 16;
const CLASSES: usize = 5;
const WORDS: usize = 20;

fn neuron() -> Arc<Recurrence> {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    let h = &v + (x - &v) * 0.5;
    let slope = ((&h - 1.0) * 4.0).sigmoid();
    let s = Expr::custom_gradient((&h - 1.0).ge(0.0), slope);
    let next = (1.0 - &s) * &h;
    let step = Recurrence::new("lif", ["x"], ["v"]).output("s", s, true);
    Arc::new(step.next(vec![next]))
}

/// The features of each step `[T, N, WIDTH]` for tokens `[T, N, TOKENS]`, and the last potentials.
fn features(tokens: &Var, table: &Var, v: &Var) -> [Var; 2] {
    let current = tokens.embedding(table);
    let time = tokens.dim(0);
    let scanned = Var::scan(&neuron(), time, &[&current], &[v], &[]);
    let spikes = &scanned[0];
    let scores = spikes.bmm(&spikes.transpose(2, 3)) / WIDTH as f64;
    let mixed = scores.bmm(spikes).mean(&[2]);
    let kept = mixed.topk(WIDTH / 2)[0].slice(2, WIDTH / 2 - 1..WIDTH / 2);
    let y = mixed.ge(&kept).where_(&mixed, &(&mixed * 0.5));
    [y, scanned[1].clone()]
}

/// A training step: all time steps at once, or traced one by one.
fn step(precision: Precision, one_by_one: bool) -> Graph {
    let tracer = Tracer::new(DType::F32);
    tracer.set_precision(precision);
    let tokens = tracer.input("tokens", DType::I64, [TIME, BATCH, TOKENS]);
    let labels = tracer.input("labels", DType::I64, [BATCH]);
    let table = tracer.parameter("table", [WORDS, WIDTH]);
    let w = tracer.parameter("w", [CLASSES, WIDTH]);
    let mut v = tracer.state("v", [BATCH, TOKENS, WIDTH]);
    let y = if one_by_one {
        let mut steps = vec![];
        for t in 0..TIME {
            let [y, next] = features(&tokens.slice(0, t..t + 1), &table, &v);
            v = next;
            steps.push(y);
        }
        Var::concat(&steps.iter().collect::<Vec<_>>(), 0)
    } else {
        features(&tokens, &table, &v)[0].clone()
    };
    let scores = y.linear(&w).mean(&[0]);
    let picked = scores.log_softmax().gather(1, &labels.unsqueeze(1));
    let loss = -picked.mean_all();
    let grads = tracer.gradients(&loss, &[&table, &w]);
    tracer.output("loss", &loss);
    tracer.output("y", &y);
    for (name, (parameter, grad)) in ["dtable", "dw"].iter().zip([&table, &w].iter().zip(&grads)) {
        tracer.output(name, grad);
        tracer.update(parameter, &(*parameter - grad * 4.0));
    }
    tracer.finish().unwrap()
}

/// Runs a plan some times; the results of the first run, and the loss of each.
fn train(plan: Plan, cpu: Cpu, runs: usize) -> (BTreeMap<String, Tensor>, Vec<f64>) {
    let mut loaded = Loaded::with_plan(plan, cpu);
    let below = |shape: &[usize], n: usize, seed| {
        let values = numbers(shape.iter().product(), seed);
        let one = |x: f64| ((x + 1.0) / 2.0 * n as f64) as i64 % n as i64;
        Tensor::i64(shape, values.into_iter().map(one).collect::<Vec<_>>())
    };
    loaded.set("tokens", &below(&[TIME, BATCH, TOKENS], WORDS, 1));
    loaded.set("labels", &below(&[BATCH], CLASSES, 2));
    let table = tensor(&[WORDS, WIDTH], 3).to_f64().into_iter();
    let table: Vec<f32> = table.map(|x| (3.0 * x) as f32).collect();
    loaded.set("table", &Tensor::f32([WORDS, WIDTH], table));
    loaded.set("w", &tensor(&[CLASSES, WIDTH], 4).cast(DType::F32));
    loaded.run();
    let first = loaded.results();
    let mut losses = vec![loaded.get("loss").to_f64()[0]];
    for _ in 1..runs {
        loaded.run();
        losses.push(loaded.get("loss").to_f64()[0]);
    }
    (first, losses)
}

fn planned(graph: Graph) -> (Plan, Cpu) {
    let cpu = Cpu::new(2).unwrap();
    (Plan::new(graph, &cpu), cpu)
}

/// The mean difference of the elements, relative to their mean size. (One spike that differs changes
/// which features are the largest, so single elements may be far apart in 16 bits.)
fn distance(a: &Tensor, b: &Tensor) -> f64 {
    let (a, b) = (a.to_f64(), b.to_f64());
    let apart: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).sum();
    apart / b.iter().map(|x| x.abs()).sum::<f64>()
}

#[test]
fn it_trains_and_a_memory_budget_changes_no_bit() {
    let (plan, cpu) = planned(step(Precision::F32, false));
    let natural = plan.peak_bytes();
    let (whole, losses) = train(plan, cpu, 60);
    assert!(losses[59] < 0.75 * losses[0], "{losses:?}");
    let cpu = Cpu::new(2).unwrap();
    let within =
        |share: usize| Plan::within(step(Precision::F32, false), &cpu, natural * share / 20).ok();
    let tight = (8..19).find_map(within).expect("a plan within less memory");
    assert!(tight.peak_bytes() < natural * 19 / 20);
    let (limited, same) = train(tight, Cpu::new(2).unwrap(), 60);
    assert_eq!(whole, limited);
    assert_eq!(losses, same);
}

#[test]
fn it_trains_with_sequences_of_16_bits() {
    let (plan, cpu) = planned(step(Precision::F32, false));
    let (full, _) = train(plan, cpu, 1);
    for precision in [Precision::Bf16, Precision::F16, Precision::Tf32] {
        let graph = step(precision, false);
        let text = graph.to_string();
        let half = matches!(precision, Precision::Bf16 | Precision::F16);
        // The products have the operands' 16-bit type; the gradient of the table is summed in f32.
        let product = text
            .lines()
            .find(|line| line.contains("batch_matmul"))
            .unwrap();
        assert_eq!(product.contains("f16["), half, "{text}");
        let sum = text
            .lines()
            .find(|line| line.contains("scatter_add[0"))
            .unwrap();
        assert!(sum.contains(") ") && sum.contains(" f32["), "{text}");
        let (plan, cpu) = planned(graph);
        let (given, losses) = train(plan, cpu, 60);
        assert!(losses[59] < 0.75 * losses[0], "{precision}: {losses:?}");
        let apart = distance(&given["y"], &full["y"]);
        assert!(apart < 0.05, "{precision}: {apart}");
    }
}

#[test]
fn step_by_step_it_has_the_same_features_and_gradients() {
    let (plan, cpu) = planned(step(Precision::F32, false));
    let (at_once, _) = train(plan, cpu, 1);
    let (plan, cpu) = planned(step(Precision::F32, true));
    let (one_by_one, losses) = train(plan, cpu, 60);
    assert_eq!(at_once["y"], one_by_one["y"]);
    assert_eq!(at_once["loss"], one_by_one["loss"]);
    for name in ["dtable", "dw"] {
        assert!(distance(&one_by_one[name], &at_once[name]) < 1e-5, "{name}");
    }
    assert!(losses[59] < 0.75 * losses[0], "{losses:?}");
}
