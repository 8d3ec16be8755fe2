//! Operations on long sequences run in time chunks.

use crate::graphs::{F, live, weighted as neuron};
use crate::targets::{Chunks, ChunksWithWorkspace, Plain};
use insta::assert_snapshot;
use spikelet_graph::op::{Conv, Op};
use spikelet_graph::{Graph, Plan, Tracer, Var, pass};

/// Six steps of so many layers of convolution, statistics and a neuron, and their gradients.
pub fn trained(layers: usize) -> Graph {
    let t = Tracer::new(F);
    let mut x = t.input("x", F, [6, 2, 8, 32]);
    let zero = t.fill(F, [], 0.0);
    let mut weights = vec![];
    for layer in 0..layers {
        let w = t.parameter(&format!("w{layer}"), [32, 1, 32]);
        let k = t.parameter(&format!("k{layer}"), [32]);
        let y = x.conv(&w, Conv::new(1));
        let [mean, _] = y.mean_var();
        let made = Var::scan(&neuron(), 6, &[&(&y - mean)], &[&zero], &[&k]);
        x = made[0].clone();
        weights.extend([w, k]);
    }
    let grads = t.gradients(&x.square().sum_all(), &weights.iter().collect::<Vec<_>>());
    for (k, grad) in grads.iter().enumerate() {
        t.output(&format!("d_{k}"), grad);
    }
    live(t.finish().unwrap())
}

/// A device for which a part of this graph has two steps.
const CHUNKS: Chunks = Chunks(1 << 10);

#[test]
fn convolutions_and_statistics_are_cut_where_they_lie() {
    let mut graph = trained(1);
    let whole = graph.to_string();
    assert_eq!(
        pass::time_chunking::run(&mut graph, &Chunks(1 << 20)).changes,
        0
    );
    assert_eq!(graph.to_string(), whole);
    let report = pass::time_chunking::run(&mut graph, &CHUNKS);
    assert_snapshot!(graph, @"
    %0 = Data `x`  f32[6, 2, 8, 32]
    %2 = Parameter `w0`  f32[32, 1, 32]
    %3 = Parameter `k0`  f32[32]
    %1 = fill[0]()  f32[]
    %25 = slice[0: 0..2](%0)  f32[2, 2, 8, 32]
    %26 = conv1d[stride [1], padding [0]](%25, %2)  f32[2, 2, 8, 32]
    %27 = slice[0: 2..4](%0)  f32[2, 2, 8, 32]
    %28 = conv1d[stride [1], padding [0]](%27, %2)  f32[2, 2, 8, 32]
    %29 = slice[0: 4..6](%0)  f32[2, 2, 8, 32]
    %30 = conv1d[stride [1], padding [0]](%29, %2)  f32[2, 2, 8, 32]
    %4 = concat_chunks(%26, %28, %30)  f32[6, 2, 8, 32]
    %31, %32 = mean_var(%26)  f32[32], f32[32]
    %33, %34 = mean_var(%28)  f32[32], f32[32]
    %35, %36 = mean_var(%30)  f32[32], f32[32]
    %37 = concat[0](%31, %33, %35)  f32[96]
    %38 = reshape[3, 32](%37)  f32[3, 32]
    %39 = concat[0](%32, %34, %36)  f32[96]
    %40 = reshape[3, 32](%39)  f32[3, 32]
    %41 = sum[0](%38)  f32[32]
    %5 = map[x0 · 0.3333333333333333](%41)  f32[32]
    %43 = map[#0 = x1 - x2; x0 + #0 · #0](%40, %38, %5)  f32[3, 32]
    %44 = sum[0](%43)  f32[32]
    %6 = map[x0 · 0.3333333333333333](%44)  f32[32]
    %8, %9, %10 = scan[li #0, T=6](%4, %1, %3, %5)  f32[6, 2, 8, 32], f32[2, 8, 32], f32[6, 2, 8, 32]
        x; v; k, x_in0; y
        #0 = x - x_in0
        y = tanh(v · 0.5 + #0 · k)
        v ← v · 0.5 + #0 · k
    %13 = fill[1]()  f32[]  ∂ loss
    %14 = reshape[1, 1, 1, 1](%13)  f32[1, 1, 1, 1]  ∂
    %15 = expand[6, 2, 8, 32](%14)  f32[6, 2, 8, 32]  ∂
    %16 = map[x1 · x0 + x1 · x0 as f32](%8, %15)  f32[6, 2, 8, 32]  ∂
    %17, %18, %19, %20 = scan_grad[li #0, T=6; of output 0](%4, %1, %3, %5, %16)  f32[6, 2, 8, 32], f32[2, 8, 32], f32[2, 8, 32], f32[2, 8, 32]  ∂
    %21 = sum[0, 1](%19)  f32[32]  ∂
    %22 = sum[0, 1](%20)  f32[32]  ∂
    %23 = map[x1 + x0 · 0.010416666666666666 as f32](%22, %17)  f32[6, 2, 8, 32]  ∂
    %46 = time_chunk[1 of 3](%23)  f32[2, 2, 8, 32]  ∂
    %47 = conv1d_weight[stride [1], padding [0], size [1]](%25, %46)  f32[32, 1, 32]  ∂
    %48 = time_chunk[2 of 3](%23)  f32[2, 2, 8, 32]  ∂
    %49 = conv1d_weight[stride [1], padding [0], size [1]](%27, %48)  f32[32, 1, 32]  ∂
    %50 = time_chunk[3 of 3](%23)  f32[2, 2, 8, 32]  ∂
    %51 = conv1d_weight[stride [1], padding [0], size [1]](%29, %50)  f32[32, 1, 32]  ∂
    %24 = map[x0 + x1 + x2 as f32](%47, %49, %51)  f32[32, 1, 32]  ∂
    `d_0` = %24
    `d_1` = %21
    ");
    assert_snapshot!(report.summary, @"3 operations on long sequences run in time chunks");
}

#[test]
fn parts_are_made_where_the_whole_lies() {
    let plan = Plan::new(trained(3), &CHUNKS);
    assert!(plan.is_sound());
    let whole = Plan::new(trained(3), &Chunks(usize::MAX));
    // Sums of the parts come on top, and parts of what lies in the caller's memory.
    let given = 4 * 6 * 2 * 8 * 32;
    assert!(
        plan.arena_bytes <= whole.arena_bytes + given + 16 * 1024,
        "{plan}"
    );
    let written = |plan: &Plan| -> u64 { plan.kernels.iter().map(|k| k.flops).sum() };
    assert!(written(&plan) < written(&whole) + 10_000);
}

#[test]
fn under_a_tight_budget_parts_run_through_all_operations_one_after_the_other() {
    let natural = Plan::new(trained(3), &CHUNKS);
    let tight = |share: usize| {
        let limit = natural.peak_bytes() * share / 100;
        let plan = Plan::within(trained(3), &CHUNKS, limit).ok()?;
        assert!(plan.peak_bytes() <= limit);
        Some(plan)
    };
    let plan = (50..100).step_by(2).find_map(tight).unwrap();
    assert!(plan.is_sound());
    // The parts of the second layer's neuron, last one first, run between those around it.
    let lines: Vec<String> = plan.graph.to_string().lines().map(String::from).collect();
    let at = |text: &str, steps: &str| -> Vec<usize> {
        let all = lines.iter().enumerate();
        all.filter(|(_, line)| line.contains(text) && line.contains(steps))
            .map(|(k, _)| k)
            .collect()
    };
    let (scans, convolutions) = (at(" scan[li", "T=2]"), at("conv1d[", ""));
    assert!(scans.len() >= 9, "{}", plan.graph);
    assert!(convolutions.iter().any(|c| scans[0] < *c && *c < scans[1]));
    assert!(at(" scan[li", "T=6]").is_empty());
    assert!(at("scan_grad[li", "; accumulates").len() >= 6);
}

#[test]
fn a_convolution_that_stays_whole_has_its_workspace() {
    // In six parts, as the large convolution has them, a part of the small one would not start at
    // a cache line; in three, as the small one alone would have them, it does.
    let t = Tracer::new(F);
    for (channels, name) in [(32, "large"), (11, "small")] {
        let x = t.input(name, F, [12, 2, 8, channels]);
        let w = t.parameter(&format!("w_{name}"), [channels, 1, channels]);
        let y = x.square().conv(&w, Conv::new(1)).square().sum_all();
        t.output(&format!("y_{name}"), &y);
    }
    let target = ChunksWithWorkspace(1 << 10);
    let plan = Plan::new(t.finish().unwrap(), &target);
    let convolutions = plan
        .kernels
        .iter()
        .filter(|k| matches!(plan.graph.nodes[k.node].op, Op::Conv(_)));
    let workspaces: Vec<usize> = convolutions
        .map(|k| k.workspace.map_or(0, |(_, bytes)| bytes))
        .collect();
    let (part, whole) = (4 * 2 * 2 * 8 * 32, 4 * 12 * 2 * 8 * 11);
    assert_eq!(workspaces, [part, part, part, part, part, part, whole]);
    plan.check().unwrap();
    plan.check_target(&target).unwrap();
}

/// A tanh layer with feedback over so many steps, and the gradients of its weights.
pub fn recurrent(steps: usize) -> Graph {
    let t = Tracer::new(F);
    let x = t.input("x", F, [steps, 8, 4]);
    let weights =
        [("in", [32, 4]), ("back", [32, 32])].map(|(name, shape)| t.parameter(name, shape));
    let start = t.fill(F, [1, 8, 32], 0.0);
    let current = x.linear(&weights[0]);
    let made = t.scan_loop(steps, &[&start], &[&current], |h, x| {
        let next = (&x[0] + &h[0].linear(&weights[1])).tanh();
        Ok((vec![next.clone()], vec![next]))
    });
    let loss = made.unwrap().stacked[0].mean(&[0]).square().sum_all();
    let grads = t.gradients(&loss, &weights.each_ref());
    for (k, grad) in grads.iter().enumerate() {
        t.output(&format!("d_{k}"), grad);
    }
    t.finish().unwrap()
}

#[test]
fn under_a_tight_budget_loops_are_stored_every_few_steps() {
    let natural = Plan::new(recurrent(60), &Plain);
    let limit = natural.peak_bytes() / 3;
    let plan = Plan::within(recurrent(60), &Plain, limit).unwrap();
    assert!(plan.peak_bytes() <= limit && plan.is_sound());
    let loops: Vec<(usize, bool)> = plan
        .graph
        .nodes
        .iter()
        .filter_map(|node| match &node.op {
            Op::Loop(op) => Some((op.length, op.reverse)),
            _ => None,
        })
        .collect();
    let length = loops[0].0;
    assert!(length < 60 && loops.iter().all(|(other, _)| *other == length));
    let count = 60 / length;
    let backward = loops.iter().filter(|(_, reverse)| *reverse).count();
    assert_eq!(backward, count, "{loops:?}");
    // The steps of each chunk but the last run once more, right before those of the backward pass.
    let forward = loops.len() - backward;
    assert!(forward > count && forward <= 2 * count, "{loops:?}");
    let prime = Plan::within(recurrent(59), &Plain, limit);
    assert!(prime.is_err(), "59 steps have no equal chunks");
}
