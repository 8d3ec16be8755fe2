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
//! Parameters, states, inputs and outputs stay f32: the operands of a product are cast, once each.
//! From the products, 16-bit storage propagates to the scans and draws around them, through data
//! movement and elementwise operations. Sums, scores, losses and labels are f32. This changes
//! results within the precision of 16 bits: it runs only if a precision was set, before
//! differentiation, so that the backward pass has the same types.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::notes::Notes;
use crate::op::{Map, MatmulPrecision, Op, Operation, Port, Ports, Scan};
use crate::precision::Precision;
use crate::rewrite::{NodeId, Rewriter};
use crate::semantics::Storage;
use crate::types::{DType, TensorType};
use std::collections::HashMap;
use std::sync::Arc;

/// Applies a precision to a forward graph. The ids of its values do not change.
pub fn run(graph: &mut Graph, precision: Precision) -> Report {
    let changes = match precision {
        Precision::F32 => 0,
        Precision::Tf32 => multiply_in_tf32(graph),
        Precision::Bf16 | Precision::F16 => store_as_16_bit(graph, precision.storage_dtype()),
    };
    Report {
        pass: "precision",
        changes,
        summary: format!("{changes} values and products in {precision}"),
    }
}

/// Lets every f32 matrix product and convolution multiply in TF32.
fn multiply_in_tf32(graph: &mut Graph) -> usize {
    let mut changes = 0;
    for precision in (graph.nodes.iter_mut()).filter_map(|node| node.op.precision_mut()) {
        *precision = MatmulPrecision::Tf32;
        changes += 1;
    }
    changes
}

fn store_as_16_bit(graph: &mut Graph, dtype: DType) -> usize {
    let mut pass = Pass {
        dtype,
        before: graph.dtypes(),
        wanted: wanted(graph, dtype),
        graph: Rewriter::new(graph),
        casts: HashMap::new(),
        changes: 0,
    };
    for k in pass.graph.order() {
        pass.visit(k);
    }
    pass.keep_outputs();
    pass.changes
}

/// Which f32 values are to be stored in 16 bits: operands of products, and of scans that feed one,
/// also through operations that move or reshape elements.
fn wanted(graph: &Graph, half: DType) -> Vec<bool> {
    let mut wanted = vec![false; graph.values()];
    let fits = |v: ValueId| [DType::F32, half].contains(&graph.ty(v).dtype);
    for node in graph.nodes.iter().rev() {
        let inputs: Vec<ValueId> = match &node.op {
            Op::Scan(op) => {
                let mut outputs = outputs(op, &node.outputs).into_iter();
                let feeds = outputs.any(|v| wanted[v.index()]);
                let stored = match op.feedback.is_some() || feeds {
                    true => op.operands_that(&is_stored),
                    false => vec![],
                };
                stored.into_iter().map(|k| node.inputs[k]).collect()
            }
            op => match op.storage() {
                Storage::Product => node.inputs.clone(),
                Storage::Follows if wanted[node.outputs[0].index()] => node.inputs.clone(),
                _ => vec![],
            },
        };
        for value in inputs {
            wanted[value.index()] |= fits(value);
        }
    }
    wanted
}

/// Whether a scan stores an operand in 16 bits: a sequence, or the weight of its feedback.
fn is_stored(port: Port) -> bool {
    matches!(port, Port::Sequence(_) | Port::Weight)
}

/// The output sequences of a scan.
fn outputs(op: &Scan, results: &[ValueId]) -> Vec<ValueId> {
    let outputs = op.results_that(&|port| matches!(port, Port::Output(_)));
    outputs.into_iter().map(|k| results[k]).collect()
}

struct Pass<'a> {
    graph: Rewriter<'a>,
    /// The 16-bit type.
    dtype: DType,
    /// The type of each value as it was traced.
    before: Vec<DType>,
    wanted: Vec<bool>,
    /// The casts of each value that exist already.
    casts: HashMap<(ValueId, DType), ValueId>,
    changes: usize,
}

impl Pass<'_> {
    fn visit(&mut self, k: NodeId) {
        let node = self.graph.node(k).clone();
        let reads_half = node.inputs.iter().any(|v| self.is_half(*v));
        let full = (node.outputs.iter()).all(|v| self.graph.ty(*v).dtype == DType::F32);
        let count = node.inputs.len();
        match &node.op {
            Op::Scan(op) if full => {
                let stored = op.operands_that(&is_stored);
                let comes = stored.iter().any(|k| self.is_half(node.inputs[*k]));
                let mut outputs = outputs(op, &node.outputs).into_iter();
                let feeds = outputs.any(|v| self.wanted[v.index()]);
                let recurrent = op.feedback.is_some();
                let stores = recurrent || comes || feeds;
                for at in 0..count {
                    match stored.contains(&at) {
                        true if stores => self.cast_operands(k, [at], self.dtype),
                        true => {}
                        false => self.cast_operands(k, [at], DType::F32),
                    }
                }
                if stores {
                    let results = op.results_that(&|port| match port {
                        Port::StateSeq(_) => !recurrent,
                        port => matches!(port, Port::Output(_) | Port::Before),
                    });
                    let results = results.into_iter().map(|k| node.outputs[k]);
                    self.store(&results.collect::<Vec<_>>());
                }
            }
            op => self.store_by_rule(k, op.storage(), (full, reads_half)),
        }
    }

    /// Lets the node `k` read and write 16 bits by its storage rule.
    fn store_by_rule(&mut self, k: NodeId, rule: Storage, (full, reads_half): (bool, bool)) {
        let node = self.graph.node(k).clone();
        let count = node.inputs.len();
        match rule {
            Storage::Product if full && self.was_single(&node.inputs) => {
                self.cast_operands(k, 0..count, self.dtype);
                self.store(&node.outputs);
            }
            Storage::Drawn if full && self.wanted[node.outputs[0].index()] => {
                self.store_as(k, self.dtype);
                self.store(&node.outputs);
            }
            Storage::Elementwise if full && self.is_wanted_spike(k) => {
                self.store_as(k, self.dtype);
                self.store(&node.outputs);
            }
            Storage::Elementwise if full && reads_half => {
                let size = self.graph.ty(node.outputs[0]).len();
                let mut largest = node
                    .inputs
                    .iter()
                    .filter(|v| self.graph.ty(**v).len() == size);
                let all = largest.all(|v| self.is_half(*v));
                self.store_as(k, if all { self.dtype } else { DType::F32 });
                if all {
                    self.store(&node.outputs);
                }
            }
            Storage::Follows if full && reads_half => {
                self.cast_operands(k, 0..count, self.dtype);
                self.store(&node.outputs);
            }
            Storage::Accumulated if full && reads_half => self.store_as(k, DType::F32),
            Storage::Accumulated | Storage::Elementwise | Storage::Drawn => {}
            Storage::Full | Storage::Product | Storage::Follows | Storage::Sequences => {
                for operand in 0..count {
                    if self.changed(node.inputs[operand]) {
                        self.cast_operands(k, operand..operand + 1, DType::F32);
                    }
                }
            }
        }
    }

    /// Whether the result is zeros and ones, exact in every type, and is wanted in 16 bits.
    fn is_wanted_spike(&self, k: NodeId) -> bool {
        let node = self.graph.node(k);
        let [result] = node.outputs[..] else {
            return false;
        };
        node.op.is_binary(0) && self.wanted[result.index()]
    }

    /// Lets a node round its results to an element type.
    fn store_as(&mut self, k: NodeId, dtype: DType) {
        if let Some(op) = self.graph.node(k).op.stored_as(dtype) {
            self.graph.set_op(k, op);
        }
    }

    fn is_half(&self, value: ValueId) -> bool {
        self.graph.ty(value).dtype == self.dtype
    }

    fn was_single(&self, values: &[ValueId]) -> bool {
        let mut all = values.iter().map(|v| self.before.get(v.index()));
        all.all(|dtype| dtype == Some(&DType::F32))
    }

    /// Whether the value was f32 and is 16-bit now.
    fn changed(&self, value: ValueId) -> bool {
        self.is_half(value) && self.was_single(&[value])
    }

    /// Stores values in the 16-bit type.
    fn store(&mut self, values: &[ValueId]) {
        for &value in values {
            self.graph.set_dtype(value, self.dtype);
            self.changes += 1;
        }
    }

    /// Replaces operands of node `k` that this pass may have given another type, f32 or 16-bit, by
    /// casts.
    fn cast_operands(
        &mut self,
        k: NodeId,
        operands: impl IntoIterator<Item = usize>,
        dtype: DType,
    ) {
        for operand in operands {
            let node = self.graph.node(k);
            let (value, layer) = (node.inputs[operand], node.layer.clone());
            let from = self.graph.ty(value).dtype;
            if from != dtype && (from == DType::F32 || from == self.dtype) {
                let cast = self.cast(value, dtype, &layer, Some(k));
                self.graph.set_input(k, operand, cast);
            }
        }
    }

    /// The value under another type: a cast that exists, or a new one before a node or at the end.
    fn cast(
        &mut self,
        value: ValueId,
        dtype: DType,
        layer: &Arc<str>,
        before: Option<NodeId>,
    ) -> ValueId {
        if let Some(&made) = self.casts.get(&(value, dtype)) {
            return made;
        }
        let shape = self.graph.shape(value).to_vec();
        let made = self.graph.add_value(TensorType::new(dtype, shape.clone()));
        let cast = Node {
            op: Map::cast(shape, dtype).into(),
            inputs: vec![value],
            outputs: vec![made],
            layer: layer.clone(),
            backward: false,
            notes: Notes::default(),
        };
        match before {
            Some(node) => self.graph.insert_before(node, cast),
            None => self.graph.push(cast),
        };
        self.casts.insert((value, dtype), made);
        made
    }

    /// Outputs of the graph keep their type: those that became 16-bit are cast back.
    fn keep_outputs(&mut self) {
        let layer: Arc<str> = Arc::from("");
        for k in 0..self.graph.graph().outputs.len() {
            let value = self.graph.graph().outputs[k].value;
            if self.changed(value) {
                let cast = self.cast(value, DType::F32, &layer, None);
                self.graph.set_output(k, cast);
            }
        }
    }
}
