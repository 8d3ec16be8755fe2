//! Joins elementwise operations that feed each other.
//!
//! ```text
//! %2 = map[x0 + x1](%0, %1)
//! %3 = map[exp(x0)](%2)            →     %3 = map[exp(x0 + x1)](%0, %1)
//! ```
//!
//! A map is merged into its reader when it has no other reader and both have one shape; a fill
//! becomes a constant of its reader; a repetition is read at its source, since maps broadcast.
//! (In a graph with [`Graph::disable_fusion`], maps are not merged into maps.)
//! Allowed because the joined expression does the same operations in the same order. A map with
//! a 16-bit result stays separate: its reader would miss the rounding.

use super::Report;
use crate::graph::{Graph, ValueId};
use crate::op::{Expand, Fill, Map};
use crate::rewrite::{NodeId, Rewriter};
use spikelet_expr::Expr;

/// A map is not joined beyond this many operands: each takes a register.
const MAX_OPERANDS: usize = 24;

/// Joins maps.
pub fn run(graph: &mut Graph) -> Report {
    let mut changes = 0;
    let mut rewriter = Rewriter::new(graph);
    rewriter.apply(|graph, map| {
        changes += join(graph, map)?;
        Some(())
    });
    rewriter.remove_unread();
    Report {
        pass: "elementwise fusion",
        changes,
        summary: format!("{changes} elementwise operations fused with their readers"),
    }
}

/// Takes the producers of a map's operands into the map and returns how many.
fn join(graph: &mut Rewriter<'_>, id: NodeId) -> Option<usize> {
    let (node, map) = (graph.node(id), graph.op::<Map>(id)?);
    let mut operands: Vec<ValueId> = vec![];
    let mut replacements: Vec<Expr> = vec![];
    let mut changes = 0;
    for (k, &input) in node.inputs.iter().enumerate() {
        let still_to_come = node.inputs.len() - k - 1;
        let inner = graph.made_by::<Map>(input).filter(|(producer, inner)| {
            !graph.graph().disable_fusion
                && inner.expressions.len() == 1
                && graph.use_count(input) == 1
                && !graph.ty(input).dtype.is_half()
                && inner.shape == map.shape
                && operands.len() + graph.node(*producer).inputs.len() + still_to_come
                    <= MAX_OPERANDS
        });
        changes += 1;
        replacements.push(if let Some((_, fill)) = graph.made_by::<Fill>(input) {
            Expr::constant(fill.stored())
        } else if let Some((repetition, _)) = graph.made_by::<Expand>(input) {
            Map::operand(place(&mut operands, graph.node(repetition).inputs[0]))
        } else if let Some((producer, inner)) = inner {
            let inputs = graph.node(producer).inputs.iter();
            let places: Vec<usize> = inputs.map(|v| place(&mut operands, *v)).collect();
            renamed(&inner.expressions[0], &places)
        } else {
            changes -= 1;
            Map::operand(place(&mut operands, input))
        });
    }
    // The result's type comes from an operand: a map of constants alone stays as it was.
    let floats = operands.iter().all(|v| graph.ty(*v).dtype.is_float());
    if changes == 0 || operands.is_empty() || !floats {
        return None;
    }
    let rename = renamer(&replacements);
    let expressions = map.expressions.iter().map(|e| e.substitute(&rename));
    // Where types differ, those of the results stay what they were.
    let mut mixed = node.inputs.iter().chain(&operands).chain(&node.outputs);
    let dtypes = if mixed.any(|v| graph.ty(*v).dtype.is_half()) {
        node.outputs.iter().map(|v| graph.ty(*v).dtype).collect()
    } else {
        map.dtypes.clone()
    };
    let joined = Map::stored(expressions.collect(), map.shape.clone(), dtypes);
    let mut node = node.clone();
    node.op = joined.into();
    node.inputs = operands;
    graph.set(id, node);
    Some(changes)
}

/// The index of a value among the operands, to which it is added if it is not there yet.
fn place(operands: &mut Vec<ValueId>, value: ValueId) -> usize {
    let known = operands.iter().position(|v| *v == value);
    known.unwrap_or_else(|| {
        operands.push(value);
        operands.len() - 1
    })
}

/// An expression whose operand `k` becomes operand `places[k]`. One that keeps its operands is not
/// copied: the time to join a long chain of maps is linear in its length.
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
