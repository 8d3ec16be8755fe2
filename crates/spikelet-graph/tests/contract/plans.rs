//! Memory plans.

use crate::targets::{Binary, Plain};
use insta::assert_snapshot;
use proptest::prelude::*;
use spikelet_graph::op::Operation;
use spikelet_graph::{Allocation, DType, Graph, Kernel, Location, Plan, Tracer, Var};

const F: DType = DType::F32;

pub fn training_step() -> Graph {
    let t = Tracer::new(F);
    let (x, y) = (t.input("x", F, [16, 6]), t.input("y", F, [16, 4]));
    let w = t.parameter("w", [4, 6]);
    let loss = t.scope("loss", || {
        (t.scope("fc", || x.linear(&w)) - &y).square().mean_all()
    });
    let dw = t.gradients(&loss, &[&w]).remove(0);
    t.output("loss", &loss);
    t.scope("sgd", || t.update(&w, &(&w - &dw * 0.1)));
    t.finish().unwrap()
}

#[test]
fn a_plan_prints_its_kernels_with_work_and_memory() {
    assert_snapshot!(Plan::new(training_step(), &Binary), @"
    10 kernels · 1.9 kFLOP · arena 1.5 KiB · buffers 740 B · peak 2.2 KiB
      constant over time: 0 operations run once instead of at every step
      dead code: 0 of 13 nodes removed
      elementwise fusion: 2 elementwise operations fused with their readers
      saved for the backward pass: 1 tensors (256 bytes) saved, 0 recomputed
      spikes as bits: 0 spike tensors stored as bits, 0 reshapes moved before a draw
      #  kernel                 layer                  work      moved  results ← operands
      1  matmul                 loss.fc            768 FLOP      736 B  @1024 f32[16, 4] ← x, w
      2  map                    loss                64 FLOP      768 B  @1024 f32[16, 4] ← @1024, y
      3  map                    loss                64 FLOP      512 B  @0 f32[16, 4] ← @1024
      4  sum                    loss                64 FLOP      260 B  @256 f32[] ← @0
      5  map                    loss                 1 FLOP        8 B  loss f32[] ← @256
      6  ∂ fill                 loss                 0 FLOP        4 B  @0 f32[] ← 
      7  ∂ map                  loss                 1 FLOP        8 B  @0 f32[] ← @0
      8  ∂ map                  loss               128 FLOP      516 B  @1024 f32[16, 4] ← @1024, @0
      9  ∂ matmul               loss.fc            768 FLOP      736 B  @1280 f32[4, 6] ← @1024, x
     10  map                    sgd                 48 FLOP      288 B  w f32[4, 6] ← w, @1280
    ");
}

#[test]
fn a_parameter_is_updated_in_its_own_buffer() {
    let plan = Plan::new(training_step(), &Plain);
    let update = plan.graph.outputs.iter().find(|o| o.name == "w").unwrap();
    assert_eq!(plan.place(update.value), Location::Input(2));
    assert!(plan.copies.is_empty() && plan.is_sound());
    assert_eq!(plan.peak_bytes(), plan.arena_bytes + plan.buffer_bytes());
}

/// The locations that the last map of a graph reads and writes.
fn last_map(build: impl FnOnce(&Tracer, &Var, &Var)) -> (Vec<Location>, Vec<Location>) {
    let t = Tracer::new(F);
    t.disable_fusion(true);
    let (x, w) = (t.input("x", F, [16, 4]), t.parameter("w", [4, 4]));
    build(&t, &x.linear(&w), &x);
    let plan = Plan::new(t.finish().unwrap(), &Plain);
    assert!(plan.is_sound());
    let named = |k: &&Kernel| plan.graph.nodes[k.node].op.name() == "map";
    let map = plan.kernels.iter().rfind(named).unwrap();
    (map.reads.clone(), map.writes.clone())
}

#[test]
fn a_map_writes_over_an_operand_that_nobody_reads_after_it() {
    let (reads, writes) = last_map(|t, y, x| t.output("s", &(y + x).sum_all()));
    assert_eq!(writes[0], reads[0]);
    // Twice the same operand; several results, of which one takes the place.
    let (reads, writes) = last_map(|t, y, _| t.output("s", &(y * y).sum_all()));
    assert_eq!((writes[0], writes[0]), (reads[0], reads[reads.len() - 1]));
    let (reads, writes) = last_map(|t, y, _| {
        let both = Var::map_many(&[y], |v| vec![v[0].exp(), &v[0] * 2.0]);
        t.output("a", &both[0].sum_all());
        t.output("b", &both[1].sum_all());
    });
    assert!(writes[0] == reads[0] && writes[1] != reads[0]);
}

#[test]
fn a_map_leaves_alone_what_others_read_what_it_broadcasts_and_what_is_not_the_arenas() {
    let apart = |build: fn(&Tracer, &Var, &Var)| {
        let (reads, writes) = last_map(build);
        assert!(
            writes.iter().all(|w| !reads.contains(w)),
            "{reads:?} {writes:?}"
        );
    };
    apart(|t, y, _| {
        t.output("a", &y.exp().sum_all());
        t.output("b", &y.sum(&[0]));
    });
    apart(|t, y, _| {
        t.output("y", y);
        t.output("a", &y.exp().sum_all());
    });
    // A larger result; another type; the caller's input.
    apart(|t, y, x| t.output("a", &(x + y.sum(&[0])).sum_all()));
    apart(|t, y, _| t.output("a", &y.cast(DType::BF16).reshape([8, 8])));
    apart(|t, _, x| t.output("a", &x.exp().sum_all()));
}

#[test]
fn an_old_value_that_is_still_wanted_gets_its_own_copy() {
    let t = Tracer::new(F);
    let [a, b] = ["a", "b"].map(|name| t.state(name, [2]));
    t.update(&a, &(&a + 1.0));
    t.update(&b, &a);
    let plan = Plan::new(t.finish().unwrap(), &Plain);
    assert_snapshot!(plan.graph, @"
    %0 = State `a`  f32[2]
    %1 = State `b`  f32[2]
    %2 = map[x0 + 1](%0)  f32[2]
    %3 = expand[2](%0)  f32[2]  state
    `a`: %0 becomes %2
    `b`: %1 becomes %3
    ");
    assert!(
        plan.copies
            .iter()
            .all(|(from, ..)| matches!(from, Location::Arena(_))),
        "{:?}",
        plan.copies
    );
}

#[test]
fn allocations_that_overlap_while_alive_are_not_sound() {
    let mut plan = Plan::new(training_step(), &Binary);
    assert!(plan.is_sound());
    let first = plan.allocations[0].clone();
    plan.allocations.push(Allocation {
        value: None,
        ..first.clone()
    });
    assert!(!plan.is_sound());
    let last = plan.allocations.last_mut().unwrap();
    last.offset = plan.arena_bytes;
    assert!(!plan.is_sound(), "outside the arena");
}

#[test]
fn a_kernel_that_writes_over_what_it_uses_is_not_sound() {
    let untouched = Plan::new(training_step(), &Binary);
    let problem = |change: &dyn Fn(&mut Plan)| {
        let mut plan = untouched.clone();
        change(&mut plan);
        plan.check().unwrap_err().to_string()
    };
    assert_snapshot!(problem(&|p| p.kernels[8].writes[0] = p.kernels[8].reads[0]), @"the plan cannot be loaded: matmul overwrites an operand that it still reads, or an operand has no location");
    assert_snapshot!(problem(&|p| p.kernels[3].writes[0] = p.kernels[3].reads[0]), @"the plan cannot be loaded: sum overwrites an operand that it still reads, or an operand has no location");
    assert_snapshot!(problem(&|p| p.kernels[8].workspace = Some((1024, 256))), @"the plan cannot be loaded: matmul overwrites memory that it uses; use a plan from Plan::new unchanged");
    assert_snapshot!(problem(&|p| p.kernels[0].workspace = Some((p.arena_bytes - 256, 512))), @"the plan cannot be loaded: matmul overwrites memory that it uses; use a plan from Plan::new unchanged");
    assert_snapshot!(problem(&|p| p.kernels[0].writes[0] = Location::Arena(p.arena_bytes - 8)), @"the plan cannot be loaded: f32[16, 4] does not fit its location Arena(1528)");
    assert_snapshot!(problem(&|p| p.kernels[0].writes[0] = Location::Input(0)), @"the plan cannot be loaded: matmul overwrites an operand that it still reads, or an operand has no location");
    assert_snapshot!(problem(&|p| p.kernels[0].writes[0] = Location::Output(0)), @"the plan cannot be loaded: f32[16, 4] does not fit its location Output(0)");
    assert_snapshot!(problem(&|p| p.kernels[0].reads[0] = Location::Unused), @"the plan cannot be loaded: matmul overwrites an operand that it still reads, or an operand has no location");
    assert_snapshot!(problem(&|p| { p.kernels[0].reads.pop(); }), @"the plan cannot be loaded: matmul has fewer locations than operands and results");
}

/// A chain of products in which step k also reads an earlier value.
fn chain(steps: &[(usize, usize, bool)]) -> Graph {
    let t = Tracer::new(F);
    let x = t.input("x", F, [16, 16]);
    let mut values = vec![x.clone()];
    for &(size, back, keep) in steps {
        let n = 16 * (1 + size);
        let from = &values[values.len() - 1 - back % values.len()];
        let w = t.fill(F, [n, from.dim(1)], 0.5);
        let made = from.linear(&w);
        if keep {
            t.output(&format!("out {}", values.len()), &made.reshape([n, 16]));
        }
        values.push(made);
    }
    t.output("y", values.last().unwrap());
    t.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn buffers_of_the_arena_never_overlap_while_both_are_alive(
        steps in prop::collection::vec((0..6_usize, 0..5_usize, any::<bool>()), 1..25),
    ) {
        for target in [&Plain as &dyn spikelet_graph::Target, &Binary] {
            let plan = Plan::new(chain(&steps), target);
            prop_assert!(plan.is_sound());
            let peak = plan.allocations.iter().map(|a| a.offset + a.bytes).max().unwrap_or(0);
            prop_assert_eq!(plan.arena_bytes, peak.next_multiple_of(256));
            // No kernel reads what is not there, or writes over what it or others still read.
            for kernel in &plan.kernels {
                prop_assert!(kernel.reads.iter().all(|p| *p != Location::Unused));
                for read in &kernel.reads {
                    prop_assert!(!kernel.writes.contains(read));
                }
            }
        }
    }
}
