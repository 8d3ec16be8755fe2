//! Joins elementwise operations that feed each other.
//!
//! ```text
//! %2 = map[x0 + x1](%0, %1)
//! %3 = map[exp(x0)](%2)            →     %3 = map[exp(x0 + x1)](%0, %1)
//! ```
//!
//! A map is taken into its reader when nobody else reads it and both have one shape; a fill
//! becomes a constant of its reader; a repetition is read at its source, since maps broadcast.
//! (In a graph that keeps its operations apart, maps are not taken into maps.)
//! Allowed because the joined expression does the same operations in the same order. A map with
//! a 16-bit result stays by itself: its reader would miss the rounding.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Map, Op};
use spikelet_expr::Expr;
use std::collections::{HashMap, HashSet};

/// An operand list longer than this is not joined further: each takes a register.
const MOST_OPERANDS: usize = 24;

/// Joins maps.
pub fn run(graph: &mut Graph) -> Report {
    let uses = graph.use_counts();
    let mut producers: HashMap<ValueId, Node> = HashMap::new();
    let mut joined = HashSet::new();
    let mut changes = 0;
    let mut nodes = std::mem::take(&mut graph.nodes);
    for node in &mut nodes {
        if matches!(node.op, Op::Map(_)) {
            changes += absorb(graph, node, &producers, &uses, &mut joined);
        }
        if matches!(node.op, Op::Map(_) | Op::Fill(_) | Op::Expand(_)) && node.outputs.len() == 1 {
            producers.insert(node.outputs[0], node.clone());
        }
    }
    nodes.retain(|node| !node.outputs.iter().all(|v| joined.contains(v)));
    graph.nodes = nodes;
    super::dead_code::run(graph);
    Report {
        pass: "elementwise fusion",
        changes,
        summary: format!("{changes} elementwise operations joined with their readers"),
    }
}

fn absorb(
    graph: &Graph,
    node: &mut Node,
    producers: &HashMap<ValueId, Node>,
    uses: &[usize],
    joined: &mut HashSet<ValueId>,
) -> usize {
    let Op::Map(map) = &node.op else { return 0 };
    let shape = map.shape.clone();
    let mut operands: Vec<ValueId> = vec![];
    let mut replacements: Vec<Expr> = vec![];
    let mut changes = 0;
    for (k, &input) in node.inputs.iter().enumerate() {
        let still_to_come = node.inputs.len() - k - 1;
        let expression = match producers.get(&input) {
            Some(maker) => match &maker.op {
                Op::Fill(fill) => {
                    changes += 1;
                    Expr::constant(fill.stored())
                }
                Op::Expand(_) => {
                    changes += 1;
                    Map::operand(place(&mut operands, maker.inputs[0]))
                }
                Op::Map(inner)
                    if !graph.disable_fusion
                        && uses[input.index()] == 1
                        && !graph.ty(input).dtype.is_half()
                        && inner.shape == shape
                        && operands.len() + maker.inputs.len() + still_to_come <= MOST_OPERANDS =>
                {
                    changes += 1;
                    joined.insert(input);
                    let places: Vec<usize> = maker
                        .inputs
                        .iter()
                        .map(|&v| place(&mut operands, v))
                        .collect();
                    renamed(&inner.expressions[0], &places)
                }
                _ => Map::operand(place(&mut operands, input)),
            },
            None => Map::operand(place(&mut operands, input)),
        };
        replacements.push(expression);
    }
    // The result's type comes from an operand: a map of constants alone stays as it was.
    if changes == 0
        || operands.is_empty()
        || operands.iter().any(|v| !graph.ty(*v).dtype.is_float())
    {
        for input in &node.inputs {
            joined.remove(input);
        }
        return 0;
    }
    let rename = renamer(&replacements);
    let expressions: Vec<Expr> = map
        .expressions
        .iter()
        .map(|e| e.substitute(&rename))
        .collect();
    // Where types differ, those of the results stay what they were.
    let mixed = node.inputs.iter().chain(&operands).chain(&node.outputs);
    let mixed = mixed.into_iter().any(|v| graph.ty(*v).dtype.is_half());
    let dtypes = if mixed {
        node.outputs.iter().map(|v| graph.ty(*v).dtype).collect()
    } else {
        map.dtypes.clone()
    };
    let map = Map {
        expressions,
        shape,
        dtypes,
    };
    node.op = map.into();
    node.inputs = operands;
    changes
}

/// The number of a value among the operands, where it is put if it is not there yet.
fn place(operands: &mut Vec<ValueId>, value: ValueId) -> usize {
    let known = operands.iter().position(|v| *v == value);
    known.unwrap_or_else(|| {
        operands.push(value);
        operands.len() - 1
    })
}

/// An expression whose operand `k` becomes operand `places[k]`. One that keeps its operands is not
/// walked: a long chain of maps is joined in time that grows with its length.
fn renamed(expression: &Expr, places: &[usize]) -> Expr {
    if places.iter().copied().eq(0..places.len()) {
        return expression.clone();
    }
    let operands: Vec<Expr> = places.iter().map(|&k| Map::operand(k)).collect();
    expression.substitute(&renamer(&operands))
}

fn renamer(replacements: &[Expr]) -> impl Fn(&str) -> Option<Expr> {
    move |name: &str| {
        let k = (0..replacements.len()).find(|&k| Map::operand_name(k) == name)?;
        Some(replacements[k].clone())
    }
}
