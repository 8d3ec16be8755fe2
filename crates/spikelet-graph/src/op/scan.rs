//! The neuron scan: a recurrence over time, independent for each element.

use super::{Operation, ScanGrad, map::expression_error, product};
use crate::backward::Backward;
use crate::error::{Error, InvalidOp, Result, mismatch};
use crate::graph::{Node, ValueId};
use crate::types::{ShapeText, TensorType, broadcast};
use spikelet_expr::{CompileError, Expr, Program, vjp};
use std::collections::HashSet;
use std::sync::Arc;

/// One output of a step.
#[derive(Clone, Debug)]
pub struct StepOutput {
    /// The name, such as `s`.
    pub name: String,
    /// The expression.
    pub value: Expr,
    /// Whether its values are 0 or 1 and can be stored as bits.
    pub binary: bool,
}

/// One time step as expressions: the outputs and the next states.
///
/// ```
/// use spikelet_expr::Expr;
/// use spikelet_graph::op::Recurrence;
/// let (v, x) = (Expr::symbol("v"), Expr::symbol("x"));
/// let sum = Recurrence::new("sum", ["x"], ["v"]).output("y", &v + &x, false).next(vec![v + x]);
/// assert_eq!(sum.step_gradients()[0].to_string(), "d_v + d_y");
/// ```
#[derive(Clone, Debug)]
pub struct Recurrence {
    /// The name in plans and kernels, such as `lif`.
    pub name: String,
    /// The symbols of the sequences.
    pub inputs: Vec<String>,
    /// The symbols of the states.
    pub states: Vec<String>,
    /// The symbols of the parameters, which are constant over time.
    pub params: Vec<String>,
    /// The outputs of a step.
    pub outputs: Vec<StepOutput>,
    /// The next value of each state.
    pub next: Vec<Expr>,
}

impl Recurrence {
    /// A recurrence over the named sequences and states, without outputs yet.
    pub fn new<'a>(
        name: &str,
        inputs: impl IntoIterator<Item = &'a str>,
        states: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let owned = |names: &mut dyn Iterator<Item = &'a str>| names.map(String::from).collect();
        Self {
            name: name.to_string(),
            inputs: owned(&mut inputs.into_iter()),
            states: owned(&mut states.into_iter()),
            params: vec![],
            outputs: vec![],
            next: vec![],
        }
    }

    /// Adds an output of each step.
    pub fn output(mut self, name: &str, value: Expr, binary: bool) -> Self {
        let name = name.to_string();
        self.outputs.push(StepOutput {
            name,
            value,
            binary,
        });
        self
    }

    /// Sets the next values of the states.
    pub fn next(mut self, next: Vec<Expr>) -> Self {
        self.next = next;
        self
    }

    /// Sets the names of the parameters.
    pub fn params<'a>(mut self, params: impl IntoIterator<Item = &'a str>) -> Self {
        self.params = params.into_iter().map(String::from).collect();
        self
    }

    /// Whether every parameter among a scan's operands is a scalar or has one value for each channel.
    pub fn params_by_channel(&self, inputs: &[TensorType]) -> bool {
        let params = &inputs[self.inputs.len() + self.states.len()..][..self.params.len()];
        let by_channel = |t: &TensorType| t.shape.iter().rev().skip(1).all(|&n| n == 1);
        params.iter().all(by_channel)
    }

    /// Whether a step computes elementary functions of values that change over time.
    pub fn needs_functions(&self) -> bool {
        let varies = |name: &str| !self.params.iter().any(|param| param == name);
        self.next.iter().any(|e| e.needs_function_of(&varies))
    }

    /// The symbol of dL/d`name` in the derived step.
    pub fn grad_name(name: &str) -> String {
        format!("d_{name}")
    }

    /// One step of the multi-step forward pass (FPTT). Uniform inputs: the parameters. Varying inputs:
    /// inputs, then states. Outputs: the selected outputs, then the next states.
    ///
    /// # Errors
    /// When an expression uses an unknown symbol.
    pub fn forward_program(&self, outputs: &[bool]) -> std::result::Result<Program, CompileError> {
        let chosen = self.outputs.iter().zip(outputs).filter(|(_, want)| **want);
        let mut values: Vec<Expr> = chosen.map(|(o, _)| o.value.clone()).collect();
        values.extend(self.next.iter().cloned());
        let step: Vec<&str> = self
            .inputs
            .iter()
            .chain(&self.states)
            .map(String::as_str)
            .collect();
        Program::compile(&values, &names(&self.params), &step)
    }

    /// dL/d(input, state before, parameter) of one step, given the adjoints of its outputs and
    /// next states as the symbols of [`Recurrence::grad_name`].
    pub fn step_gradients(&self) -> Vec<Expr> {
        let adjoint = |name: &str| Expr::symbol(Self::grad_name(name));
        let outputs = self
            .outputs
            .iter()
            .map(|o| (o.value.clone(), adjoint(&o.name)));
        let next = self.next.iter().zip(&self.states);
        let pairs: Vec<(Expr, Expr)> = outputs
            .chain(next.map(|(value, name)| (value.clone(), adjoint(name))))
            .collect();
        let wrt: Vec<&str> = [&self.inputs, &self.states, &self.params]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        vjp(&pairs, &wrt)
    }

    /// One step of the multi-step backward pass (BPTT). Uniform inputs: the parameters. Varying inputs:
    /// inputs, states before the step, adjoints of the present outputs, adjoints of the states after the
    /// step. Outputs: gradients of the selected inputs, of all states, of the selected parameters.
    ///
    /// # Errors
    /// As [`Recurrence::forward_program`].
    pub fn backward_program(
        &self,
        present: &[bool],
        wanted_inputs: &[bool],
        wanted_params: &[bool],
    ) -> std::result::Result<Program, CompileError> {
        let absent: Vec<String> = self
            .outputs
            .iter()
            .zip(present)
            .filter(|(_, here)| !**here)
            .map(|(o, _)| Self::grad_name(&o.name))
            .collect();
        let without = |name: &str| {
            absent
                .iter()
                .any(|a| a == name)
                .then(|| Expr::constant(0.0))
        };
        let all: Vec<Expr> = self
            .step_gradients()
            .iter()
            .map(|e| e.substitute(&without))
            .collect();
        let (inputs, rest) = all.split_at(self.inputs.len());
        let (states, params) = rest.split_at(self.states.len());
        let pick = |exprs: &[Expr], wanted: &[bool]| -> Vec<Expr> {
            let chosen = exprs.iter().zip(wanted).filter(|(_, want)| **want);
            chosen.map(|(e, _)| e.clone()).collect()
        };
        let values = [
            pick(inputs, wanted_inputs),
            states.to_vec(),
            pick(params, wanted_params),
        ]
        .concat();
        let mut step: Vec<String> = [self.inputs.clone(), self.states.clone()].concat();
        let here = self.outputs.iter().zip(present).filter(|(_, here)| **here);
        step.extend(here.map(|(o, _)| Self::grad_name(&o.name)));
        step.extend(self.states.iter().map(|s| Self::grad_name(s)));
        Program::compile(&values, &names(&self.params), &names(&step))
    }
}

fn names(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

/// Runs a [`Recurrence`] over axis 0.
///
/// Operands: the sequences `[T, …]` (or `[1, …]` for one that is constant over time), the
/// initial states and the parameters, both broadcast to `[…]`. Results: the output sequences
/// `[T, …]`, the last states `[…]`, the state sequences `[T, …]` (each state after each step).
/// Results that are not read are not computed.
///
/// All sequences have the same floating-point type. If it is f16 or bf16, the step computes in f32, and
/// initial states, parameters and last states are f32.
///
/// With a `checkpoint` every K steps there is one more result for each state: the state after the
/// steps K, 2K, … before the last, `[⌈T/K⌉ − 1, …]`, of the type of the states.
///
/// With a `pool` the output sequences are the maxima of blocks of neurons: `[T, …, H/h, W/w, C]`
/// for steps `[…, H, W, C]`. States are not pooled.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The step.
    pub recurrence: Arc<Recurrence>,
    /// The number of steps.
    pub time_steps: usize,
    /// The number of steps between checkpoints of the states for the backward pass: from 1 to one less
    /// than the number of time steps.
    pub checkpoint: Option<usize>,
    /// Height and width of the pooled blocks; only spikes are pooled.
    pub pool: Option<[usize; 2]>,
}

impl Scan {
    /// A scan without checkpoints and pooling.
    pub fn new(recurrence: Arc<Recurrence>, time_steps: usize) -> Self {
        Self {
            recurrence,
            time_steps,
            checkpoint: None,
            pool: None,
        }
    }

    /// The index of the first result with checkpoints: there is one result for each state, if
    /// `checkpoint` is set.
    pub fn first_checkpoint(&self) -> usize {
        self.recurrence.outputs.len() + 2 * self.recurrence.states.len()
    }

    /// The type of the checkpoints of a state.
    pub(crate) fn checkpoint_type(&self, inputs: &[TensorType], every: usize) -> TensorType {
        checkpoint_type(inputs, self.time_steps, every)
    }

    /// The shape of one time step.
    pub fn step_shape(inputs: &[TensorType]) -> &[usize] {
        &inputs[0].shape[1..]
    }
}

/// Checks the sequences, states and parameters of a recurrence over `time_steps` steps; operands after
/// them are not checked.
pub(super) fn check_operands(
    r: &Recurrence,
    time_steps: usize,
    inputs: &[TensorType],
) -> std::result::Result<(), InvalidOp> {
    if time_steps == 0 {
        return Err(InvalidOp::new(
            "no time steps",
            "pass sequences [T, N, ...] of at least one step",
        ));
    }
    if r.inputs.is_empty() || r.next.len() != r.states.len() {
        return Err(InvalidOp::new(
            format!(
                "{} sequences, {} states of which {} have a next value",
                r.inputs.len(),
                r.states.len(),
                r.next.len()
            ),
            "pass at least one sequence, and define the next value of each state",
        ));
    }
    // Their gradients would be the same symbol.
    let symbols = [&r.inputs, &r.states, &r.params];
    let mut names = HashSet::new();
    if let Some(name) = symbols
        .iter()
        .copied()
        .flatten()
        .find(|name| !names.insert(*name))
    {
        return Err(InvalidOp::new(
            format!("two of its inputs, states and parameters have the name `{name}`"),
            "give each a name of its own",
        ));
    }
    let taken = |o: &&StepOutput| symbols.iter().any(|names| names.contains(&o.name));
    if let Some(output) = r.outputs.iter().find(taken) {
        return Err(InvalidOp::new(
            format!(
                "its output `{}` has the name of an input, a state or a parameter",
                output.name
            ),
            "give outputs names of their own",
        ));
    }
    let first = &inputs[0];
    let (sequences, held) = inputs.split_at(r.inputs.len());
    let held = &held[..r.states.len() + r.params.len()];
    let state = first.dtype.arithmetic();
    if !first.dtype.is_float()
        || sequences.iter().any(|t| t.dtype != first.dtype)
        || held.iter().any(|t| t.dtype != state)
    {
        return Err(InvalidOp::new(
            "sequences, states and parameters differ in element type",
            "use one floating-point type; states and parameters of f16 and bf16 sequences are f32",
        ));
    }
    if first.shape.len() < 2 {
        return Err(InvalidOp::new(
            "a sequence has fewer than two axes",
            "make the input [T, N, ...]",
        ));
    }
    let step = &first.shape[1..];
    for x in sequences {
        let time = x.shape.first().copied().unwrap_or(0);
        if (time != 1 && time != time_steps) || x.shape[1..] != *step {
            let mut expected = vec![time_steps];
            expected.extend(step);
            return Err(mismatch(
                "the shapes of the sequences differ",
                &x.shape,
                &expected,
                "make all sequences [T, N, ...]",
            ));
        }
    }
    for other in held {
        if broadcast(&other.shape, step).as_deref() != Some(step) {
            return Err(mismatch(
                "a state or parameter does not broadcast to one time step",
                &other.shape,
                step,
                "axes must be equal or 1, counted from the last",
            ));
        }
    }
    Ok(())
}

/// The shape of a time step after pooling.
pub(super) fn pooled_shape(
    step: &[usize],
    pool: Option<[usize; 2]>,
) -> std::result::Result<Vec<usize>, InvalidOp> {
    let mut shape = step.to_vec();
    if let Some([h, w]) = pool {
        let rank = step.len();
        let fits = rank >= 3
            && h > 0
            && w > 0
            && step[rank - 3].is_multiple_of(h)
            && step[rank - 2].is_multiple_of(w);
        if !fits {
            return Err(InvalidOp::new(
                format!(
                    "blocks of {h}×{w} neurons do not cover a step of {}",
                    ShapeText(step)
                ),
                "pool steps [.., height, width, channels] that are multiples of the block",
            ));
        }
        shape[rank - 3] /= h;
        shape[rank - 2] /= w;
    }
    Ok(shape)
}

pub(super) fn pool_text(pool: Option<[usize; 2]>) -> String {
    pool.map_or(String::new(), |[h, w]| format!(", pooled {h}×{w}"))
}

pub(super) fn checkpoint_type(
    inputs: &[TensorType],
    time_steps: usize,
    every: usize,
) -> TensorType {
    let mut shape = vec![time_steps.div_ceil(every.max(1)).saturating_sub(1)];
    shape.extend(Scan::step_shape(inputs));
    TensorType::new(inputs[0].dtype.arithmetic(), shape)
}

/// Checks the number of steps between checkpoints.
pub(super) fn check_checkpoints(
    time_steps: usize,
    every: usize,
) -> std::result::Result<(), InvalidOp> {
    if (1..time_steps).contains(&every) {
        return Ok(());
    }
    Err(InvalidOp::new(
        format!("cannot store checkpoints every {every} of {time_steps} steps"),
        "use at least 1 and less than the number of time steps",
    ))
}

/// `, checkpoint every 10`
pub(super) fn checkpoint_text(checkpoint: Option<usize>) -> String {
    checkpoint.map_or(String::new(), |every| format!(", checkpoint every {every}"))
}

impl Operation for Scan {
    fn name(&self) -> String {
        self.recurrence.name.clone()
    }

    fn describe(&self) -> String {
        let (kept, pool) = (checkpoint_text(self.checkpoint), pool_text(self.pool));
        format!(
            "scan[{}, T={}{pool}{kept}]",
            self.recurrence.name, self.time_steps
        )
    }

    fn outputs(&self, _: usize) -> usize {
        let kept = self.checkpoint.map_or(0, |_| self.recurrence.states.len());
        self.first_checkpoint() + kept
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let r = &self.recurrence;
        super::arity(inputs, r.inputs.len() + r.states.len() + r.params.len())?;
        check_operands(r, self.time_steps, inputs)?;
        let (first, step) = (&inputs[0], Self::step_shape(inputs));
        let state = first.dtype.arithmetic();
        let last = TensorType::new(state, step);
        let sequence = |step: &[usize]| {
            let mut whole = vec![self.time_steps];
            whole.extend(step);
            TensorType::new(first.dtype, whole)
        };
        if self.pool.is_some() && r.outputs.iter().any(|o| !o.binary) {
            return Err(InvalidOp::new(
                "pools outputs that are not spikes",
                "pool them by a separate operation",
            ));
        }
        let whole = sequence(step);
        let mut made = vec![sequence(&pooled_shape(step, self.pool)?); r.outputs.len()];
        made.extend(vec![last; r.states.len()]);
        made.extend(vec![whole; r.states.len()]);
        if let Some(every) = self.checkpoint {
            check_checkpoints(self.time_steps, every)?;
            let kept = self.checkpoint_type(inputs, every);
            made.extend(vec![kept; r.states.len()]);
        }
        Ok(made)
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let r = &self.recurrence;
        r.forward_program(&vec![true; r.outputs.len()])
            .map_err(|source| expression_error(&node.layer, &self.name(), source))?;
        let (grads, of_kept) = b.grads.split_at(self.first_checkpoint());
        if of_kept.iter().any(Option::is_some) {
            return Err(Error::Gradient {
                what: self.name(),
                problem: "checkpoints have no gradient; read the state sequence instead"
                    .to_string(),
            });
        }
        let present: Vec<bool> = grads.iter().map(Option::is_some).collect();
        if !present.contains(&true) {
            return Ok(vec![None; node.inputs.len()]);
        }
        let mut operands = node.inputs.clone();
        operands.extend(b.grads.iter().flatten());
        let op = ScanGrad {
            present,
            pool: self.pool,
            ..ScanGrad::new(r.clone(), self.time_steps)
        };
        let made = b.push(op, &operands)?;
        let mut grads = vec![];
        for (k, &value) in made.iter().enumerate() {
            grads.push(if b.wanted[k] {
                Some(b.sum_to_shape_of(value, node.inputs[k])?)
            } else {
                None
            });
        }
        Ok(grads)
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        let r = &self.recurrence;
        let program = r.forward_program(&vec![true; r.outputs.len()]);
        let operations = program.map_or(0, |p| p.operations());
        let elements = Self::step_shape(inputs).iter().copied();
        product([operations, self.time_steps].into_iter().chain(elements))
    }
}
