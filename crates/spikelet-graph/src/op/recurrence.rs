//! One time step of a neuron, and its derivative.

use crate::error::{InvalidOp, invalid};
use spikelet_expr::{CompileError, Expr, Program, vjp};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

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
#[derive(Clone, Debug, Default)]
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
    operations: OperationCounts,
}

/// The scalar operations of the programs of a recurrence, counted once for each: by whether it is the backward one, and the
/// outputs that it computes or whose gradients it reads. A clone, which may be changed, counts again.
#[derive(Debug, Default)]
struct OperationCounts(Mutex<HashMap<(bool, Vec<bool>), usize>>);

impl Clone for OperationCounts {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl OperationCounts {
    /// 0 for a program with an unknown symbol.
    fn get(
        &self,
        backward: bool,
        outputs: &[bool],
        compile: impl FnOnce() -> std::result::Result<Program, CompileError>,
    ) -> usize {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((backward, outputs.to_vec()));
        *count.or_insert_with(|| compile().map_or(0, |program| program.operations()))
    }
}

/// Two recurrences are equal if they are one object: their expressions are not compared.
impl PartialEq for Recurrence {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
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
            operations: OperationCounts::default(),
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

    /// The results of a scan: the output sequences, the last states, and then the state sequences.
    pub fn split_results<'a, T>(&self, results: &'a [T]) -> [&'a [T]; 3] {
        let (outputs, states) = results.split_at(self.outputs.len());
        let (last, state_seqs) = states.split_at(self.states.len());
        [outputs, last, state_seqs]
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

    /// Scalar operations of [`Recurrence::forward_program`].
    pub(super) fn forward_operations(&self, outputs: &[bool]) -> usize {
        let compile = || self.forward_program(outputs);
        self.operations.get(false, outputs, compile)
    }

    /// Scalar operations of [`Recurrence::backward_program`] with all gradients.
    pub(super) fn backward_operations(&self, present: &[bool]) -> usize {
        let (inputs, params) = (vec![true; self.inputs.len()], vec![true; self.params.len()]);
        let compile = || self.backward_program(present, &inputs, &params);
        self.operations.get(true, present, compile)
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

    /// The derived step of the multi-step backward pass (BPTT): the gradients of the wanted inputs, of all
    /// states before the step, and of the wanted parameters. They are functions of the step's symbols and of the
    /// adjoints of the present outputs and of all states after the step; the adjoint of an absent output is 0.
    pub fn backward_step(
        &self,
        present: &[bool],
        inputs: &[bool],
        params: &[bool],
    ) -> [Vec<Expr>; 3] {
        let outputs = self.outputs.iter().zip(present);
        let absent = outputs.filter(|(_, here)| !**here);
        let absent: Vec<String> = absent.map(|(o, _)| Self::grad_name(&o.name)).collect();
        let zero = |name: &str| {
            let is_absent = absent.iter().any(|absent| absent == name);
            is_absent.then(|| Expr::constant(0.0))
        };
        let all = self.step_gradients();
        let mut all = all.iter().map(|e| e.substitute(&zero));
        let mut pick = |wanted: &[bool]| -> Vec<Expr> {
            let chosen = wanted.iter().zip(all.by_ref());
            chosen.filter(|(want, _)| **want).map(|(_, e)| e).collect()
        };
        let every = vec![true; self.states.len()];
        [pick(inputs), pick(&every), pick(params)]
    }

    /// [`Recurrence::backward_step`] as a program. Uniform inputs: the parameters. Varying inputs: inputs, states
    /// before the step, adjoints of the present outputs, adjoints of the states after the step.
    ///
    /// # Errors
    /// As [`Recurrence::forward_program`].
    pub fn backward_program(
        &self,
        present: &[bool],
        inputs: &[bool],
        params: &[bool],
    ) -> std::result::Result<Program, CompileError> {
        let values = self.backward_step(present, inputs, params).concat();
        let mut step: Vec<String> = [self.inputs.clone(), self.states.clone()].concat();
        let here = self.outputs.iter().zip(present).filter(|(_, here)| **here);
        step.extend(here.map(|(o, _)| Self::grad_name(&o.name)));
        step.extend(self.states.iter().map(|s| Self::grad_name(s)));
        Program::compile(&values, &names(&self.params), &names(&step))
    }

    /// Checks the symbols and the number of steps.
    pub(super) fn check(&self, time_steps: usize) -> std::result::Result<(), InvalidOp> {
        if time_steps == 0 {
            return invalid!("no time steps"; "pass sequences [T, N, ...] of at least one step");
        }
        if self.inputs.is_empty() || self.next.len() != self.states.len() {
            return invalid!("{} sequences, {} states of which {} have a next value",
                self.inputs.len(), self.states.len(), self.next.len();
                "pass at least one sequence, and define the next value of each state");
        }
        // Their gradients would be the same symbol.
        let symbols = [&self.inputs, &self.states, &self.params];
        let mut names = HashSet::new();
        let mut all = symbols.iter().copied().flatten();
        if let Some(name) = all.find(|name| !names.insert(*name)) {
            return invalid!("two of its inputs, states and parameters have the name `{name}`";
                "give each a name of its own");
        }
        let taken = |o: &&StepOutput| symbols.iter().any(|names| names.contains(&o.name));
        if let Some(output) = self.outputs.iter().find(taken) {
            return invalid!("its output `{}` has the name of an input, a state or a parameter",
                output.name;
                "give outputs names of their own");
        }
        Ok(())
    }
}

fn names(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}
