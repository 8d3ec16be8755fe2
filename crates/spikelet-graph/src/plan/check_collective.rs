//! What must hold of the all-reduces of a plan.

use crate::error::{Error, Result};
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Op, Operation};
use std::collections::HashMap;

/// Checks that every all-reduce that is started is waited for: all its results are operands of one
/// node that waits for them, and of no other.
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
        if matches!(node.op, Op::AllReduceDone(_)) {
            let first = node.inputs.first().and_then(of);
            let Some(sum) = first.and_then(|first| waiting.remove(&first)) else {
                return refuse(node, "has no matching start of an all-reduce");
            };
            if sum.outputs != node.inputs {
                return refuse(
                    node,
                    "waits for other tensors than the all-reduce that it waits for has",
                );
            }
        } else if node.inputs.iter().any(|v| of(v).is_some()) {
            return refuse(
                node,
                "reads the result of an all-reduce that was not waited for",
            );
        }
        if matches!(node.op, Op::AllReduceStart(_)) {
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
                "output `{}` is the result of an all-reduce that was not waited for",
                output.name
            ),
        });
    }
    match waiting.values().next() {
        Some(node) => refuse(node, "is never waited for"),
        None => Ok(()),
    }
}
