//! Tracing of loops.
//!
//! A body is traced like everything else, at the end of the graph; when it is complete, its nodes move into a
//! graph of their own. What they read of the values before becomes an invariant of the loop.

use super::{State, Tracer, Var};
use crate::error::{Error, InvalidOp, Result};
use crate::graph::{Graph, InputKind, Node, Output, ValueId};
use crate::op::{Draw, GENERATOR_STATE, GeneratorSteps, Loop, LoopBody, OpKind, Reshape, Slice};
use crate::types::{DType, TensorType};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A loop whose body is being traced.
pub(super) struct OpenLoop {
    /// The number of nodes before the body.
    first: usize,
    /// The nodes that are traced outside the body, after [`OpenLoop::first`].
    outside: Vec<Range<usize>>,
}

/// A value that the body receives: its placeholder while the body is traced, and the value outside.
#[derive(Clone, Copy)]
struct Received {
    inside: ValueId,
    outside: ValueId,
}

/// A loop whose body is being traced: [`Tracer::begin_loop`].
///
/// Everything that is traced until [`LoopTrace::finish`] is the body. A loop that is dropped unfinished is
/// removed from the trace.
pub struct LoopTrace {
    tracer: Tracer,
    length: usize,
    reverse: bool,
    received: RefCell<ReceivedValues>,
    finished: bool,
}

#[derive(Default)]
struct ReceivedValues {
    carried: Vec<Received>,
    sequences: Vec<Received>,
}

/// The results of a loop.
#[derive(Clone, Debug, Default)]
pub struct LoopResults {
    /// The carried values after the last step.
    pub carried: Vec<Var>,
    /// The stacked values.
    pub stacked: Vec<Var>,
}

impl Tracer {
    /// Traces a loop of `length` steps. The body receives the carried values and one piece of each sequence: an
    /// equal part along axis 0, `[1, N, …]` of `[length, N, …]`. It returns the next carried values, of the same
    /// types, and values that are stacked along axis 0. Other values that it uses are invariants; parameters
    /// may be declared inside.
    ///
    /// Axis 0 of the sequences is time: random numbers over time that are drawn inside are those of their step.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x_seq = tracer.input("x_seq", DType::F32, [50, 8, 3]);
    /// let w = tracer.parameter("w", [3, 3]);
    /// let start = tracer.fill(DType::F32, [1, 8, 3], 0.0);
    /// let made = tracer.scan_loop(50, &[&start], &[&x_seq], |h, x| {
    ///     let next = (&x[0] + &h[0].linear(&w)).tanh();
    ///     Ok((vec![next.clone()], vec![next]))
    /// })?;
    /// assert_eq!(made.carried[0].shape(), [1, 8, 3]);
    /// assert_eq!(made.stacked[0].shape(), [50, 8, 3]);
    /// assert_eq!(tracer.finish()?.nodes.len(), 2);
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of `body`; when a sequence has no `length` equal pieces or a carried value changes its type.
    pub fn scan_loop(
        &self,
        length: usize,
        initial: &[&Var],
        sequences: &[&Var],
        body: impl FnOnce(&[Var], &[Var]) -> Result<(Vec<Var>, Vec<Var>)>,
    ) -> Result<LoopResults> {
        let open = self.begin_loop(length);
        let carried: Vec<Var> = initial.iter().map(|v| open.carried(v)).collect();
        let pieces: Vec<Var> = sequences.iter().map(|v| open.sequence(v)).collect();
        let (next, stacked) = body(&carried, &pieces)?;
        if next.len() != carried.len() {
            let error = InvalidOp::new(
                format!(
                    "the body returns {} carried values; it received {}",
                    next.len(),
                    carried.len()
                ),
                "return one next value for each carried value",
            );
            return Err(error.at(&self.path(), "loop", &[]));
        }
        let next: Vec<(&Var, &Var)> = carried.iter().zip(&next).collect();
        open.finish(&next, &stacked.iter().collect::<Vec<_>>())
    }

    /// Begins a loop of `length` steps: what is traced from now on is its body, until [`LoopTrace::finish`].
    pub fn begin_loop(&self, length: usize) -> LoopTrace {
        let mut state = self.state.borrow_mut();
        let first = state.graph.nodes.len();
        state.loops.push(OpenLoop {
            first,
            outside: vec![],
        });
        drop(state);
        LoopTrace {
            tracer: self.clone(),
            length,
            reverse: false,
            received: RefCell::default(),
            finished: false,
        }
    }

    /// Traces values outside the body of the innermost open loop: once, before it. In them the pieces of sequences
    /// are the first pieces, and carried values the initial values. Without an open loop, `trace` is called as
    /// it is.
    pub fn outside_loop<T>(&self, trace: impl FnOnce() -> T) -> T {
        let here = |state: &State| (state.loops.len(), state.graph.nodes.len());
        let (depth, start) = here(&self.state.borrow());
        let made = trace();
        let mut state = self.state.borrow_mut();
        let (depth_now, end) = here(&state);
        if depth == depth_now
            && let Some(open) = state.loops.last_mut()
        {
            // An inner range was marked first.
            open.outside.retain(|range| range.start < start);
            open.outside.push(start..end);
        }
        made
    }

    /// Sets whether operations may leave the bodies of loops that are traced from now on; they may by default.
    pub fn hoist_from_loops(&self, yes: bool) {
        self.state.borrow_mut().keeps_in_loops = !yes;
    }

    /// Rejects a request that needs a complete graph while a body is being traced.
    pub(super) fn expect_no_open_loop(&self, what: &str) -> Result<()> {
        if self.state.borrow().loops.is_empty() {
            return Ok(());
        }
        Err(Error::Gradient {
            what: what.to_string(),
            problem: "the body of a loop is being traced; ask for it outside the loop".to_string(),
        })
    }
}

impl LoopTrace {
    /// Lets the steps run from the last piece of the sequences to the first.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.reverse = true;
        self
    }

    /// The number of steps.
    pub fn length(&self) -> usize {
        self.length
    }

    /// A carried value with its value before the first step, of the type that it has after every step.
    pub fn carried(&self, initial: &Var) -> Var {
        let ty = initial.ty().clone();
        self.receive(initial, ty, |values| &mut values.carried)
    }

    /// The piece of a sequence at the current step.
    pub fn sequence(&self, sequence: &Var) -> Var {
        let mut piece = sequence.ty().clone();
        let fits = piece.shape.first_mut().is_some_and(|first| {
            let whole = *first;
            *first = whole.checked_div(self.length).unwrap_or(1);
            *first * self.length == whole
        });
        if !fits {
            let error = InvalidOp::new(
                format!(
                    "a sequence of {} has no {} equal pieces along axis 0",
                    sequence.ty(),
                    self.length
                ),
                "pass sequences [T, …] with one step for each step of the loop",
            );
            return sequence.refuse("loop", error);
        }
        self.receive(sequence, piece, |values| &mut values.sequences)
    }

    fn receive(
        &self,
        value: &Var,
        ty: TensorType,
        list: impl Fn(&mut ReceivedValues) -> &mut Vec<Received>,
    ) -> Var {
        // Another precision may have been applied to what was traced before.
        let value = self.tracer.outside_loop(|| self.tracer.as_traced(value));
        let Some(outside) = value.id else {
            return self.tracer.ignored(ty);
        };
        let inside = self.tracer.state.borrow_mut().graph.add_value(ty);
        list(&mut self.received.borrow_mut()).push(Received { inside, outside });
        self.tracer.var(inside)
    }

    /// Completes the loop: `next` has carried values with their values after the step (one that is not listed does
    /// not change), `stacked` the values that are stacked along axis 0.
    ///
    /// # Errors
    /// The first error of the trace; when a carried value changes its type.
    pub fn finish(mut self, next: &[(&Var, &Var)], stacked: &[&Var]) -> Result<LoopResults> {
        self.finished = true;
        let tracer = self.tracer.clone();
        let received = self.received.take();
        let mut state = tracer.state.borrow_mut();
        let Some(open) = state.loops.pop() else {
            return Ok(LoopResults::default());
        };
        let ids = |vars: &[&Var]| -> Option<Vec<ValueId>> { vars.iter().map(|v| v.id).collect() };
        let (before, after): (Vec<&Var>, Vec<&Var>) = next.iter().copied().unzip();
        let known = (ids(&before), ids(&after), ids(stacked));
        let (Some(before), Some(after), Some(stacked), None) =
            (known.0, known.1, known.2, &state.error)
        else {
            state.graph.nodes.truncate(open.first);
            let error = state.error.clone();
            return Err(error.unwrap_or(Error::Gradient {
                what: "a loop".to_string(),
                problem: "a value of its body is invalid".to_string(),
            }));
        };
        let extraction = Extraction {
            length: self.length,
            reverse: self.reverse,
            hoist: !state.keeps_in_loops,
            layer: Arc::from(state.path.join(".")),
            received,
            next: before.iter().copied().zip(after).collect(),
            stacked,
        };
        let made = extraction.run(&mut state.graph, &open);
        state.repeated = crate::time_invariance::RepeatedValues::default();
        let made = made.inspect_err(|error| {
            state.error.get_or_insert(error.clone());
        })?;
        state.in_bodies.extend(made.inside);
        drop(state);
        let var = |value: ValueId| tracer.var(value);
        let carried = before.iter().map(|v| var(made.lasts[v]));
        Ok(LoopResults {
            carried: carried.collect(),
            stacked: made.stacked.into_iter().map(var).collect(),
        })
    }
}

impl Drop for LoopTrace {
    fn drop(&mut self) {
        if !self.finished
            && let Ok(mut state) = self.tracer.state.try_borrow_mut()
            && let Some(open) = state.loops.pop()
        {
            state.graph.nodes.truncate(open.first);
            state.repeated = crate::time_invariance::RepeatedValues::default();
        }
    }
}

/// The move of traced nodes into the body of a loop.
struct Extraction {
    length: usize,
    reverse: bool,
    hoist: bool,
    layer: Arc<str>,
    received: ReceivedValues,
    /// The carried values that change, with their next values.
    next: Vec<(ValueId, ValueId)>,
    stacked: Vec<ValueId>,
}

/// What [`Extraction::run`] returns: the stacked results, and the last value of each carried value.
struct Extracted {
    stacked: Vec<ValueId>,
    lasts: HashMap<ValueId, ValueId>,
    /// The values of the body, which are no values of the graph any more.
    inside: Vec<ValueId>,
}

impl Extraction {
    fn run(mut self, graph: &mut Graph, open: &OpenLoop) -> Result<Extracted> {
        graph.forget_uses();
        let traced = graph.nodes.split_off(open.first);
        let mut inner: Vec<Node> = vec![];
        let mut outside = Outside::of(&self.received, self.length, self.reverse);
        for (k, mut node) in traced.into_iter().enumerate() {
            let k = open.first + k;
            if open.outside.iter().any(|range| range.contains(&k)) {
                for input in &mut node.inputs {
                    *input = outside.value(graph, &inner, *input, &node.layer)?;
                }
                graph.nodes.push(node);
            } else {
                outside
                    .inside
                    .extend(node.outputs.iter().map(|v| (*v, Some(inner.len()))));
                inner.push(node);
            }
        }
        if let Some(output) = graph
            .outputs
            .iter()
            .find(|o| outside.inside.contains_key(&o.value))
        {
            return Err(Error::Name {
                kind: "output",
                name: output.name.clone(),
                problem: "it is a value of the body of a loop; carry or stack the value, and output the result of the loop".to_string(),
            });
        }
        self.step_generators(graph, &mut inner, &mut outside)?;

        // A carried value that does not change is an invariant.
        self.next.retain(|(before, after)| before != after);
        let changes: HashMap<ValueId, ValueId> = self.next.iter().copied().collect();
        let (carried, fixed): (Vec<Received>, Vec<Received>) = self
            .received
            .carried
            .iter()
            .partition(|c| changes.contains_key(&c.inside));
        let fixed: HashMap<ValueId, ValueId> =
            fixed.iter().map(|c| (c.inside, c.outside)).collect();
        let resolve = |value: ValueId| fixed.get(&value).copied().unwrap_or(value);

        let mut body = BodyBuilder::new(graph);
        let mut operands = vec![];
        for (k, value) in carried.iter().enumerate() {
            body.input(format!("carried {k}"), InputKind::State, value.inside);
            operands.push(value.outside);
        }
        for (k, value) in self.received.sequences.iter().enumerate() {
            body.input(format!("sequence {k}"), InputKind::Data, value.inside);
            operands.push(value.outside);
        }
        let reads = inner.iter().flat_map(|node| node.inputs.iter().copied());
        let ends = self.next.iter().map(|(_, after)| *after);
        let mut seen = HashSet::new();
        for value in reads.chain(ends).chain(self.stacked.iter().copied()) {
            let value = resolve(value);
            if !outside.inside.contains_key(&value) && seen.insert(value) {
                body.input(
                    format!("invariant {}", seen.len() - 1),
                    InputKind::Parameter,
                    value,
                );
                operands.push(value);
            }
        }
        for node in inner {
            body.node(node, &resolve);
        }
        for (k, value) in carried.iter().enumerate() {
            let after = resolve(changes[&value.inside]);
            body.output(format!("carried {k}"), after, Some(value.inside));
        }
        for (k, value) in self.stacked.iter().enumerate() {
            body.output(format!("stacked {k}"), resolve(*value), None);
        }
        let at = |error: InvalidOp| error.at(&self.layer, "loop", &[]);
        let made = LoopBody::new(body.graph, carried.len(), self.received.sequences.len());
        let op = Loop {
            body: Arc::new(made.map_err(at)?),
            length: self.length,
            reverse: self.reverse,
            hoist: self.hoist,
        };
        let mut made = Extracted {
            stacked: vec![],
            lasts: fixed,
            inside: outside.inside.into_keys().collect(),
        };
        if carried.is_empty() && self.stacked.is_empty() {
            return Ok(made);
        }
        let results = graph.push(op, &operands, &self.layer)?;
        let (lasts, stacked) = results.split_at(carried.len());
        made.lasts
            .extend(carried.iter().map(|c| c.inside).zip(lasts.iter().copied()));
        made.stacked = stacked.to_vec();
        Ok(made)
    }

    /// Lets draws over time inside the body draw the numbers of their step: the generator's state becomes a
    /// sequence.
    fn step_generators(
        &mut self,
        graph: &mut Graph,
        inner: &mut Vec<Node>,
        outside: &mut Outside,
    ) -> Result<()> {
        let mut steps: HashMap<ValueId, ValueId> = HashMap::new();
        let mut first = vec![];
        for k in 0..inner.len() {
            if !Draw::of(&inner[k].op).is_some_and(|draw| draw.over_time) {
                continue;
            }
            let generator = inner[k].inputs[0];
            let state = match steps.get(&generator) {
                Some(state) => *state,
                None => {
                    let source = outside.value(graph, inner, generator, &self.layer)?;
                    let op = GeneratorSteps {
                        length: self.length,
                    };
                    let sequence = graph.push1(op, &[source], &self.layer)?;
                    let piece = TensorType::new(DType::I64, [1, GENERATOR_STATE]);
                    let piece = graph.add_value(piece);
                    self.received.sequences.push(Received {
                        inside: piece,
                        outside: sequence,
                    });
                    let shape = vec![GENERATOR_STATE];
                    let node =
                        graph.make_node(Reshape { shape }.into(), &[piece], &self.layer, false)?;
                    let state = node.outputs[0];
                    outside.inside.extend([(piece, None), (state, None)]);
                    first.push(node);
                    steps.insert(generator, state);
                    state
                }
            };
            inner[k].inputs[0] = state;
        }
        inner.splice(0..0, first);
        Ok(())
    }
}

/// The values of a body that are needed outside of it.
struct Outside {
    /// Each value of the body, with the node that computes it.
    inside: HashMap<ValueId, Option<usize>>,
    /// The values outside that stand for those of the body: of its first step.
    known: HashMap<ValueId, ValueId>,
    /// The sequences of the body: the piece of the first step is cut out when it is needed.
    sequences: HashMap<ValueId, (ValueId, usize)>,
}

impl Outside {
    fn of(received: &ReceivedValues, length: usize, reverse: bool) -> Self {
        let first = if reverse { length.saturating_sub(1) } else { 0 };
        let all = received.carried.iter().chain(&received.sequences);
        Self {
            inside: all.map(|value| (value.inside, None)).collect(),
            known: received
                .carried
                .iter()
                .map(|c| (c.inside, c.outside))
                .collect(),
            sequences: received
                .sequences
                .iter()
                .map(|s| (s.inside, (s.outside, first)))
                .collect(),
        }
    }

    /// The value outside that is `value` in the first step.
    fn value(
        &mut self,
        graph: &mut Graph,
        inner: &[Node],
        value: ValueId,
        layer: &Arc<str>,
    ) -> Result<ValueId> {
        let Some(&producer) = self.inside.get(&value) else {
            return Ok(value);
        };
        if let Some(&known) = self.known.get(&value) {
            return Ok(known);
        }
        if let Some(&(sequence, first)) = self.sequences.get(&value) {
            let size = graph.shape(value)[0];
            let op = Slice {
                axis: 0,
                start: first * size,
                end: (first + 1) * size,
            };
            let piece = graph.push1(op, &[sequence], layer)?;
            self.known.insert(value, piece);
            return Ok(piece);
        }
        let Some(producer) = producer else {
            return Ok(value);
        };
        let mut copy = inner[producer].clone();
        for input in &mut copy.inputs {
            *input = self.value(graph, inner, *input, layer)?;
        }
        let originals = copy.outputs.clone();
        for output in &mut copy.outputs {
            *output = graph.add_value(graph.ty(*output).clone());
        }
        self.known
            .extend(originals.into_iter().zip(copy.outputs.iter().copied()));
        graph.nodes.push(copy);
        Ok(self.known[&value])
    }
}

/// A graph built from the nodes of another.
struct BodyBuilder<'a> {
    outer: &'a Graph,
    graph: Graph,
    /// The values of the body by those of the outer graph.
    values: HashMap<ValueId, ValueId>,
}

impl<'a> BodyBuilder<'a> {
    fn new(outer: &'a Graph) -> Self {
        let mut graph = Graph::default();
        graph.disable_fusion = outer.disable_fusion;
        Self {
            graph,
            outer,
            values: HashMap::new(),
        }
    }

    fn add(&mut self, value: ValueId) -> ValueId {
        let made = self.graph.add_value(self.outer.ty(value).clone());
        self.values.insert(value, made);
        made
    }

    fn input(&mut self, name: String, kind: InputKind, value: ValueId) {
        let value = self.add(value);
        self.graph
            .inputs
            .push(crate::graph::Input { name, kind, value });
    }

    fn node(&mut self, mut node: Node, resolve: &dyn Fn(ValueId) -> ValueId) {
        for input in &mut node.inputs {
            *input = self.values[&resolve(*input)];
        }
        for output in &mut node.outputs {
            *output = self.add(*output);
        }
        self.graph.nodes.push(node);
    }

    fn output(&mut self, name: String, value: ValueId, updates: Option<ValueId>) {
        self.graph.outputs.push(Output {
            name,
            value: self.values[&value],
            updates: updates.map(|input| self.values[&input]),
        });
    }
}

impl fmt::Debug for LoopTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopTrace")
            .field("length", &self.length)
            .field("reverse", &self.reverse)
            .finish_non_exhaustive()
    }
}
