//! Sums over ranks: shapes, order, memory, and what passes leave alone.

use crate::overlapping_layers::{overlapping_step, shared_scans};
use crate::targets::{Chunks, Overlaps, Plain};
use insta::assert_snapshot;
use spikelet_graph::op::{AllReduceDone, AllReduceStart, Conv, Op, Reshape};
use spikelet_graph::{Buckets, DType, Graph, Location, Plan, Tracer, Var, pass};
use std::sync::Arc;

const F: DType = DType::F32;

fn trace_error(trace: impl FnOnce(&Tracer)) -> String {
    let tracer = Tracer::new(F);
    trace(&tracer);
    tracer.check().unwrap_err().to_string()
}

/// Names of a graph's operations, in order.
fn names(graph: &Graph) -> Vec<String> {
    let name = |n: &spikelet_graph::Node| spikelet_graph::op::Operation::name(&n.op);
    graph.nodes.iter().map(name).collect()
}

fn place_of(graph: &Graph, wanted: impl Fn(&Op) -> bool) -> Vec<usize> {
    let found = graph.nodes.iter().enumerate();
    found
        .filter(|(_, n)| wanted(&n.op))
        .map(|(k, _)| k)
        .collect()
}

fn sums(graph: &Graph) -> Vec<usize> {
    place_of(graph, |op| matches!(op, Op::AllReduceStart(_)))
}

fn waits(graph: &Graph) -> Vec<usize> {
    place_of(graph, |op| matches!(op, Op::AllReduceDone(_)))
}

#[test]
fn a_group_of_no_ranks_and_tensors_of_other_types_are_refused() {
    assert_snapshot!(trace_error(|t| {
        let x = t.input("x", F, [3]);
        t.scope("norm", || Var::all_reduce(&[&x], 0));
    }), @"
    all_reduce_start in `norm`: the group has 0 ranks
      given: f32[3]
      help: pass the number of ranks, this one included
    ");
    assert_snapshot!(trace_error(|t| {
        let (x, y) = (t.input("x", F, [3]), t.input("y", DType::F64, [2]));
        let sums = Var::all_reduce(&[&x, &y], 2);
        assert_eq!(sums.len(), 2);
    }), @"
    all_reduce_start: sums f32 tensors; an operand is f64
      given: f32[3] and f64[2]
      help: cast it to f32 first; f64 is for references, which run as one rank
    ");
    assert!(Var::all_reduce(&[], 2).is_empty());
}

/// Three layers, their gradients in buckets, a step of gradient descent.
fn training_step(buckets: Option<Buckets>) -> Graph {
    let t = Tracer::new(F);
    let x = t.input("x", F, [8, 256]);
    let weights: Vec<Var> = (0..3)
        .map(|k| t.parameter(&format!("w{k}"), [256, 256]))
        .collect();
    let y = weights.iter().fold(x, |x, w| x.linear(w).relu());
    let loss = y.square().mean_all();
    let mut grads = t.gradients(&loss, &weights.iter().collect::<Vec<_>>());
    if let Some(buckets) = buckets {
        grads = t.all_reduce_gradients(&grads, 2, buckets);
    }
    for (w, g) in weights.iter().zip(&grads) {
        t.update(w, &(w - g * 0.05));
    }
    let loss = &Var::all_reduce(&[&loss], 2)[0] * 0.5;
    t.output("loss", &loss);
    t.finish().unwrap()
}

/// One bucket for each layer.
const EACH: Buckets = Buckets {
    first: 1,
    others: 1,
};

#[test]
fn sums_start_right_behind_their_gradients_and_arrive_before_the_updates() {
    for target in [&Plain as &dyn spikelet_graph::Target, &Chunks(1 << 10)] {
        let plan = Plan::new(training_step(Some(EACH)), target);
        plan.check().unwrap();
        let graph = &plan.graph;
        let (sums, waits) = (sums(graph), waits(graph));
        assert_eq!((sums.len(), waits.len()), (4, 4));
        for (k, sum) in sums[..3].iter().enumerate() {
            let node = &graph.nodes[*sum];
            assert!(
                node.backward && graph.nodes[sum - 1].outputs == node.inputs,
                "{plan}"
            );
            // The last layer's gradient is there first.
            let update = graph.nodes.iter().position(|n| {
                n.inputs == [graph.inputs[3 - k].value, graph.nodes[waits[k]].outputs[0]]
            });
            assert!(update.unwrap() > waits[k]);
            assert_eq!(graph.nodes[waits[k]].inputs, node.outputs);
        }
        let last_backward = graph
            .nodes
            .iter()
            .rposition(|n| matches!(n.op, Op::MatMul(_)));
        assert!(waits[0] > last_backward.unwrap());
    }
}

#[test]
fn small_gradients_share_a_bucket_in_the_order_in_which_they_are_made() {
    let size = 4 * 256 * 256;
    let counts = |first: usize, others: usize| {
        let graph = training_step(Some(Buckets { first, others }));
        let sums = sums(&graph);
        let counts = sums[..sums.len() - 1]
            .iter()
            .map(|k| graph.nodes[*k].inputs.len());
        counts.collect::<Vec<usize>>()
    };
    assert_eq!(counts(1, 2 * size), [1, 2]);
    assert_eq!(counts(size + 1, 1), [2, 1]);
    let usual = Buckets::default();
    assert_eq!(counts(usual.first, usual.others), [3]);
}

#[test]
fn a_gradient_that_two_parameters_share_is_summed_once() {
    let t = Tracer::new(F);
    let (a, b) = (t.parameter("a", [4]), t.parameter("b", [4]));
    let loss = (&a + &b).square().sum_all();
    let grads = t.gradients(&loss, &[&a, &b]);
    assert_eq!(grads[0].id(), grads[1].id());
    let sums = t.all_reduce_gradients(&grads, 2, Buckets::default());
    assert_eq!(sums[0].id(), sums[1].id());
    let inputs = |n: &spikelet_graph::Node| match n.op {
        Op::AllReduceStart(_) => n.inputs.len(),
        _ => 0,
    };
    assert_eq!(t.traced().nodes.iter().map(inputs).sum::<usize>(), 1);
}

#[test]
fn a_sum_lives_where_its_operand_lives_and_nothing_else_does_until_it_arrives() {
    let plan = Plan::new(training_step(Some(EACH)), &Plain);
    let (sums, waits) = (sums(&plan.graph), waits(&plan.graph));
    for (sum, wait) in sums.iter().zip(&waits) {
        let of = |k: usize| plan.kernels.iter().find(|kernel| kernel.node == k).unwrap();
        assert_eq!(of(*sum).reads, of(*sum).writes, "{plan}");
        assert_eq!(of(*wait).reads, of(*wait).writes, "{plan}");
        assert_eq!(of(*sum).reads, of(*wait).writes);
        assert_eq!(of(*wait).bytes, 0);
        let Location::Arena(offset) = of(*sum).reads[0] else {
            panic!("{plan}");
        };
        let held = plan
            .allocations
            .iter()
            .find(|a| a.offset == offset && a.alive.0 < *sum && *wait <= a.alive.1);
        assert!(held.is_some(), "{:?}", plan.allocations);
    }
}

#[test]
fn an_operand_that_others_read_stays_and_lives_until_the_sum_arrives() {
    let t = Tracer::new(F);
    let x = t.input("x", F, [1 << 10]);
    let y = x.exp();
    let started = t.apply(AllReduceStart { ranks: 2 }, &[&y]);
    // The last reader of the operand, which would take its place.
    let z = Var::map(&[&y], |v| v[0].sqrt());
    t.output("z sum", &z.sum_all());
    let sum = t.apply1(AllReduceDone, &[&started[0]]);
    t.output("sum", &sum.sum_all());
    let plan = Plan::new(t.finish().unwrap(), &Plain);
    plan.check().unwrap();
    let kernel = |name: &str, nth: usize| {
        let named = plan
            .kernels
            .iter()
            .filter(|k| names(&plan.graph)[k.node] == name);
        named.collect::<Vec<_>>()[nth]
    };
    let (exp, sqrt, sum) = (
        kernel("map", 0),
        kernel("map", 1),
        kernel("all_reduce_start", 0),
    );
    assert_eq!(sqrt.reads, exp.writes);
    assert_ne!(sqrt.writes, exp.writes, "{plan}");
    assert_ne!(sum.writes, exp.writes, "{plan}");
    let arrive = kernel("all_reduce_done", 0).node;
    let alive = plan.allocations.iter().filter(|a| a.bytes >= 4 << 10);
    let alive: Vec<_> = alive.filter(|a| a.alive.1 >= arrive).collect();
    assert!(alive.len() >= 2, "{:?}", plan.allocations);
}

#[test]
fn an_input_that_is_being_summed_is_not_updated_in_place_before_the_sum_has_arrived() {
    let state = |early: bool| {
        let t = Tracer::new(F);
        let s = t.state("s", [4]);
        let started = t.apply(AllReduceStart { ranks: 2 }, &[&s]);
        let wait = || t.apply1(AllReduceDone, &[&started[0]]);
        let first = early.then(wait);
        t.update(&s, &s.map1(|v| v * 0.5));
        t.output("sum", &first.unwrap_or_else(wait));
        let plan = Plan::new(t.finish().unwrap(), &Plain);
        plan.check().unwrap();
        let update = plan.graph.outputs.iter().find(|o| o.name == "s").unwrap();
        plan.place(update.value) == Location::Input(0)
    };
    assert!(state(true));
    assert!(!state(false));
}

#[test]
fn two_operands_in_one_place_are_summed_elsewhere() {
    let t = Tracer::new(F);
    let x = t.input("x", F, [4, 4]).exp();
    let turned = t.apply1(Reshape { shape: vec![16] }, &[&x]);
    let sums = Var::all_reduce(&[&x, &turned], 2);
    t.output("a", &sums[0].sum_all());
    t.output("b", &sums[1].sum_all());
    let plan = Plan::new(t.finish().unwrap(), &Plain);
    plan.check().unwrap();
    let k = sums_kernel(&plan);
    assert!(
        plan.kernels[k]
            .writes
            .iter()
            .all(|w| !plan.kernels[k].reads.contains(w)),
        "{plan}"
    );
}

fn sums_kernel(plan: &Plan) -> usize {
    let node = sums(&plan.graph)[0];
    plan.kernels.iter().position(|k| k.node == node).unwrap()
}

#[test]
fn what_has_not_arrived_is_read_by_nobody() {
    let problem = |trace: &dyn Fn(&Tracer, &Var)| {
        let t = Tracer::new(F);
        let x = t.input("x", F, [4]);
        t.scope("l", || trace(&t, &x));
        let plan = Plan::new(t.finish().unwrap(), &Plain);
        plan.check().unwrap_err().to_string()
    };
    let reduce = AllReduceStart { ranks: 2 };
    assert_snapshot!(problem(&|t, x| {
        let sum = t.apply1(reduce, &[x]);
        t.output("y", &sum.exp());
    }), @"the plan cannot be loaded: map in `l` reads the result of an all-reduce before it is completed");
    assert_snapshot!(problem(&|t, x| {
        t.output("y", &t.apply1(reduce, &[x]));
    }), @"the plan cannot be loaded: output `y` is the result of an all-reduce that is not completed");
    assert_snapshot!(problem(&|t, x| {
        t.output("y", &t.apply1(AllReduceDone, &[x]));
    }), @"the plan cannot be loaded: all_reduce_done in `l` has no matching start of an all-reduce");
    assert_snapshot!(problem(&|t, x| {
        let sums = t.apply(reduce, &[x, &x.exp()]);
        t.output("y", &t.apply1(AllReduceDone, &[&sums[1]]));
    }), @"the plan cannot be loaded: all_reduce_done in `l` completes other tensors than its all-reduce has");
}

#[test]
fn a_sum_that_nobody_reads_is_dropped_whole_and_one_that_is_read_in_part_stays_whole() {
    let t = Tracer::new(F);
    let (x, y) = (t.input("x", F, [4]), t.input("y", F, [4]));
    Var::all_reduce(&[&x], 2);
    let sums = Var::all_reduce(&[&x, &y], 2);
    t.output("x sum", &sums[1].exp());
    let plan = Plan::new(t.finish().unwrap(), &Plain);
    plan.check().unwrap();
    assert_eq!(
        names(&plan.graph),
        ["all_reduce_start", "all_reduce_done", "map"]
    );
    // The one that nobody reads is written too, until all have arrived.
    let unread = plan.graph.nodes[0].outputs[0];
    let place = plan.allocations.iter().find(|a| a.value == Some(unread));
    assert_eq!(place.unwrap().alive, (0, 1));
    let sum = &plan.kernels[0];
    assert!(
        sum.writes.iter().all(|w| matches!(w, Location::Arena(_))),
        "{plan}"
    );
}

#[test]
fn the_gradient_of_a_sum_is_a_sum_of_the_gradients_that_are_there() {
    let t = Tracer::new(F);
    let (a, b) = (t.input("a", F, [3]), t.input("b", F, [3]));
    let sums = Var::all_reduce(&[&a, &b], 3);
    let loss = (&sums[1] * 2.0).sum_all();
    let grads = t.gradients(&loss, &[&a, &b]);
    t.output("da", &grads[0]);
    t.output("db", &grads[1]);
    let plan = Plan::new(t.finish().unwrap(), &Plain);
    plan.check().unwrap();
    let graph = &plan.graph;
    let backward = sums_backward(graph);
    assert_eq!(backward.len(), 1);
    assert_eq!(graph.nodes[backward[0]].inputs.len(), 1);
    assert!(matches!(
        graph.nodes[backward[0] + 1].op,
        Op::AllReduceDone(_)
    ));
}

fn sums_backward(graph: &Graph) -> Vec<usize> {
    let all = sums(graph).into_iter();
    all.filter(|k| graph.nodes[*k].backward).collect()
}

/// A network whose middle is normalized over all ranks, large against everything else.
fn wide_step() -> Graph {
    let t = Tracer::new(F);
    let x = t.input("x", F, [4096, 64]);
    let w: Vec<Var> = (0..4)
        .map(|k| t.parameter(&format!("w{k}"), [64, 64]))
        .collect();
    let mut y = x;
    for w in &w {
        y = y.linear(w);
        let [mean, _] = y.mean_var();
        let mean = &Var::all_reduce(&[&mean], 2)[0] * 0.5;
        y = (y - mean).map1(|v| v.tanh());
    }
    let loss = y.square().mean_all();
    let grads = t.gradients(&loss, &w.iter().collect::<Vec<_>>());
    let grads = t.all_reduce_gradients(&grads, 2, EACH);
    for (w, g) in w.iter().zip(&grads) {
        t.update(w, &(w - g * 0.05));
    }
    t.finish().unwrap()
}

/// The numbers of elements that each sum over ranks adds, in order.
fn sequence(graph: &Graph) -> Vec<usize> {
    let sums = sums(graph).into_iter();
    sums.map(|k| graph.ty(graph.nodes[k].inputs[0]).len())
        .collect()
}

#[test]
fn a_budget_runs_no_sum_again_and_keeps_their_order() {
    let usual = Plan::new(wide_step(), &Plain);
    let mut least = usual.peak_bytes();
    for share in [95, 90, 85, 80, 75, 70] {
        let limit = usual.peak_bytes() * share / 100;
        let Ok(plan) = Plan::within(wide_step(), &Plain, limit) else {
            continue;
        };
        plan.check().unwrap();
        assert_eq!(sequence(&plan.graph), sequence(&usual.graph), "{plan}");
        least = least.min(plan.peak_bytes());
    }
    assert!(least < usual.peak_bytes());
}

#[test]
fn sums_keep_their_order_where_sequences_go_through_in_parts() {
    let build = || {
        let t = Tracer::new(F);
        let mut y = t.input("x", F, [8, 4, 8, 8, 16]);
        let w = t.parameter("w", [16, 3, 3, 16]);
        let mut total = t.fill(F, [], 0.0);
        for k in 0..3 {
            let conv = Conv {
                padding: vec![1, 1],
                ..Conv::new(2)
            };
            y = y.conv(&w, conv).relu();
            let [mean, _] = y.mean_var();
            let first = Var::all_reduce(&[&mean], 2);
            // Waits for nothing that comes in parts.
            let own = t.parameter(&format!("own{k}"), [2 + k]);
            let second = Var::all_reduce(&[&own.exp()], 2);
            total = total + first[0].sum_all() + second[0].sum_all();
        }
        t.output("z", &(y.mean_all() + total));
        t.finish().unwrap()
    };
    let plain = Plan::new(build(), &Plain);
    assert_eq!(sequence(&plain.graph), [16, 2, 16, 3, 16, 4]);
    let mut graph = build();
    let limit = plain.arena_bytes / 2;
    pass::run_all(&mut graph, &Chunks(1 << 12));
    let found = pass::rematerialize::run(&mut graph, &Chunks(1 << 12), limit);
    assert!(found.time_chunks.is_some(), "{found:?}");
    assert_eq!(sequence(&graph), sequence(&plain.graph), "{graph}");
    Plan::new(graph, &Plain).check().unwrap();
}

#[test]
fn gradients_in_16_bits_are_summed_in_f32() {
    let t = Tracer::new(F);
    t.set_precision(spikelet_graph::Precision::Bf16);
    let (x, w) = (t.input("x", F, [8, 16]), t.parameter("w", [4, 16]));
    let loss = x.linear(&w).square().mean_all();
    let grads = t.gradients(&loss, &[&w]);
    let sums_ = t.all_reduce_gradients(&grads, 2, Buckets::default());
    t.update(&w, &(&w - &sums_[0]));
    let plan = Plan::new(t.finish().unwrap(), &Plain);
    plan.check().unwrap();
    let graph = &plan.graph;
    let k = sums(graph)[0];
    assert_eq!(graph.ty(graph.nodes[k].inputs[0]).dtype, F);
    // The product writes f32 itself.
    assert_eq!(names(graph)[k - 1], "matmul");
}

#[test]
fn a_graph_may_be_built_by_hand() {
    let mut graph = Graph::default();
    let layer: Arc<str> = Arc::from("");
    let ty = spikelet_graph::TensorType::new(F, [2]);
    let x = graph
        .add_input("x", spikelet_graph::InputKind::Data, ty)
        .unwrap();
    let sum = graph
        .push1(AllReduceStart { ranks: 2 }, &[x], &layer)
        .unwrap();
    graph.push1(AllReduceDone, &[sum], &layer).unwrap();
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[2]
    %1 = all_reduce_start[2 ranks](%0)  f32[2]
    %2 = all_reduce_done(%1)  f32[2]
    ");
}

#[test]
fn sums_of_overlapping_layers_start_behind_the_last_chunk_of_their_gradients() {
    let plan = Plan::new(overlapping_step([8, 4, 8], 2), &Overlaps(4));
    plan.check().unwrap();
    // Two layers forward and backward, four chunks each.
    assert_eq!(shared_scans(&plan), 16, "{plan}");
    let graph = &plan.graph;
    let (sums, waits) = (sums(graph), waits(graph));
    assert_eq!((sums.len(), waits.len()), (2, 2), "{plan}");
    let last = place_of(graph, |op| matches!(op, Op::ScanGrad(_)));
    assert!(sums[1] > *last.last().unwrap(), "{plan}");
}
