//! A neuron as operations one after the other: charge, fire and reset are elementwise kernels of
//! their own, at every time step.

use crate::module::OverTime;
use crate::neuron::{CHARGED, FIRED, NOISE, Neuron, parts};
use spikelet_expr::Expr;
use spikelet_graph::op::Map;
use spikelet_graph::{DType, Var, broadcast};

/// What a neuron makes of a sequence.
pub(super) struct Apart {
    pub(super) spike_seq: Var,
    /// What each state is after the last step.
    pub(super) last: Vec<Var>,
    /// What each state is after each step.
    pub(super) state_seqs: Vec<Var>,
}

/// Runs a neuron over the sequences: `x`, and the noise of its surrogate if it has any.
///
/// # Errors
/// When the neuron's definition is wrong.
pub(super) fn forward(
    neuron: &dyn Neuron,
    sequences: &[Var],
    states: &[Var],
    params: &[Var],
) -> Result<Apart, String> {
    let parts = parts(neuron)?;
    let (names, param_names) = (neuron.states(), neuron.params());
    let shape = sequences[0].shape()[1..].to_vec();
    let stored = sequences[0].ty().dtype;
    let mut now = states.to_vec();
    let mut spikes = vec![];
    let mut after = vec![vec![]; states.len()];
    for t in 0..sequences[0].dim(0) {
        let inputs = sequences.iter().map(|x| match x.dim(0) {
            1 => x.reshape(&shape[..]),
            _ => x.slice(0, t..t + 1).reshape(&shape[..]),
        });
        let mut known: Vec<(&str, Var)> = ["x", NOISE].into_iter().zip(inputs).collect();
        known.extend(names.iter().map(|s| s.name).zip(now));
        known.extend(
            param_names
                .iter()
                .map(|p| p.name)
                .zip(params.iter().cloned()),
        );
        let charge = std::slice::from_ref(&parts.charge);
        let h = kernel(charge, &known, stored.arithmetic()).swap_remove(0);
        known.push((CHARGED, h));
        let fire = std::slice::from_ref(&parts.fire);
        let s = kernel(fire, &known, stored).swap_remove(0);
        known.push((FIRED, s.clone()));
        now = kernel(&parts.next, &known, stored.arithmetic());
        now.iter_mut().for_each(|v| *v = v.expand(&shape[..]));
        spikes.push(one_step(&s.expand(&shape[..])));
        for (seq, v) in after.iter_mut().zip(&now) {
            seq.push(one_step(v));
        }
    }
    Ok(Apart {
        spike_seq: OverTime::new(spikes).join(),
        last: now,
        state_seqs: after
            .into_iter()
            .map(|steps| OverTime::new(steps).join())
            .collect(),
    })
}

/// Elementwise expressions of those of the known values that they use, stored in a type.
fn kernel(expressions: &[Expr], known: &[(&str, Var)], stored: DType) -> Vec<Var> {
    if expressions.is_empty() {
        return vec![];
    }
    let used: Vec<String> = expressions.iter().flat_map(Expr::symbols).collect();
    let mut operands: Vec<&(&str, Var)> = known
        .iter()
        .filter(|(name, _)| used.iter().any(|u| u == name))
        .collect();
    if operands.is_empty() {
        // Constants have no shape: that of the input is theirs.
        operands.push(&known[0]);
    }
    let rename = |name: &str| {
        let place = operands.iter().position(|(known, _)| *known == name)?;
        Some(Map::operand(place))
    };
    let map = Map {
        expressions: expressions.iter().map(|e| e.substitute(&rename)).collect(),
        // Where operands do not broadcast, the operation says which.
        shape: (operands.iter()).fold(vec![], |shape, (_, v)| {
            broadcast(&shape, v.shape()).unwrap_or(shape)
        }),
        dtypes: vec![stored; expressions.len()],
    };
    let operands: Vec<&Var> = operands.iter().map(|(_, v)| v).collect();
    operands[0].tracer().apply(map, &operands)
}

fn one_step(value: &Var) -> Var {
    let mut shape = vec![1];
    shape.extend(value.shape());
    value.reshape(shape)
}
