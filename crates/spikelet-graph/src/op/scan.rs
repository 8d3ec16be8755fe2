//! The neuron scan: a recurrence over time, independent for each element, or with feedback through a weight.

use super::{
    MatMul, MatmulPrecision, Op, Operation, Port, Ports, Recurrence, ScanGrad, Slice,
    map::expression_error, product,
};
use crate::backward::Backward;
use crate::error::{Error, InvalidOp, Result};
use crate::graph::{Node, ValueId};
use crate::semantics::{Class, Join, Kind, Role, Semantics, Storage, aligned};
use crate::text::Text;
use crate::types::TensorType;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs a [`Recurrence`] over axis 0.
///
/// Operands: the sequences `[T, …]` (or `[1, …]` for one that is constant over time), the
/// initial states and the parameters, both broadcast to `[…]`. Results: the output sequences
/// `[T, …]`, the last states `[…]`, the state sequences `[T, …]` (each state after each step).
/// Results that are not read are not computed. [`Ports`] has their places.
///
/// All sequences have the same floating-point type. If it is f16 or bf16, the step computes in f32, and
/// initial states, parameters and last states are f32.
///
/// With a `checkpoint` every K steps there is one more result for each state: the state after the
/// steps K, 2K, … before the last, `[⌈T/K⌉ − 1, …]`, of the type of the states.
///
/// With a `pool` the output sequences are the maxima of blocks of neurons: `[T, …, H/h, W/w, C]`
/// for steps `[…, H, W, C]`. States are not pooled.
///
/// With [`Feedback`] spikes reach the neurons of the next step through a weight matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// Which scan it is.
    pub id: ScanId,
    /// The step.
    pub recurrence: Arc<Recurrence>,
    /// The number of steps.
    pub time_steps: usize,
    /// The number of steps between checkpoints of the states for the backward pass: from 1 to one less
    /// than the number of time steps.
    pub checkpoint: Option<usize>,
    /// Height and width of the pooled blocks; only spikes are pooled.
    pub pool: Option<[usize; 2]>,
    /// The state that is fed back. Such a scan has neither a pool nor checkpoints.
    pub feedback: Option<Feedback>,
}

/// Which scan of a graph an operation is, or is the backward pass of. Scans with one id compute the same values: a
/// pass that recomputes a scan keeps the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScanId {
    traced: u64,
    part: usize,
}

impl ScanId {
    /// The id of the whole scan, and of which part of it this one is.
    pub(crate) fn whole_and_part(self) -> (Self, usize) {
        (Self { part: 0, ..self }, self.part)
    }

    /// The id of a part by its number.
    pub(crate) fn with_part(self, part: usize) -> Self {
        Self { part, ..self }
    }

    /// An id that no other scan of the process has.
    #[allow(clippy::new_without_default, reason = "two of them are never equal")]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            traced: NEXT.fetch_add(1, Ordering::Relaxed),
            part: 0,
        }
    }

    /// The id of a part of the scan, which is one of `count` in place of the whole.
    pub(crate) fn part(self, index: usize, count: usize) -> Self {
        Self {
            part: self.part * count + index,
            ..self
        }
    }
}

/// The feedback of a [`Scan`]: the step reads `x[t] + s[t−1]·Wᵀ` in place of its first sequence `x`, where the state
/// `s` holds the spikes of the step before.
///
/// The scan has two more operands: the product of the initial `s`, which need not be spikes, with `Wᵀ` (of the shape
/// of a step and the type of the states), and `W`, `[N, N]` for steps `[…, N]`, of the type of the sequences. No
/// sequence is constant over time.
///
/// State sequences have the type of the states. There are two more results: the driven input `x[t] + s[t−1]·Wᵀ` of
/// that type, and the spikes before each step, `[T, …]` of the type of the sequences, which are 0 before the first.
///
/// ```
/// use spikelet_expr::Expr;
/// use spikelet_graph::op::{Feedback, Port, Ports, Recurrence, Scan};
/// let (v, x) = (Expr::symbol("v"), Expr::symbol("x"));
/// let h = v * 0.5 + x;
/// let s = h.ge(1.0);
/// let lif = Recurrence::new("lif", ["x"], ["v", "s"])
///     .output("y", s.clone(), true)
///     .next(vec![&h - &s, s]);
/// let scan = Scan::new(lif.into(), 250).feed_back(Feedback::of(1));
/// assert_eq!(scan.operand(Port::Weight), Some(4));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Feedback {
    /// The index of the state that is fed back; its next value is a binary output.
    pub state: usize,
    /// The precision of f32 products with the weight.
    pub precision: MatmulPrecision,
    /// Whether the scan is a part of a longer one: the initial `s` are then the spikes of the step before, of
    /// which it computes the product itself, with the bits that the longer scan has. They are the spikes before
    /// the first step, and the operand with their product is not read.
    pub continues: bool,
    /// Whether the product has no gradient with respect to the spikes: what remains is the gradient through the states
    /// of each neuron.
    pub local_gradient: bool,
}

impl Feedback {
    fn text(&mut self, t: &mut Text<'_>, states: &[String]) {
        let states: Vec<(&str, usize)> = states.iter().map(String::as_str).zip(0..).collect();
        t.word(", feeds ").one_of(&mut self.state, &states);
        self.precision.text(t);
        t.flag(&mut self.local_gradient, ", local gradient")
            .flag(&mut self.continues, ", continues");
    }

    /// The feedback of a state, in full precision.
    pub fn of(state: usize) -> Self {
        Self {
            state,
            precision: MatmulPrecision::Full,
            continues: false,
            local_gradient: false,
        }
    }

    /// Whether the state may be fed back: its next value is a binary output.
    pub fn feeds_spikes(recurrence: &Recurrence, state: usize) -> bool {
        let Some(next) = recurrence.next.get(state) else {
            return false;
        };
        let mut outputs = recurrence.outputs.iter();
        outputs.any(|o| o.binary && o.value.same_value(next))
    }
}

/// The ports of each state or other part of a recurrence.
pub(super) fn each(port: fn(usize) -> Port, count: usize) -> impl Iterator<Item = Port> {
    (0..count).map(port)
}

impl Ports for Scan {
    fn operands(&self) -> Vec<Port> {
        let r = &self.recurrence;
        let mut ports: Vec<Port> = each(Port::Sequence, r.inputs.len()).collect();
        ports.extend(each(Port::Initial, r.states.len()));
        ports.extend(each(Port::Param, r.params.len()));
        if self.feedback.is_some() {
            ports.extend([Port::FirstProduct, Port::Weight]);
        }
        ports
    }

    fn results(&self) -> Vec<Port> {
        let states = self.recurrence.states.len();
        let mut ports: Vec<Port> = each(Port::Output, self.recurrence.outputs.len()).collect();
        ports.extend(each(Port::Last, states));
        ports.extend(each(Port::StateSeq, states));
        if self.feedback.is_some() {
            ports.extend([Port::Driven, Port::Before]);
        }
        if self.checkpoint.is_some() {
            ports.extend(each(Port::Checkpoint, states));
        }
        ports
    }

    fn scan(&self) -> &Scan {
        self
    }
}

impl Default for Scan {
    fn default() -> Self {
        Self::new(Arc::default(), 0)
    }
}

impl Scan {
    /// A scan without checkpoints, pooling and feedback.
    pub fn new(recurrence: Arc<Recurrence>, time_steps: usize) -> Self {
        Self {
            id: ScanId::new(),
            recurrence,
            time_steps,
            checkpoint: None,
            pool: None,
            feedback: None,
        }
    }

    /// Sets the feedback.
    pub fn feed_back(self, feedback: Feedback) -> Self {
        let feedback = Some(feedback);
        Self { feedback, ..self }
    }

    /// The shape of one time step.
    pub fn step_shape(inputs: &[TensorType]) -> &[usize] {
        &inputs[0].shape[1..]
    }

    /// `recurrent_scan[lif #0, T=50, feeds s`: the name, then what the backward scan has too.
    pub(super) fn settings(&mut self, t: &mut Text<'_>, name: &str) {
        let mut feeds_back = self.feedback.is_some();
        t.flag(&mut feeds_back, "recurrent_").word(name);
        let number = t.step(&mut self.recurrence);
        t.scan(&mut self.id, number)
            .word(", T=")
            .value(&mut self.time_steps);
        self.feedback = feeds_back.then(|| self.feedback.take().unwrap_or(Feedback::of(0)));
        if let Some(feedback) = &mut self.feedback {
            feedback.text(t, &self.recurrence.states);
        }
        t.optional(&mut self.pool, ", pooled ", Text::size);
        t.optional(&mut self.checkpoint, ", checkpoint every ", Text::value);
    }

    /// The operations of a program of each step, and of the products with the weight.
    pub(super) fn flops_of(&self, each_step: usize, inputs: &[TensorType]) -> u64 {
        let elements = Self::step_shape(inputs).iter().copied();
        let steps = product([each_step, self.time_steps].into_iter().chain(elements));
        let Some(features) = self.feedback.as_ref().and(inputs[0].shape.last()) else {
            return steps;
        };
        let products = [2, *features].into_iter().chain(inputs[0].shape.clone());
        steps.saturating_add(product(products))
    }

    /// The gradients of the operands but the weight.
    fn gradients(
        &self,
        b: &mut Backward<'_>,
        node: &Node,
        present: Vec<Port>,
    ) -> Result<Vec<(Port, ValueId)>> {
        let op = ScanGrad::new(self.clone(), present);
        let mut operands = vec![];
        for port in op.operands() {
            operands.push(self.value(b, node, port));
        }
        Ok(op
            .results()
            .into_iter()
            .zip(b.push(op, &operands)?)
            .collect())
    }

    /// As [`Self::gradients`], through the states alone: those of a scan without feedback over the driven input.
    fn local_gradients(
        &self,
        b: &mut Backward<'_>,
        node: &Node,
        present: Vec<Port>,
    ) -> Result<Vec<(Port, ValueId)>> {
        let op = ScanGrad::new(Self::new(self.recurrence.clone(), self.time_steps), present);
        let driven = self.value(b, node, Port::Driven);
        let mut operands = vec![];
        for port in op.operands() {
            operands.push(match port {
                Port::Sequence(0) => driven,
                Port::Initial(_) | Port::Param(_) => self.value(b, node, port),
                // The driven input has all bits: so have the sequences beside it.
                _ => {
                    let value = self.value(b, node, port);
                    b.cast_as(value, driven)?
                }
            });
        }
        let (results, dx) = (op.results(), op.writes(Port::Sequence(0)));
        let made = b.push(op, &operands)?;
        let dx = made[dx];
        let mut made: Vec<(Port, ValueId)> = results.into_iter().zip(made).collect();
        let at = self.reads(Port::FirstProduct);
        let continues = self.feedback.as_ref().is_some_and(|f| f.continues);
        if b.wanted[at] && !continues {
            let first = Slice {
                axis: 0,
                start: 0,
                end: 1,
            };
            let first = b.push1(first, &[dx])?;
            made.push((Port::FirstProduct, b.reshape_as(first, node.inputs[at])?));
        }
        for (port, value) in &mut made {
            if matches!(port, Port::Sequence(_)) {
                *value = b.cast_as(*value, node.inputs[self.reads(*port)])?;
            }
        }
        Ok(made)
    }

    /// A value of this scan, or the gradient of one of its results, for its backward pass.
    fn value(&self, b: &Backward<'_>, node: &Node, port: Port) -> ValueId {
        if let Some(at) = self.operand(port) {
            return node.inputs[at];
        }
        if let Some(at) = self.result(port) {
            return node.outputs[at];
        }
        let mut grads = self.results().into_iter().zip(&b.grads);
        let grad = grads.find_map(|(result, grad)| grad.filter(|_| result.grad() == Some(port)));
        grad.expect("a backward scan reads values of its scan and gradients that are present")
    }
}

/// The axes of a scan or of its backward pass: time, where each iteration is a step, and those of a step. The results
/// that do not have time are joined by `join`.
pub(super) fn scan_semantics(
    op: &dyn Ports,
    time: Option<Role>,
    join: impl Fn(Port) -> Join,
    (inputs, outputs): (&[TensorType], &[TensorType]),
) -> Semantics {
    let scan = op.scan();
    let mut s = Semantics::new(inputs, outputs);
    if let Some(role) = time {
        // A sequence of one step is the same at every step.
        let sequences = op.operands_that(&Port::is_sequence).into_iter();
        let changing = sequences.filter(|k| inputs[*k].shape[0] == scan.time_steps);
        let whole = op.results_that(&Port::is_sequence).into_iter();
        let [changing, whole] = [changing.collect::<Vec<_>>(), whole.collect()];
        let first = |all: Vec<usize>| all.into_iter().map(|k| (k, 0));
        s.axis(role, scan.time_steps, first(changing), first(whole));
        s.joins = op.results().into_iter().map(join).collect();
    }
    let step = op.step(inputs).shape;
    let weight = op.operand(Port::Weight);
    // Neurons feed back to each other.
    let parallel = step.len() - usize::from(scan.feedback.is_some());
    for (k, &length) in step.iter().enumerate().take(parallel) {
        let block = match scan.pool {
            Some([h, _]) if k + 3 == step.len() => h,
            Some([_, w]) if k + 2 == step.len() => w,
            _ => 1,
        };
        let places = |all: &[TensorType], without: Option<usize>| -> Vec<(usize, usize)> {
            let place = |(at, ty): (usize, &TensorType)| {
                let own = |length| aligned(&ty.shape, step.len(), k, length);
                Some((at, own(length).or_else(|| own(length / block))?))
            };
            let all = all.iter().enumerate();
            let all = all.filter(|(at, _)| without != Some(*at));
            all.filter_map(place).collect()
        };
        let (operands, results) = (places(inputs, weight), places(outputs, None));
        let role = match results.len() == outputs.len() {
            true => Role::Parallel,
            false => Role::Reduced,
        };
        s.axis(role, length / block, operands, results);
    }
    s
}

impl Operation for Scan {
    fn kind(&self) -> Kind {
        Kind::new("scan", Class::Recurrence).stored(Storage::Sequences)
    }

    fn name(&self) -> String {
        let prefix = self.feedback.as_ref().map_or("", |_| "recurrent_");
        format!("{prefix}{}", self.recurrence.name)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        self.settings(t, "scan[");
        t.word("]");
    }

    fn outputs(&self, _: usize) -> usize {
        self.results().len()
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let operands = self.operands();
        super::arity(inputs, operands.len())?;
        self.recurrence.check(self.time_steps)?;
        let step = self.step(inputs);
        self.check_step(&step)?;
        for (port, ty) in operands.into_iter().zip(inputs) {
            self.check(port, ty, &step)?;
        }
        let results = self.results().into_iter();
        Ok(results.map(|port| self.ty(port, &step)).collect())
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let r = &self.recurrence;
        r.forward_program(&vec![true; r.outputs.len()])
            .map_err(|source| expression_error(&node.layer, &self.name(), source))?;
        let mut present = vec![];
        for (port, grad) in self.results().into_iter().zip(&b.grads) {
            if grad.is_some() {
                present.push(port.grad().ok_or_else(|| Error::Gradient {
                    what: self.name(),
                    problem: format!(
                        "{} has no gradient; read the state sequences instead",
                        port.what()
                    ),
                })?);
            }
        }
        if present.is_empty() {
            return Ok(vec![None; node.inputs.len()]);
        }
        let feedback = self.feedback.as_ref();
        let made = match feedback.is_some_and(|feedback| feedback.local_gradient) {
            true => self.local_gradients(b, node, present)?,
            false => self.gradients(b, node, present)?,
        };
        let made = |port: Port| made.iter().find(|(of, _)| *of == port).map(|(_, v)| *v);
        let mut grads = vec![];
        for (k, port) in self.operands().into_iter().enumerate() {
            grads.push(match port {
                _ if !b.wanted[k] => None,
                Port::FirstProduct if feedback.is_some_and(|feedback| feedback.continues) => None,
                // dW = Σ dL/dx[t]ᵀ·s[t−1], one product over all steps and samples.
                Port::Weight => {
                    let product = MatMul {
                        precision: feedback.map_or(MatmulPrecision::Full, |f| f.precision),
                        ..MatMul::new(true, false)
                    };
                    let before = self.value(b, node, Port::Before);
                    let dx = made(Port::Sequence(0));
                    let dx = dx.expect("the gradient of the first sequence is made");
                    Some(b.push1(product, &[dx, before])?)
                }
                port => match made(port) {
                    Some(value) => Some(b.sum_to_shape_of(value, node.inputs[k])?),
                    None => None,
                },
            });
        }
        Ok(grads)
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let forward = Role::Carried { reverse: false };
        let join = |port| match port {
            Port::Checkpoint(_) => Join::Never,
            _ => Join::Last,
        };
        let mut s = scan_semantics(self, Some(forward), join, (inputs, outputs));
        let states = 0..self.recurrence.states.len();
        s.carries = states
            .map(|k| (self.writes(Port::Last(k)), self.reads(Port::Initial(k))))
            .collect();
        s
    }

    fn resized(&self, axis: usize, range: &Range<usize>, _: &[TensorType]) -> Option<Op> {
        let mut part = self.clone();
        part.id = self.id.part(range.start, self.time_steps);
        part.time_steps = range.len();
        part.checkpoint = None;
        if let Some(feedback) = &mut part.feedback {
            feedback.continues |= range.start > 0;
        }
        (axis == 0).then(|| part.into())
    }

    fn is_binary(&self, result: usize) -> bool {
        match self.results()[result] {
            Port::Output(k) => self.recurrence.outputs[k].binary,
            port => port == Port::Before,
        }
    }

    fn precision_mut(&mut self) -> Option<&mut MatmulPrecision> {
        let feedback = self.feedback.as_mut();
        feedback.map(|feedback| &mut feedback.precision)
    }

    fn recurrent_steps(&self) -> Option<usize> {
        self.feedback.as_ref().map(|_| self.time_steps)
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        let r = &self.recurrence;
        let operations = r.forward_operations(&vec![true; r.outputs.len()]);
        self.flops_of(operations, inputs)
    }
}
