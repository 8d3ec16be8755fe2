//! Memory plans.

use crate::targets::{Binary, Plain};
use insta::assert_snapshot;
use proptest::prelude::*;
use spikelet_graph::{Allocation, DType, Graph, Place, Plan, Tracer};

const F: DType = DType::F32;

fn training_step() -> Graph {
    let t = Tracer::new(F);
    let (x, y) = (t.input("x", F, [16, 6]), t.input("y", F, [16, 4]));
    let w = t.parameter("w", [4, 6]);
    let loss = t.scope("loss", || (t.scope("fc", || x.linear(&w)) - &y).square().mean_all());
    let dw = t.gradients(&loss, &[&w]).remove(0);
    t.output("loss", &loss);
    t.scope("sgd", || t.update(&w, &(&w - &dw * 0.1)));
    t.finish().unwrap()
}

#[test]
fn a_plan_prints_its_kernels_with_work_and_memory() {
    assert_snapshot!(Plan::new(training_step(), &Binary), @"");
}

#[test]
fn a_parameter_is_updated_in_its_own_buffer() {
    let plan = Plan::new(training_step(), &Plain);
    let update = plan.graph.outputs.iter().find(|o| o.name == "w").unwrap();
    assert_eq!(plan.place(update.value), Place::Input(2));
    assert!(plan.copies.is_empty() && plan.is_sound());
    assert_eq!(plan.peak_bytes(), plan.arena_bytes + plan.buffer_bytes());
}

#[test]
fn an_old_value_that_is_still_wanted_gets_its_own_copy() {
    let t = Tracer::new(F);
    let [a, b] = ["a", "b"].map(|name| t.state(name, [2]));
    t.update(&a, &(&a + 1.0));
    t.update(&b, &a);
    let plan = Plan::new(t.finish().unwrap(), &Plain);
    assert_snapshot!(plan.graph, @"");
    assert!(plan.copies.iter().all(|(from, ..)| matches!(from, Place::Arena(_))), "{:?}", plan.copies);
}

#[test]
fn allocations_that_overlap_while_alive_are_not_sound() {
    let mut plan = Plan::new(training_step(), &Binary);
    assert!(plan.is_sound());
    let first = plan.allocations[0].clone();
    plan.allocations.push(Allocation { value: None, ..first.clone() });
    assert!(!plan.is_sound());
    let last = plan.allocations.last_mut().unwrap();
    last.offset = plan.arena_bytes;
    assert!(!plan.is_sound(), "outside the arena");
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
                prop_assert!(kernel.reads.iter().all(|p| *p != Place::Unused));
                for read in &kernel.reads {
                    prop_assert!(!kernel.writes.contains(read));
                }
            }
        }
    }
}
