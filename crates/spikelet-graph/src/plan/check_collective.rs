//! Checks of the all-reduces of a plan.

use crate::error::{Error, Result};
use crate::graph::{Graph, Node, ValueId};
use crate::op::{AllReduceDone, AllReduceStart, OpKind, Operation};
use std::collections::HashMap;

/// Checks that every all-reduce that is started is completed: all its results are operands of one
/// [`AllReduceDone`](crate::op::AllReduceDone), and of no other node.
pub(super) fn check(graph: &Graph) -> Result<()> {
    let refuse = |node: &Node, problem: &str| {
        Err(Error::Plan {
            problem: format!("{} in `{}` {problem}", node.op.name(), node.layer),
        })
    };
    let mut started: HashMap<ValueId, usize> = HashMap::new();
    let mut waiting: HashMap<usize, &Node> = HashMap::new();
    for (k, node) in graph.nodes.iter().enumerate() {
        let of = |v: &ValueId| started.get(v).copied();
        if AllReduceDone::of(&node.op).is_some() {
            let first = node.inputs.first().and_then(of);
            let Some(sum) = first.and_then(|first| waiting.remove(&first)) else {
                return refuse(node, "has no matching start of an all-reduce");
            };
            if sum.outputs != node.inputs {
                return refuse(node, "completes other tensors than its all-reduce has");
            }
        } else if node.inputs.iter().any(|v| of(v).is_some()) {
            return refuse(
                node,
                "reads the result of an all-reduce before it is completed",
            );
        }
        if AllReduceStart::of(&node.op).is_some() {
            started.extend(node.outputs.iter().map(|v| (*v, k)));
            waiting.insert(k, node);
        }
    }
    let given = graph
        .outputs
        .iter()
        .find(|o| started.contains_key(&o.value));
    if let Some(output) = given {
        return Err(Error::Plan {
            problem: format!(
                "output `{}` is the result of an all-reduce that is not completed",
                output.name
            ),
        });
    }
    match waiting.values().next() {
        Some(node) => refuse(node, "is never completed"),
        None => Ok(()),
    }
}
