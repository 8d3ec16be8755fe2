//! Every neuron is a layer.

use super::apart;
use crate::error::{Error, Result};
use crate::module::{Context, Init, Module};
use crate::neuron::{Neuron, Share, derive};
use spikelet_graph::Var;
use std::sync::Arc;

/// `x_seq [T, N, …] → spike_seq [T, N, …]`. Parameters are named as the neuron names them, states
/// too; under [`Mode::STREAM`](crate::module::Mode::STREAM) states are carried between calls.
impl<N: Neuron> Module for N {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        Ok(forward(self, cx, x)?.spike_seq)
    }
}

/// A neuron that was built from a specification is a layer too.
impl Module for Arc<dyn Neuron> {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        Ok(forward(&**self, cx, x)?.spike_seq)
    }
}

/// What a neuron layer makes.
pub(crate) struct Spiking {
    pub(crate) spike_seq: Var,
    /// The membrane potential after each step, `[T, N, …]`; computed only if it is read.
    pub(crate) v_seq: Var,
}

pub(crate) fn forward(neuron: &dyn Neuron, cx: &Context, x: Var) -> Result<Spiking> {
    cx.expect_rank(neuron.name(), &x, 2)?;
    let wrong = |problem: String| {
        Error::invalid(
            format!("layer `{}`", cx.tracer().path()),
            problem,
            "correct the neuron's definition",
        )
    };
    let step = derive(neuron).map_err(wrong)?;
    let shape = x.shape()[1..].to_vec();
    let states: Vec<Var> = neuron
        .states()
        .iter()
        .map(|s| cx.state(s.name, shape.clone(), s.reset))
        .collect();
    let params: Vec<Var> = neuron
        .params()
        .iter()
        .map(|p| {
            let own = match p.share {
                Share::Layer => vec![],
                // [C, 1, …] broadcasts against [N, C, …].
                Share::Channel => {
                    let mut own = vec![1; shape.len() - 1];
                    if let Some(channels) = own.first_mut() {
                        *channels = shape[1];
                    }
                    own
                }
                Share::Neuron => shape[1..].to_vec(),
            };
            cx.parameter(p.name, own, Init::Constant(p.init))
        })
        .collect();
    let mut sequences = vec![x.clone()];
    if step.inputs.len() > 1 {
        let noise = cx.generator().uniform(x.shape(), true);
        sequences.push(noise.cast(x.ty().dtype));
    }
    let made = if cx.keeps_apart() && x.dim(0) > 0 {
        let apart = apart::forward(neuron, &sequences, &states, &params).map_err(wrong)?;
        [vec![apart.spike_seq], apart.last, apart.state_seqs].concat()
    } else {
        Var::scan(
            &Arc::new(step),
            x.dim(0),
            &sequences.iter().collect::<Vec<_>>(),
            &states.iter().collect::<Vec<_>>(),
            &params.iter().collect::<Vec<_>>(),
        )
    };
    cx.tracer().check()?;
    for (state, last) in states.iter().zip(&made[1..]) {
        cx.set_state(state, last);
    }
    let v = neuron
        .states()
        .iter()
        .position(|s| s.name == "v")
        .unwrap_or(0);
    let spiking = Spiking {
        spike_seq: made[0].clone(),
        v_seq: made[1 + states.len() + v].clone(),
    };
    cx.record("spike_seq", &spiking.spike_seq);
    Ok(spiking)
}
