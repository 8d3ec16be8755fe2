//! Turns a loop around one neuron scan with feedback into a recurrent scan, which is one kernel.
//!
//! ```text
//! %5, %6 = loop(%z, %v, %x, %w, %b)         %7 = map(%x, %b)              the other terms, over all steps
//!     matmul(z[t−1], wᵀ)                    %8 = matmul(%z, %wᵀ)          the product before the first step
//!     map(x[t] + product + b)        →      %5, %6 = recurrent_scan(%7, %v, %z, %8, %w)
//!     scan[lif, T=1](…)
//! ```
//!
//! A body fits if its operations are one product of a carried value with an invariant matrix, elementwise
//! operations that add the product to terms that are not carried, and one scan of one step, whose states and
//! whose spikes, which the product multiplies, are all that is carried. Terms are added in another order.
//!
//! It runs before [`super::precision`], so that the matrix and the sequences are stored like those of other
//! products. [`Notes::unfused`](crate::Notes) says why another body stays a loop.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{
    Feedback, Loop, LoopBody, Map, MatMul, Op, Operation, Permute, Port, Ports, Recurrence,
    Reshape, Scan, StepOutput,
};
use crate::rewrite::{NodeId, Rewriter};
use spikelet_expr::{Expr, vjp};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Fuses the loops of a graph.
pub fn run(graph: &mut Graph) -> Report {
    let enabled = !graph.disable_fusion;
    let changes = Rewriter::new(graph).apply(|graph, k| {
        let fits = |op: &&Loop| enabled && op.hoist && !op.reverse && op.length > 0;
        let op = graph.op::<Loop>(k).filter(fits)?.clone();
        let found = find(&op);
        match found {
            Ok(found) => replace(graph, k, &op, &found),
            Err(reason) => {
                let mut node = graph.node(k).clone();
                node.notes.unfused = Some(reason);
                graph.set(k, node);
                None
            }
        }
    });
    Report {
        pass: "recurrent scans",
        changes,
        summary: format!("{changes} loops around a neuron and its feedback are one kernel"),
    }
}

/// The parts of a body that fits.
struct Found {
    recurrence: Recurrence,
    /// The index of the carried value of each state of the recurrence.
    carried: Vec<usize>,
    /// The state that is fed back.
    fed: usize,
    /// Whether the product detaches it.
    local_gradient: bool,
    /// The weight, an invariant of the body, and whether its rows are the receiving neurons.
    weight: ValueId,
    by_rows: bool,
    /// What is added to the product, the last first.
    terms: Vec<Term>,
    /// The other sequences and the parameters of the scan, values of the body.
    sequences: Vec<ValueId>,
    params: Vec<ValueId>,
    /// For each result of the loop, that of the scan.
    results: Vec<Port>,
    step: Vec<usize>,
}

/// An elementwise operation between the product and the scan.
struct Term {
    map: Map,
    /// The operand that contains the product.
    with: usize,
    /// All operands, values of the body.
    operands: Vec<ValueId>,
}

/// A body's values by the nodes that compute them.
struct Body<'a> {
    graph: &'a Graph,
    producers: HashMap<ValueId, &'a Node>,
}

impl<'a> Body<'a> {
    fn new(body: &'a LoopBody) -> Self {
        let graph = body.graph();
        let of = |node: &'a Node| node.outputs.iter().map(move |v| (*v, node));
        Self {
            graph,
            producers: graph.nodes.iter().flat_map(of).collect(),
        }
    }

    /// The value behind reshapes, and casts that change nothing.
    fn source(&self, mut value: ValueId) -> ValueId {
        while let Some(node) = self.producers.get(&value) {
            let same = match &node.op {
                Op::Reshape(_) => true,
                Op::Map(op) => op.is_identity() && self.same_type(node),
                _ => false,
            };
            if !same {
                break;
            }
            value = node.inputs[0];
        }
        value
    }

    /// The value behind views that have no gradient, and whether there are any.
    fn detached(&self, value: ValueId) -> (ValueId, bool) {
        let value = self.source(value);
        match self.maker(value) {
            Some(node) if matches!(&node.op, Op::Map(op) if op.is_detached()) => {
                (self.source(node.inputs[0]), true)
            }
            _ => (value, false),
        }
    }

    fn same_type(&self, node: &Node) -> bool {
        self.graph.ty(node.inputs[0]) == self.graph.ty(node.outputs[0])
    }

    fn maker(&self, value: ValueId) -> Option<&'a Node> {
        self.producers.get(&value).copied()
    }

    /// The values that are computed from `value`, itself among them.
    fn computed_from(&self, value: ValueId) -> HashSet<ValueId> {
        let mut found = HashSet::from([value]);
        for node in &self.graph.nodes {
            if node.inputs.iter().any(|v| found.contains(v)) {
                found.extend(&node.outputs);
            }
        }
        found
    }
}

type Reason = Arc<str>;

fn reason<T>(text: impl Into<String>) -> Result<T, Reason> {
    Err(Arc::from(text.into()))
}

/// A body with one neuron and one product.
struct Neuron<'a> {
    body: Body<'a>,
    node: &'a Node,
    scan: &'a Scan,
    product: &'a Node,
    matmul: &'a MatMul,
    /// The carried values before and after a step.
    carried: Vec<ValueId>,
    next: Vec<ValueId>,
    /// The shape of the neuron's states.
    step: Vec<usize>,
}

impl<'a> Neuron<'a> {
    fn of(of: &'a LoopBody) -> Result<Self, Reason> {
        let body = Body::new(of);
        let mut scans = vec![];
        let mut products = vec![];
        for node in &body.graph.nodes {
            match &node.op {
                Op::Scan(scan) => scans.push((node, scan)),
                Op::MatMul(product) => products.push((node, product)),
                Op::Reshape(_) | Op::Expand(_) | Op::Map(_) | Op::Fill(_) => {}
                other => return reason(format!("it has `{}`", other.name())),
            }
        }
        let [(node, scan)] = scans[..] else {
            return reason(format!(
                "it has {} neurons with states, not one",
                scans.len()
            ));
        };
        let [(product, matmul)] = products[..] else {
            return reason(format!("it has {} products, not one", products.len()));
        };
        if scan.time_steps != 1
            || scan.pool.is_some()
            || scan.checkpoint.is_some()
            || scan.feedback.is_some()
        {
            return reason("its neurons are not scanned one step at a time");
        }
        let x = node.inputs[scan.input(0)];
        Ok(Self {
            step: Scan::step_shape(&[body.graph.ty(x).clone()]).to_vec(),
            carried: of.carried_inputs().collect(),
            next: of.carried_outputs().map(|v| body.source(v)).collect(),
            body,
            node,
            scan,
            product,
            matmul,
        })
    }

    fn read(&self, port: Port) -> ValueId {
        self.body.source(self.node.inputs[self.scan.reads(port)])
    }

    /// The carried value that is multiplied, whether it is detached, and the weight: a square matrix that is the same at
    /// every step.
    fn multiplied(&self, invariants: &[ValueId]) -> Result<(usize, bool, ValueId), Reason> {
        let plain = !self.matmul.transpose_a && self.matmul.out.is_none();
        let weight = self.body.source(self.product.inputs[1]);
        let (spikes, is_detached) = self.body.detached(self.product.inputs[0]);
        let Some(fed) = self.carried.iter().position(|v| *v == spikes) else {
            return reason("its product is not of a carried value");
        };
        let features = self.step.last().copied().unwrap_or(0);
        let is_square = *self.body.graph.shape(weight) == [features, features];
        if !plain || !invariants.contains(&weight) || !is_square {
            return reason(
                "its product is not with a square matrix that is the same at every step",
            );
        }
        Ok((fed, is_detached, weight))
    }

    /// The recurrence with the spikes that are fed back among its states, the carried value of each state, and the state
    /// that is fed back: one of the neuron, or the carried value `fed` of its own.
    fn states(&self, fed: usize) -> Result<(Recurrence, Vec<usize>, usize), Reason> {
        let mut recurrence = (*self.scan.recurrence).clone();
        let mut carried = vec![];
        for (k, name) in recurrence.states.iter().enumerate() {
            let before = self.read(Port::Initial(k));
            let after = self.node.outputs[self.scan.writes(Port::Last(k))];
            let is_it = |at: &usize| self.carried[*at] == before && self.next[*at] == after;
            match (0..self.carried.len()).find(is_it) {
                Some(at) if *self.body.graph.shape(before) == self.step => carried.push(at),
                _ => return reason(format!("state `{name}` is not carried as it is")),
            }
        }
        let state = match carried.iter().position(|at| *at == fed) {
            Some(state) => state,
            None => {
                let at = (self.node.outputs.iter()).position(|v| *v == self.next[fed]);
                let Some(Port::Output(output)) = at.map(|at| self.scan.results()[at]) else {
                    return reason("what is fed back is not an output of the neuron");
                };
                let name = fresh(&recurrence, "spikes_before");
                recurrence.states.push(name);
                let value = recurrence.outputs[output].value.clone();
                recurrence.next.push(value);
                carried.push(fed);
                carried.len() - 1
            }
        };
        if !Feedback::feeds_spikes(&recurrence, state) {
            return reason("what is fed back is not zeros and ones");
        }
        if self.carried.len() != carried.len() {
            return reason("it carries values that are no states of the neuron");
        }
        Ok((recurrence, carried, state))
    }

    /// The result of the scan for each result of the loop.
    fn results(&self, op: &Loop, states: &[usize]) -> Result<Vec<Port>, Reason> {
        let mut results = vec![];
        for k in 0..self.carried.len() {
            let state = states.iter().position(|at| *at == k);
            results.push(Port::Last(state.expect("all of them are states")));
        }
        for value in op.body.stacked_outputs() {
            let value = self.body.source(value);
            let Some(at) = self.node.outputs.iter().position(|v| *v == value) else {
                return reason("it returns values that are no results of the neuron");
            };
            // Of one step, the last states are those after each step.
            results.push(match self.scan.results()[at] {
                Port::Last(k) => Port::StateSeq(k),
                port => port,
            });
        }
        Ok(results)
    }
}

/// The parts of the body, or why it does not fit.
fn find(op: &Loop) -> Result<Found, Reason> {
    let neuron = Neuron::of(&op.body)?;
    let sequences: Vec<ValueId> = op.body.sequence_inputs().collect();
    let invariants: Vec<ValueId> = op.body.invariant_inputs().collect();
    let (fed, local_gradient, weight) = neuron.multiplied(&invariants)?;
    let (recurrence, carried, fed) = neuron.states(fed)?;
    // The input of the scan: the product plus what is not carried.
    let x = neuron.read(Port::Sequence(0));
    let terms = terms(&neuron.body, x, neuron.product.outputs[0])?;
    let outside = |v: ValueId| sequences.contains(&v) || invariants.contains(&v);
    let rest = (1..recurrence.inputs.len()).map(|k| neuron.read(Port::Sequence(k)));
    let rest: Vec<ValueId> = rest.collect();
    let params = (0..recurrence.params.len()).map(|k| neuron.read(Port::Param(k)));
    let params: Vec<ValueId> = params.collect();
    if rest.iter().any(|v| !sequences.contains(v)) || params.iter().any(|v| !invariants.contains(v))
    {
        return reason("the neuron has inputs or parameters that the body computes");
    }
    let others = terms.iter().flat_map(Term::others);
    if !others.copied().all(outside) {
        return reason("a value that depends on carried ones is added to the product");
    }
    Ok(Found {
        results: neuron.results(op, &carried)?,
        by_rows: neuron.matmul.transpose_b,
        step: neuron.step,
        recurrence,
        carried,
        fed,
        local_gradient,
        weight,
        terms,
        sequences: rest,
        params,
    })
}

/// A name that no symbol of the recurrence has.
fn fresh(r: &Recurrence, name: &str) -> String {
    let outputs = r.outputs.iter().map(|StepOutput { name, .. }| name);
    let taken: Vec<&String> = r
        .inputs
        .iter()
        .chain(&r.states)
        .chain(&r.params)
        .chain(outputs)
        .collect();
    let mut name = name.to_string();
    while taken.contains(&&name) {
        name.push('_');
    }
    name
}

/// The operations between the product and `value`, the last first; they must add to it with the factor 1.
fn terms(body: &Body<'_>, value: ValueId, product: ValueId) -> Result<Vec<Term>, Reason> {
    let with_product = body.computed_from(product);
    let mut terms = vec![];
    let mut value = body.source(value);
    while value != product {
        let Some(node) = body.maker(value) else {
            return reason("the neuron does not read the product");
        };
        let Op::Map(map) = &node.op else {
            return reason(format!(
                "`{}` is between the product and the neuron",
                node.op.name()
            ));
        };
        let [expression] = &map.expressions[..] else {
            return reason(
                "an operation with several results is between the product and the neuron",
            );
        };
        let with: Vec<usize> = (0..node.inputs.len())
            .filter(|&k| with_product.contains(&node.inputs[k]))
            .collect();
        let [with] = with[..] else {
            return reason("the product is added more than once, or not at all");
        };
        let name = Map::operand_name(with);
        let one = vjp(&[(expression.clone(), Expr::constant(1.0))], &[&name]);
        if one[0].as_constant() != Some(1.0) {
            return reason("the product is not added as it is");
        }
        if body.graph.shape(node.inputs[with]) != map.shape {
            return reason("the product is broadcast");
        }
        terms.push(Term {
            map: map.clone(),
            with,
            operands: node.inputs.iter().map(|v| body.source(*v)).collect(),
        });
        value = body.source(node.inputs[with]);
    }
    Ok(terms)
}

impl Term {
    /// The operands without the product.
    fn others(&self) -> impl Iterator<Item = &ValueId> {
        let (before, from) = self.operands.split_at(self.with);
        before.iter().chain(&from[1..])
    }
}

/// The outer graph with the values of the body that are known in it.
struct Outside<'g, 'a> {
    graph: &'g mut Rewriter<'a>,
    at: NodeId,
    layer: Arc<str>,
    length: usize,
    /// By value of the body.
    operands: HashMap<ValueId, ValueId>,
}

impl Outside<'_, '_> {
    fn add(&mut self, op: impl Into<Op>, operands: &[ValueId]) -> Option<Vec<ValueId>> {
        let node = self.graph.make(op, operands, &self.layer, false).ok()?;
        let outputs = node.outputs.clone();
        self.graph.insert_before(self.at, node);
        Some(outputs)
    }

    /// The sum of the terms over all steps; `None` for zero.
    fn terms(&mut self, terms: &[Term]) -> Option<Option<ValueId>> {
        let mut sum = None;
        for term in terms.iter().rev() {
            sum = self.term(term, sum)?;
        }
        Some(sum)
    }

    /// The operation over all steps, with `inner` in place of the operand that contains the product.
    fn term(&mut self, term: &Term, inner: Option<ValueId>) -> Option<Option<ValueId>> {
        let Term {
            map,
            with,
            operands: inside,
        } = term;
        let mut operands = vec![];
        let mut values = vec![];
        for (k, value) in inside.iter().enumerate() {
            let value = match k == *with {
                true => inner,
                false => Some(*self.operands.get(value)?),
            };
            values.push(value.map(|value| {
                operands.push(value);
                Map::operand(operands.len() - 1)
            }));
        }
        let zero = Expr::constant(0.0);
        let replace = |name: &str| {
            let k = (0..values.len()).find(|k| Map::operand_name(*k) == name)?;
            Some(values[k].clone().unwrap_or_else(|| zero.clone()))
        };
        let expression = map.expressions[0].substitute(&replace);
        if operands.is_empty() && expression.as_constant() == Some(0.0) {
            return Some(None);
        }
        let mut shape = map.shape.clone();
        *shape.first_mut()? *= self.length;
        if let Some(k) = (0..operands.len()).find(|&k| expression.same_value(&Map::operand(k)))
            && *self.graph.shape(operands[k]) == shape
        {
            return Some(Some(operands[k]));
        }
        let map = Map::stored(vec![expression], shape, map.dtypes.clone());
        Some(Some(*self.add(map, &operands)?.first()?))
    }

    fn reshaped(&mut self, value: ValueId, shape: Vec<usize>) -> Option<ValueId> {
        self.graph.reshaped(self.at, value, shape)
    }
}

fn replace(graph: &mut Rewriter<'_>, k: NodeId, op: &Loop, found: &Found) -> Option<()> {
    let node = graph.node(k).clone();
    let inputs = op.body.graph().inputs.iter().map(|input| input.value);
    let mut outside = Outside {
        at: k,
        layer: node.layer.clone(),
        length: op.length,
        operands: inputs.zip(node.inputs.iter().copied()).collect(),
        graph,
    };
    let mut states: Vec<ValueId> = found.carried.iter().map(|at| node.inputs[*at]).collect();
    let initial = states[found.fed];
    let whole = [&[op.length], &found.step[..]].concat();
    let x = match outside.terms(&found.terms)? {
        Some(x) => outside.reshaped(x, whole.clone())?,
        None => {
            let dtype = outside.graph.ty(initial).dtype;
            let ty = crate::types::TensorType::new(dtype, whole.clone());
            outside.add(crate::op::Fill { ty, value: 0.0 }, &[])?[0]
        }
    };
    let mut sequences = vec![x];
    for value in &found.sequences {
        let value = *outside.operands.get(value)?;
        sequences.push(outside.reshaped(value, whole.clone())?);
    }
    let mut weight = *outside.operands.get(&found.weight)?;
    if !found.by_rows {
        weight = outside.add(Permute { order: vec![1, 0] }, &[weight])?[0];
    }
    let initial = outside.reshaped(initial, found.step.clone())?;
    let multiplied = match found.local_gradient {
        true => {
            let detached = Map::detached(outside.graph.ty(initial));
            outside.add(detached, &[initial])?[0]
        }
        false => initial,
    };
    let product = outside.add(MatMul::new(false, true), &[multiplied, weight])?[0];
    let mut operands = sequences;
    states[found.fed] = initial;
    operands.extend(states);
    for value in &found.params {
        operands.push(*outside.operands.get(value)?);
    }
    operands.extend([product, weight]);
    let recurrence = Arc::new(found.recurrence.clone());
    let scan = Scan::new(recurrence, op.length).feed_back(Feedback {
        local_gradient: found.local_gradient,
        ..Feedback::of(found.fed)
    });
    let mut made = graph
        .make(scan.clone(), &operands, &node.layer, false)
        .ok()?;
    // The results keep their ids, which the trace may still use.
    let mut views = vec![];
    let mut taken = vec![];
    for (source, old) in found.results.iter().zip(&node.outputs) {
        let at = scan.writes(*source);
        let shape = graph.shape(*old).to_vec();
        if graph.ty(made.outputs[at]) == graph.ty(*old) && !taken.contains(&at) {
            made.outputs[at] = *old;
            taken.push(at);
        } else {
            views.push((at, *old, shape));
        }
    }
    let results = made.outputs.clone();
    graph.set(k, made);
    for (at, old, shape) in views.into_iter().rev() {
        let op = Reshape { shape };
        let view = graph.make(op, &[results[at]], &node.layer, false).ok()?;
        let outputs = vec![old];
        let view = graph.insert_after(k, Node { outputs, ..view });
        graph.set_view(view, results[at]);
    }
    Some(())
}
