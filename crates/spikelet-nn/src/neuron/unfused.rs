//! A neuron without fusion: charge, fire and reset are separate elementwise kernels at every time
//! step.

use super::Neuron;
use super::step::{CHARGED, FIRED, parts};
use crate::DefinitionError;
use crate::module::StepOutputs;
use spikelet_expr::{Expr, Node};
use spikelet_graph::op::{Map, Recurrence};
use spikelet_graph::{DType, Var, broadcast};

/// The values by their symbols in a step.
pub(super) fn named<'a>(names: &'a [String], values: &[Var]) -> Vec<(&'a str, Var)> {
    let names = names.iter().map(String::as_str);
    names.zip(values.iter().cloned()).collect()
}

/// Runs a neuron over the sequences of its step. The results are those of a scan: the output,
/// each state after the last step, each state after each step.
///
/// # Errors
/// When the neuron's definition is wrong.
pub(super) fn forward(
    neuron: &dyn Neuron,
    step: &Recurrence,
    sequences: &[Var],
    states: &[Var],
    params: &[Var],
) -> Result<Vec<Var>, DefinitionError> {
    let parts = parts(neuron)?;
    let shape = sequences[0].shape()[1..].to_vec();
    let stored = sequences[0].ty().dtype;
    let mut now = states.to_vec();
    let mut made = vec![vec![]; 1 + states.len()];
    for t in 0..sequences[0].dim(0) {
        let inputs: Vec<Var> = (sequences.iter())
            .map(|x| match x.dim(0) {
                1 => x.reshape(&shape[..]),
                _ => x.slice(0, t..t + 1).reshape(&shape[..]),
            })
            .collect();
        let mut known = named(&step.inputs, &inputs);
        known.extend(named(&step.states, &now));
        known.extend(named(&step.params, params));
        let charge = std::slice::from_ref(&parts.charge);
        let h = kernel(charge, &known, stored.arithmetic()).swap_remove(0);
        known.push((CHARGED, h));
        let fire = std::slice::from_ref(&parts.fire);
        let s = kernel(fire, &known, stored).swap_remove(0);
        known.push((FIRED, s.clone()));
        let out = match parts.output.node() {
            Node::Symbol(name) if **name == *FIRED => s,
            _ => {
                let output = std::slice::from_ref(&parts.output);
                kernel(output, &known, stored).swap_remove(0)
            }
        };
        now = kernel(&parts.next, &known, stored.arithmetic());
        now.iter_mut().for_each(|v| *v = v.expand(&shape[..]));
        let out = out.expand(&shape[..]);
        for (sequence, value) in made.iter_mut().zip(std::iter::once(&out).chain(&now)) {
            sequence.push(one_step(value));
        }
    }
    let mut made = made.into_iter().map(|steps| StepOutputs::new(steps).join());
    let out: Vec<Var> = made.by_ref().take(1).collect();
    Ok(out.into_iter().chain(now).chain(made).collect())
}

/// Elementwise expressions of those of the known values that they use, stored in a type.
pub(crate) fn kernel(expressions: &[Expr], known: &[(&str, Var)], stored: DType) -> Vec<Var> {
    if expressions.is_empty() {
        return vec![];
    }
    // Values that only the derivative depends on are operands too.
    let used: Vec<String> = expressions.iter().flat_map(Expr::symbols_of_all).collect();
    let mut operands: Vec<&(&str, Var)> = known
        .iter()
        .filter(|(name, _)| used.iter().any(|u| u == name))
        .collect();
    if operands.is_empty() {
        // Constants have no shape: they get that of the input.
        operands.push(&known[0]);
    }
    let rename = |name: &str| {
        let place = operands.iter().position(|(known, _)| *known == name)?;
        Some(Map::operand(place))
    };
    // If operands do not broadcast, the error of the operation names them.
    let shape = (operands.iter()).fold(vec![], |shape, (_, v)| {
        broadcast(&shape, v.shape()).unwrap_or(shape)
    });
    let dtypes = vec![stored; expressions.len()];
    let expressions = expressions.iter().map(|e| e.substitute(&rename)).collect();
    let map = Map::stored(expressions, shape, dtypes);
    let operands: Vec<&Var> = operands.iter().map(|(_, v)| v).collect();
    operands[0].tracer().apply(map, &operands)
}

fn one_step(value: &Var) -> Var {
    let mut shape = vec![1];
    shape.extend(value.shape());
    value.reshape(shape)
}
