//! Old values that are wanted after their update.
//!
//! ```text
//! `s`: %0 becomes %1               %2 = expand[8](%0)
//! `t`: %3 becomes %0        →      `s`: %0 becomes %1
//!                                  `t`: %3 becomes %2
//! ```
//!
//! Results that are not made in their buffer are copied there at the end, one after the other. An
//! output that is an input whose place another output takes (a delay line, two states that change
//! places) gets a value of its own first, so that the order of those copies does not matter.

use super::Report;
use crate::graph::{Graph, Node};
use crate::liveness;
use crate::notes::Notes;
use crate::op::Expand;
use std::sync::Arc;

/// Copies every old value that an output still wants.
pub(super) fn run(graph: &mut Graph) -> Report {
    let mut changes = 0;
    let roots = liveness::roots(graph);
    let updates = graph.outputs.iter().filter_map(|o| o.updates);
    let updated: Vec<usize> = updates.map(|v| roots[v.index()]).collect();
    for k in 0..graph.outputs.len() {
        let (value, own) = (graph.outputs[k].value, graph.outputs[k].updates);
        let root = roots[value.index()];
        let stays = own.is_some_and(|input| roots[input.index()] == root);
        if stays || !updated.contains(&root) {
            continue;
        }
        let ty = graph.ty(value).clone();
        let shape = ty.shape.clone();
        let made = graph.add_value(ty);
        graph.nodes.push(Node {
            op: Expand { shape }.into(),
            inputs: vec![value],
            outputs: vec![made],
            layer: Arc::from("state"),
            backward: false,
            notes: Notes::default(),
        });
        graph.outputs[k].value = made;
        changes += 1;
    }
    Report {
        pass: "old values",
        changes,
        summary: format!("{changes} old values copied before their update"),
    }
}
