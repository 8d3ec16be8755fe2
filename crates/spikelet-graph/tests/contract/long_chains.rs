//! Long chains of operations, also with operands that are read twice: passes look at each operation a bounded number of
//! times, and do not need a deeper stack for a longer chain. A walk over all paths of a chain of 60 squarings would not end.

use crate::graphs::{F, neuron};
use crate::targets::Plain;
use spikelet_expr::Expr;
use spikelet_graph::op::{Loop, Op, Recurrence};
use spikelet_graph::{Graph, Plan, Tracer, Var};
use std::sync::Arc;

/// `x^(2^times)`
fn squared(x: &Var, times: usize) -> Var {
    (0..times).fold(x.clone(), |x, _| &x * &x)
}

const LENGTHS: [usize; 2] = [60, 20_000];

fn loops(plan: &Plan) -> Vec<&Loop> {
    let nodes = plan.graph.nodes.iter();
    let of = nodes.filter_map(|node| match &node.op {
        Op::Loop(op) => Some(op),
        _ => None,
    });
    of.collect()
}

fn planned(build: impl FnOnce(&Tracer)) -> Plan {
    let tracer = Tracer::new(F);
    build(&tracer);
    let graph: Graph = tracer.finish().unwrap();
    let plan = Plan::new(graph, &Plain);
    plan.check().unwrap();
    plan
}

#[test]
fn chains_of_what_does_not_change_leave_a_loop() {
    for length in LENGTHS {
        let plan = planned(|t| {
            let x = t.input("x", F, [5, 2, 3]);
            let (w, h) = (t.parameter("w", [3, 3]), t.state("h", [1, 2, 3]));
            let made = t.scan_loop(5, &[&h], &[&x], |h, x| {
                let product = squared(&x[0], length).linear(&squared(&w, length));
                let next = &h[0] * 0.5 + product;
                Ok((vec![next.clone()], vec![next]))
            });
            t.output("y", &made.unwrap().stacked[0]);
        });
        let [inner] = loops(&plan)[..] else {
            panic!("{plan}")
        };
        assert_eq!(inner.body.graph().nodes.len(), 1, "{plan}");
    }
}

/// A neuron in a loop whose spikes feed back, with what `more` adds to the product.
fn recurrent(t: &Tracer, more: impl FnOnce(&Var, &Var, &Var) -> Var) {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    let h = v * 0.5 + x;
    let s = Expr::custom_gradient(h.ge(1.0), h.sigmoid());
    let lif = Recurrence::new("lif", ["x"], ["v"])
        .output("s", s.clone(), true)
        .next(vec![(1.0 - s) * h]);
    let x = t.input("x", F, [5, 2, 3]);
    let (w, b) = (t.parameter("w", [3, 3]), t.parameter("b", [1, 2, 3]));
    let (v, z) = (t.state("v", [2, 3]), t.state("z", [1, 2, 3]));
    let made = t.scan_loop(5, &[&v, &z], &[&x], |carried, x| {
        let current = more(&carried[1].linear(&w), &x[0], &b);
        let mut made = Var::scan(&Arc::new(lif), 1, &[&current], &[&carried[0]], &[]);
        let (v, z) = (made.swap_remove(1), made.swap_remove(0));
        Ok((vec![v, z.clone()], vec![z]))
    });
    t.output("s", &made.unwrap().stacked[0]);
}

#[test]
fn chains_beside_the_product_of_a_recurrent_neuron_are_planned() {
    for length in LENGTHS {
        let plan = planned(|t| recurrent(t, |product, x, _| product + squared(x, length)));
        let mut reasons = plan.graph.nodes.iter().map(|node| &node.notes.unfused);
        assert!(reasons.any(Option::is_some), "{plan}");
        assert_eq!(loops(&plan).len(), 1, "{plan}");
    }
}

#[test]
fn chains_behind_the_product_of_a_recurrent_neuron_are_fused() {
    for length in LENGTHS {
        let plan = planned(|t| {
            recurrent(t, |product, _, b| {
                (0..length).fold(product.clone(), |sum, _| sum + b)
            });
        });
        assert!(loops(&plan).is_empty(), "{plan}");
    }
}

#[test]
fn chains_with_gradients_are_planned() {
    for length in LENGTHS {
        planned(|t| {
            let w = t.parameter("w", [2, 3]);
            let y = squared(&w, length).sum_all();
            t.output("d_w", &t.gradients(&y, &[&w])[0]);
        });
    }
}

#[test]
fn a_value_at_the_end_of_a_chain_is_traced_outside_a_loop() {
    for length in LENGTHS {
        planned(|t| {
            let x = t.input("x", F, [5, 2, 3]);
            let made = t.scan_loop(5, &[], &[&x], |_, x| {
                let deep = squared(&x[0], length);
                let first = t.outside_loop(|| deep.sum_all());
                Ok((vec![], vec![&x[0] + first]))
            });
            t.output("y", &made.unwrap().stacked[0]);
        });
    }
}

#[test]
fn chains_of_movements_beside_a_neuron_are_planned() {
    for length in LENGTHS {
        planned(|t| {
            let (x, v) = (t.input("x", F, [5, 2, 3]), t.state("v", [2, 3]));
            let scaled = &x * &t.parameter("w", [3]);
            let made = Var::scan(&neuron(), 5, &[&scaled], &[&v], &[]);
            let moved = (0..length).fold(scaled, |y, k| match k % 2 {
                0 => y.reshape([2, 5, 3]),
                _ => y.permute(&[1, 0, 2]),
            });
            t.output("s", &made[0]);
            t.output("moved", &moved);
        });
    }
}
