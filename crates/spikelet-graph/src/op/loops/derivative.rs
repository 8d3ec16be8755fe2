//! The derivative of a loop: a loop in the other direction.
//!
//! ```text
//! forward   h[t], y[t] = step(h[t−1], x[t], w)
//! backward  dh[t−1], dx[t], dw += vjp(step at h[t−1], x[t], w)(dh[t], dy[t])
//! ```
//!
//! The backward body is a copy of the forward body, which recomputes what the derivative reads from the
//! carried values before the step, followed by its derivative. Gradients of carried values are carried, those
//! of sequences are stacked, those of invariants are carried sums. The sums start from the partial gradients
//! of the body, so that they are added in the order in which the steps written out would add them.
//!
//! Where an invariant is only the weight of products or convolutions (`products.rs`), the backward body stacks
//! the gradients of their results instead, and the gradient of the weight is one product over all steps behind
//! the loop.

use super::products::{Factor, Product, products};
use super::{Loop, LoopBody};
use crate::backward::{Backward, vjp};
use crate::error::{Error, Result};
use crate::graph::{Graph, Input, InputKind, Node, Output, ValueId};
use crate::op::{Map, Operation, Reshape};
use crate::types::TensorType;
use std::sync::Arc;

pub(super) fn differentiate(
    op: &Loop,
    b: &mut Backward<'_>,
    node: &Node,
) -> Result<Vec<Option<ValueId>>> {
    let body = &*op.body;
    let mut found = Active::of(body, b);
    let weights = match op.hoist {
        true => found.take_products(body),
        false => vec![],
    };
    let mut grads = vec![None; node.inputs.len()];
    if found.wrt.is_empty() {
        return Ok(grads);
    }
    let mut step = Step::new(body, &found, &node.layer)?;
    let mut made = vjp(&mut step.graph, &step.given, &found.wrt)?;
    let carried = found.carried.len();
    let of_products = made.split_off(found.wrt.len() - weights.len());
    let (of_carried, rest) = made.split_at(carried);
    let (of_sequences, of_invariants) = rest.split_at(found.sequences.len());
    // Behind the gradients of sequences, the loop stacks what the products over all steps need.
    let mut stacked = of_sequences.to_vec();
    let mut at_of = |value: ValueId| {
        stacked.push(value);
        stacked.len() - 1
    };
    let factors: Vec<(usize, Option<usize>)> = (weights.iter().zip(&of_products))
        .map(|(product, grad)| {
            let computed = match product.factor {
                Factor::Computed(value) => Some(value),
                Factor::Before(_) | Factor::Sequence(_) => None,
            };
            (at_of(*grad), computed.map(&mut at_of))
        })
        .collect();
    let read = step.read_by(of_carried.iter().chain(of_invariants).chain(&stacked));

    let first_invariant = body.carried_count() + body.sequence_count();
    let mut operands = Operands::default();
    operands.carried(body, (&found, &step), b, node)?;
    let carried_count = operands.inside.len();
    operands.sequences(body, &mut step, &read, b, node)?;
    let sequence_count = operands.inside.len() - carried_count;
    for (k, value) in body.invariant_inputs().enumerate() {
        if read[value.index()] {
            operands.add(node.inputs[first_invariant + k], value);
        }
    }
    let mut outputs = [of_carried, of_invariants].concat();
    outputs.extend(&stacked);
    let graph = step.finish(
        &read,
        &operands.inside,
        carried_count,
        sequence_count,
        &outputs,
    );
    let backward = LoopBody::new(graph, carried_count, sequence_count)
        .map_err(|error| error.at(&node.layer, "gradient of a loop", &[]))?;
    let backward = Loop {
        body: Arc::new(backward),
        length: op.length,
        reverse: !op.reverse,
        hoist: op.hoist,
    };
    let made = b.push(backward, &operands.outside)?;
    for (at, &k) in found.carried.iter().enumerate() {
        grads[k] = b.wanted[k].then_some(made[at]);
    }
    for (at, &k) in found.invariants.iter().enumerate() {
        grads[first_invariant + k] = Some(made[carried + at]);
    }
    for (at, &k) in found.sequences.iter().enumerate() {
        grads[body.carried_count() + k] = Some(made[carried_count + at]);
    }
    for (product, (grad, computed)) in weights.iter().zip(factors) {
        let factor = match (product.factor, computed) {
            (Factor::Before(k), _) => stored(b, node, k)?,
            (Factor::Sequence(k), _) => node.inputs[body.carried_count() + k],
            (Factor::Computed(_), Some(at)) => made[carried_count + at],
            (Factor::Computed(_), None) => continue,
        };
        let at = first_invariant + product.invariant;
        let part =
            product.gradient(b, body, factor, node.inputs[at], made[carried_count + grad])?;
        grads[at] = match (grads[at], part) {
            (Some(sum), Some(part)) => Some(b.add(sum, part)?),
            (sum, part) => sum.or(part),
        };
    }
    Ok(grads)
}

/// The operands of a backward loop, and the inputs of its body that receive them.
#[derive(Default)]
struct Operands {
    outside: Vec<ValueId>,
    inside: Vec<ValueId>,
}

impl Operands {
    fn add(&mut self, outside: ValueId, inside: ValueId) {
        self.outside.push(outside);
        self.inside.push(inside);
    }

    /// The gradients of carried values and the sums of the gradients of invariants.
    fn carried(
        &mut self,
        body: &LoopBody,
        (found, step): (&Active, &Step),
        b: &mut Backward<'_>,
        node: &Node,
    ) -> Result<()> {
        for (&k, grad) in found.carried.iter().zip(&step.carried_grads) {
            let given = match b.grads[k] {
                Some(given) => given,
                None => b.zeros_like(node.inputs[k])?,
            };
            self.add(given, *grad);
        }
        let first = body.carried_count() + body.sequence_count();
        for (&k, sum) in found.invariants.iter().zip(&step.sums) {
            self.add(b.zeros_like(node.inputs[first + k])?, *sum);
        }
        Ok(())
    }

    /// The carried values before each step, the forward sequences, the gradients of results, as far as they are read.
    fn sequences(
        &mut self,
        body: &LoopBody,
        step: &mut Step,
        read: &[bool],
        b: &mut Backward<'_>,
        node: &Node,
    ) -> Result<()> {
        let before: Vec<ValueId> = body.carried_inputs().collect();
        for (k, &value) in before.iter().enumerate() {
            if read[value.index()] {
                self.add(stored(b, node, k)?, step.as_piece(value, &node.layer)?);
            }
        }
        let first = body.carried_count();
        for (k, value) in body.sequence_inputs().enumerate() {
            if read[value.index()] {
                self.add(node.inputs[first + k], value);
            }
        }
        for &(k, value) in &step.result_grads {
            if let Some(grad) = b.grads[first + k].filter(|_| read[value.index()]) {
                self.add(grad, value);
            }
        }
        Ok(())
    }
}

/// Which values of a body take part in the derivative.
struct Active {
    /// The carried values, by number.
    carried: Vec<usize>,
    /// The sequences and the invariants whose gradients are asked for.
    sequences: Vec<usize>,
    invariants: Vec<usize>,
    /// The stacked results that have a gradient.
    results: Vec<usize>,
    /// The inputs of the body for these carried values, sequences and invariants, then the results of products.
    wrt: Vec<ValueId>,
    /// Which outputs of the body have a gradient.
    reached: Vec<bool>,
}

impl Active {
    fn of(body: &LoopBody, b: &Backward<'_>) -> Self {
        let graph = body.graph();
        let inputs: Vec<ValueId> = graph.inputs.iter().map(|i| i.value).collect();
        let outputs: Vec<ValueId> = graph.outputs.iter().map(|o| o.value).collect();
        let carried = body.carried_count();
        let is_float = |v: ValueId| graph.ty(v).dtype.is_float();
        // What depends on an operand whose gradient is asked for, through any number of steps.
        let mut varied: Vec<bool> = (b.wanted.iter().zip(&inputs))
            .map(|(wanted, v)| *wanted && is_float(*v))
            .collect();
        // What a result that has a gradient depends on.
        let mut reached: Vec<bool> = b.grads.iter().map(Option::is_some).collect();
        loop {
            let (depends, leads) = (descendants(graph, &varied), ancestors(graph, &reached));
            let mut changed = false;
            for k in 0..carried {
                let (before, after) = (inputs[k], outputs[k]);
                if !varied[k] && is_float(before) && depends[after.index()] {
                    varied[k] = true;
                    changed = true;
                }
                if !reached[k] && leads[before.index()] {
                    reached[k] = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let depends = descendants(graph, &varied);
        let leads = ancestors(graph, &reached);
        let chosen = |range: std::ops::Range<usize>, keep: &dyn Fn(usize) -> bool| -> Vec<usize> {
            let first = range.start;
            range.filter(|k| keep(*k)).map(|k| k - first).collect()
        };
        let behind = carried + body.sequence_count();
        let is_wrt = |k: usize| varied[k] && leads[inputs[k].index()];
        let carried_wrt = chosen(0..carried, &|k| varied[k] && reached[k]);
        let sequences = chosen(carried..behind, &is_wrt);
        let invariants = chosen(behind..inputs.len(), &is_wrt);
        let results = chosen(carried..outputs.len(), &|k| {
            reached[k] && depends[outputs[k].index()]
        });
        let wrt = carried_wrt.iter().copied();
        let wrt = wrt.chain(sequences.iter().map(|k| carried + k));
        let wrt = wrt.chain(invariants.iter().map(|k| behind + k));
        let wrt = wrt.map(|k| inputs[k]).collect();
        Self {
            carried: carried_wrt,
            sequences,
            invariants,
            results,
            wrt,
            reached,
        }
    }
}

impl Active {
    /// Takes the invariants that are only weights of products, whose gradients are computed behind the loop: the
    /// gradients of the results of the products are asked for instead.
    fn take_products(&mut self, body: &LoopBody) -> Vec<Product> {
        let leads = ancestors(body.graph(), &self.reached);
        let first = self.wrt.len() - self.invariants.len();
        let mut taken = vec![];
        let mut kept = (vec![], self.wrt[..first].to_vec());
        for (&k, &value) in self.invariants.iter().zip(&self.wrt[first..]) {
            match products(body, k) {
                Some(found) => taken.extend(found),
                None => {
                    kept.0.push(k);
                    kept.1.push(value);
                }
            }
        }
        taken.retain(|product: &Product| leads[product.result.index()]);
        (self.invariants, self.wrt) = kept;
        self.wrt.extend(taken.iter().map(|product| product.result));
        taken
    }
}

/// Which values depend on the chosen inputs through floating-point values.
fn descendants(graph: &Graph, inputs: &[bool]) -> Vec<bool> {
    let mut found = vec![false; graph.values()];
    for (input, chosen) in graph.inputs.iter().zip(inputs) {
        found[input.value.index()] = *chosen;
    }
    for node in &graph.nodes {
        if node.inputs.iter().any(|v| found[v.index()]) {
            for output in &node.outputs {
                found[output.index()] |= graph.ty(*output).dtype.is_float();
            }
        }
    }
    found
}

/// Which values the chosen outputs depend on.
fn ancestors(graph: &Graph, outputs: &[bool]) -> Vec<bool> {
    let chosen = graph.outputs.iter().zip(outputs).filter(|(_, c)| **c);
    needed(graph, chosen.map(|(output, _)| output.value))
}

/// The values that are read to compute `values`, with these.
fn needed(graph: &Graph, values: impl Iterator<Item = ValueId>) -> Vec<bool> {
    let mut found = vec![false; graph.values()];
    for value in values {
        found[value.index()] = true;
    }
    for node in graph.nodes.iter().rev() {
        if node.outputs.iter().any(|v| found[v.index()]) {
            for input in &node.inputs {
                found[input.index()] = true;
            }
        }
    }
    found
}

/// The backward step while it is built.
struct Step {
    /// The forward body and its derivative; without inputs and outputs.
    graph: Graph,
    /// Values of the body with their gradients.
    given: Vec<(ValueId, ValueId)>,
    /// The inputs that are gradients of carried values, of stacked results (with their numbers), and sums of the
    /// gradients of invariants.
    carried_grads: Vec<ValueId>,
    result_grads: Vec<(usize, ValueId)>,
    sums: Vec<ValueId>,
}

impl Step {
    fn new(body: &LoopBody, found: &Active, layer: &Arc<str>) -> Result<Self> {
        let mut graph = body.graph().clone();
        graph.forget_uses();
        graph.inputs.clear();
        graph.outputs.clear();
        let mut step = Self {
            graph,
            given: vec![],
            carried_grads: vec![],
            result_grads: vec![],
            sums: vec![],
        };
        let stacked: Vec<ValueId> = body.stacked_outputs().collect();
        for &k in &found.results {
            let grad = step.give(stacked[k], layer)?;
            step.result_grads.push((k, grad));
        }
        let carried: Vec<ValueId> = body.carried_outputs().collect();
        for &k in &found.carried {
            let grad = step.give(carried[k], layer)?;
            step.carried_grads.push(grad);
        }
        let invariants: Vec<ValueId> = body.invariant_inputs().collect();
        for &k in &found.invariants {
            let sum = step.give(invariants[k], layer)?;
            step.sums.push(sum);
        }
        Ok(step)
    }

    /// A new value for a gradient of `value`, added to those given before.
    fn give(&mut self, value: ValueId, layer: &Arc<str>) -> Result<ValueId> {
        let ty = self.graph.ty(value).clone();
        let grad = self.graph.add_value(ty.clone());
        match self.given.iter().position(|(given, _)| *given == value) {
            None => self.given.push((value, grad)),
            Some(at) => {
                let sum = vec![Map::operand(0) + Map::operand(1)];
                let sum = Map::stored(sum, ty.shape, vec![ty.dtype]);
                let node =
                    self.graph
                        .make_node(sum.into(), &[self.given[at].1, grad], layer, true)?;
                self.given[at].1 = node.outputs[0];
                self.graph.nodes.push(node);
            }
        }
        Ok(grad)
    }

    /// The values that are read to compute `made`.
    fn read_by<'a>(&self, made: impl Iterator<Item = &'a ValueId>) -> Vec<bool> {
        needed(&self.graph, made.copied())
    }

    /// The input from which a carried value is read as a piece of a sequence: the value, or for a scalar a value
    /// with one axis.
    fn as_piece(&mut self, value: ValueId, layer: &Arc<str>) -> Result<ValueId> {
        let ty = self.graph.ty(value).clone();
        if !ty.shape.is_empty() {
            return Ok(value);
        }
        let piece = self.graph.add_value(TensorType::new(ty.dtype, [1]));
        let scalar = Reshape { shape: vec![] };
        let mut node = self
            .graph
            .make_node(scalar.into(), &[piece], layer, false)?;
        node.outputs = vec![value];
        self.graph.nodes.insert(0, node);
        Ok(piece)
    }

    /// The graph with its inputs and outputs, without what no output depends on.
    fn finish(
        mut self,
        read: &[bool],
        inputs: &[ValueId],
        carried: usize,
        sequences: usize,
        outputs: &[ValueId],
    ) -> Graph {
        let is_read = |v: &ValueId| read.get(v.index()).is_none_or(|read| *read);
        self.graph
            .nodes
            .retain(|node| node.outputs.iter().any(is_read));
        for (k, &value) in inputs.iter().enumerate() {
            let (name, kind) = match k {
                k if k < carried => (format!("gradient {k}"), InputKind::State),
                k if k < carried + sequences => {
                    (format!("sequence {}", k - carried), InputKind::Data)
                }
                k => (
                    format!("invariant {}", k - carried - sequences),
                    InputKind::Parameter,
                ),
            };
            self.graph.inputs.push(Input { name, kind, value });
        }
        for (k, &value) in outputs.iter().enumerate() {
            let (name, updates) = match k {
                k if k < carried => (format!("gradient {k}"), Some(inputs[k])),
                k => (format!("stacked {}", k - carried), None),
            };
            self.graph.outputs.push(Output {
                name,
                value,
                updates,
            });
        }
        self.graph
    }
}

/// The stacked result of the forward loop that is carried value `k` before each step: one that exists, or a new
/// one.
fn stored(b: &mut Backward<'_>, node: &Node, k: usize) -> Result<ValueId> {
    let broken = || Error::Gradient {
        what: "a loop".to_string(),
        problem: "its node is not in the graph (internal error; please report it)".to_string(),
    };
    let at = b
        .graph
        .nodes
        .iter()
        .rposition(|other| other.outputs.first() == node.outputs.first());
    let at = at.ok_or_else(broken)?;
    let mut forward = b.graph.nodes[at].clone();
    let crate::op::Op::Loop(op) = &mut forward.op else {
        return Err(broken());
    };
    let name = format!("before {k}");
    let graph = op.body.graph();
    if let Some(known) = graph.outputs.iter().position(|output| output.name == name) {
        return Ok(forward.outputs[known]);
    }
    let length = op.length;
    let graph = Arc::make_mut(&mut op.body).graph_mut();
    graph.forget_uses();
    let mut value = graph.inputs[k].value;
    if graph.ty(value).shape.is_empty() {
        value = graph.push1(Reshape { shape: vec![1] }, &[value], &node.layer)?;
    }
    let piece = graph.ty(value).clone();
    graph.outputs.push(Output {
        name,
        value,
        updates: None,
    });
    let whole = super::body::stacked(&piece, length);
    let whole = whole.map_err(|error| error.at(&node.layer, &node.op.name(), &[piece]))?;
    let result = b.graph.add_value(whole);
    forward.outputs.push(result);
    b.graph.nodes[at] = forward;
    b.graph.forget_uses();
    Ok(result)
}
