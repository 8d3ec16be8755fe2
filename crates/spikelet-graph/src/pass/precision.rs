//! Stores sequences in 16 bits and multiplies with 16-bit numbers.
//!
//! ```text
//! %2 = matmul[a·bᵀ](%0, %1)  f32[T, N, 784]        %6 = map[x0](%0)            bf16   a cast
//! %3, %4 = scan[lif](%2, …)  f32[T, N, 784], f32   %7 = map[x0](%1)            bf16
//! %5 = sum[0](%3)            f32[N, 784]      →    %2 = matmul[a·bᵀ](%6, %7)   bf16
//!                                                  %3, %4 = scan[lif](%2, …)   bf16, f32
//!                                                  %5 = sum[0](%3)             f32
//! ```
//!
//! Parameters, states and what is given stay f32, and so do all outputs: a product's operands are
//! cast, once each. From the products 16 bits spread to the scans and draws around them, and
//! through what moves elements or computes one by one. Sums, scores, losses and labels are f32.
//! This changes results, within the digits that 16 bits have: it runs only where a precision was
//! asked for, before gradients are taken, so that the backward pass follows.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Map, MatmulPrecision, Op};
use crate::precision::Precision;
use crate::types::DType;
use std::collections::HashMap;
use std::sync::Arc;

/// Gives a forward graph a precision. The numbers of its values stay what they were.
pub fn run(graph: &mut Graph, precision: Precision) -> Report {
    let changes = match precision.half() {
        Some(half) => halve(graph, half),
        None if precision == Precision::Tf32 => shorten(graph),
        None => 0,
    };
    Report {
        pass: "precision",
        changes,
        summary: format!("{changes} values and products in {precision}"),
    }
}

/// Lets every f32 product be multiplied with fewer digits.
fn shorten(graph: &mut Graph) -> usize {
    let mut changes = 0;
    for node in &mut graph.nodes {
        let precision = match &mut node.op {
            Op::MatMul(op) => &mut op.precision,
            Op::Conv(op) => &mut op.precision,
            _ => continue,
        };
        *precision = MatmulPrecision::Tf32;
        changes += 1;
    }
    changes
}

fn halve(graph: &mut Graph, half: DType) -> usize {
    let mut pass = Pass {
        half,
        before: graph.dtypes(),
        wanted: wanted(graph, half),
        casts: HashMap::new(),
        nodes: vec![],
        changes: 0,
    };
    for node in std::mem::take(&mut graph.nodes) {
        pass.visit(graph, node);
    }
    pass.keep_outputs(graph);
    graph.nodes = pass.nodes;
    pass.changes
}

/// Which f32 values a reader wants in 16 bits: products, and scans that feed one, whatever moves
/// or reshapes the elements on the way.
fn wanted(graph: &Graph, half: DType) -> Vec<bool> {
    let mut wanted = vec![false; graph.values()];
    let fits = |v: ValueId| [DType::F32, half].contains(&graph.ty(v).dtype);
    for node in graph.nodes.iter().rev() {
        let inputs: &[ValueId] = match &node.op {
            Op::MatMul(_) | Op::Conv(_) => &node.inputs,
            Op::Scan(op) => {
                let sequences = op.recurrence.outputs.len();
                let feeds = node.outputs[..sequences].iter().any(|v| wanted[v.index()]);
                let count = if feeds { op.recurrence.inputs.len() } else { 0 };
                &node.inputs[..count]
            }
            op if moves(op) && wanted[node.outputs[0].index()] => &node.inputs,
            _ => &[],
        };
        for &value in inputs {
            wanted[value.index()] |= fits(value);
        }
    }
    wanted
}

/// Whether the result has its operands' elements, or is made of them within their digits.
fn moves(op: &Op) -> bool {
    matches!(
        op,
        Op::Reshape(_)
            | Op::Slice(_)
            | Op::Concat(_)
            | Op::Permute(_)
            | Op::Expand(_)
            | Op::Pool(_)
    )
}

struct Pass {
    half: DType,
    /// The type of each value as it was traced.
    before: Vec<DType>,
    wanted: Vec<bool>,
    /// The value of another type that a cast has made already.
    casts: HashMap<(ValueId, DType), ValueId>,
    nodes: Vec<Node>,
    changes: usize,
}

impl Pass {
    fn visit(&mut self, graph: &mut Graph, mut node: Node) {
        let reads_half = node.inputs.iter().any(|v| self.is_half(graph, *v));
        let wide = (node.outputs.iter()).all(|v| graph.ty(*v).dtype == DType::F32);
        let count = node.inputs.len();
        match &mut node.op {
            Op::MatMul(_) | Op::Conv(_) if wide && self.was_single(&node.inputs) => {
                self.cast_operands(graph, &mut node, 0..count, self.half);
                self.make_half(graph, &node.outputs);
            }
            Op::Draw(op) if wide && self.wanted[node.outputs[0].index()] => {
                op.dtype = self.half;
                self.make_half(graph, &node.outputs);
            }
            Op::Scan(op) if wide => {
                let (sequences, outputs) =
                    (op.recurrence.inputs.len(), op.recurrence.outputs.len());
                let states = op.recurrence.states.len();
                let feeds = |v: &ValueId| self.wanted[v.index()];
                let comes = node.inputs[..sequences]
                    .iter()
                    .any(|v| self.is_half(graph, *v));
                let feeds = node.outputs[..outputs].iter().any(feeds);
                self.cast_operands(graph, &mut node, sequences..count, DType::F32);
                if comes || feeds {
                    self.cast_operands(graph, &mut node, 0..sequences, self.half);
                    self.make_half(graph, &node.outputs[..outputs]);
                    self.make_half(graph, &node.outputs[outputs + states..][..states]);
                }
            }
            Op::Map(op) if wide && reads_half => {
                let size = graph.ty(node.outputs[0]).len();
                let full = |v: &&ValueId| graph.ty(**v).len() == size;
                let all = node
                    .inputs
                    .iter()
                    .filter(full)
                    .all(|v| self.is_half(graph, *v));
                let dtype = if all { self.half } else { DType::F32 };
                *op = Map {
                    dtypes: vec![dtype; node.outputs.len()],
                    ..op.clone()
                };
                if all {
                    self.make_half(graph, &node.outputs);
                }
            }
            op if moves(op) && wide && reads_half => {
                self.cast_operands(graph, &mut node, 0..count, self.half);
                self.make_half(graph, &node.outputs);
            }
            Op::Reduce(op) if wide && reads_half => op.out = Some(DType::F32),
            // Their results are what they are, from 16 bits as well.
            Op::LogSoftmax(_) | Op::ArgMax(_) | Op::Draw(_) | Op::Map(_) | Op::MeanVar(_) => {}
            _ => {
                for k in 0..count {
                    if self.changed(graph, node.inputs[k]) {
                        self.cast_operands(graph, &mut node, k..k + 1, DType::F32);
                    }
                }
            }
        }
        self.nodes.push(node);
    }

    fn is_half(&self, graph: &Graph, value: ValueId) -> bool {
        graph.ty(value).dtype == self.half
    }

    fn was_single(&self, values: &[ValueId]) -> bool {
        let mut all = values.iter().map(|v| self.before.get(v.index()));
        all.all(|dtype| dtype == Some(&DType::F32))
    }

    /// Whether the value was f32 and is 16 bits now.
    fn changed(&self, graph: &Graph, value: ValueId) -> bool {
        self.is_half(graph, value) && self.was_single(&[value])
    }

    fn make_half(&mut self, graph: &mut Graph, values: &[ValueId]) {
        for &value in values {
            graph.set_dtype(value, self.half);
            self.changes += 1;
        }
    }

    /// Replaces operands that this pass may have given another type, f32 or 16 bits, by casts.
    fn cast_operands(
        &mut self,
        graph: &mut Graph,
        node: &mut Node,
        operands: std::ops::Range<usize>,
        dtype: DType,
    ) {
        let layer = node.layer.clone();
        for value in &mut node.inputs[operands] {
            let from = graph.ty(*value).dtype;
            if from != dtype && (from == DType::F32 || from == self.half) {
                *value = self.cast(graph, *value, dtype, &layer);
            }
        }
    }

    fn cast(
        &mut self,
        graph: &mut Graph,
        value: ValueId,
        dtype: DType,
        layer: &Arc<str>,
    ) -> ValueId {
        if let Some(&made) = self.casts.get(&(value, dtype)) {
            return made;
        }
        let mut ty = graph.ty(value).clone();
        ty.dtype = dtype;
        let op = Map::cast(ty.shape.clone(), dtype);
        let made = graph.add_value(ty);
        self.nodes.push(Node {
            op: op.into(),
            inputs: vec![value],
            outputs: vec![made],
            layer: layer.clone(),
            backward: false,
        });
        self.casts.insert((value, dtype), made);
        made
    }

    /// What is named keeps its type: outputs that became 16 bits are cast back.
    fn keep_outputs(&mut self, graph: &mut Graph) {
        let layer: Arc<str> = Arc::from("");
        for k in 0..graph.outputs.len() {
            let value = graph.outputs[k].value;
            if self.changed(graph, value) {
                graph.outputs[k].value = self.cast(graph, value, DType::F32, &layer);
            }
        }
    }
}
