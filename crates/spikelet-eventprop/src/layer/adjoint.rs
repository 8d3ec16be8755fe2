//! The adjoint pass of a layer: its spikes and input spikes, backward in time.
//!
//! ```text
//! τ_m λ_V' = −λ_V,  τ_s λ_I' = −λ_I + λ_V      backward in time; λ_V = λ_I = 0 at t_end
//! at a spike of n:   λ_V,n += (ϑ·λ_V,n + Σ_m w_mn (λ_V,m − λ_I,m) + dL/dt)/(I_n − ϑ)
//! dL/dw_mn = −τ_s Σ λ_I,m                      over the spikes of n
//! ```
//!
//! The sum over m has the recurrent targets; dL/dt has the derivative of the loss and the same sum over the targets
//! in the next layer. All λ are those after (later than) the spike. The gradient is exact as long as no spike
//! appears or vanishes; it grows without bound where a potential only touches the threshold, I = ϑ.

use super::{LayerTrace, LifLayer};
use crate::membrane::Decay;
use crate::spikes::Spike;

/// What reaches the spikes of a layer from its readers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<'a> {
    /// dL/dt of each spike of the layer.
    pub d_time: &'a [f64],
    /// λ_V of each neuron at t_end; empty for 0.
    pub at_end: &'a [f64],
    /// What is subtracted from λ_V of each neuron at each of its spikes; empty for nothing.
    pub penalty: &'a [f64],
}

/// The adjoint variables of all neurons.
struct Adjoint {
    v: Vec<f64>,
    i: Vec<f64>,
    /// τ_m/τ_s: the factor of [`Decay::c`] in λ_I.
    ratio: f64,
}

impl Adjoint {
    fn moved(&self, v: f64, i: f64, decay: &Decay) -> (f64, f64) {
        (v * decay.e, i * decay.g + v * decay.c * self.ratio)
    }

    fn advance(&mut self, decay: &Decay) {
        let c = decay.c * self.ratio;
        for (v, i) in self.v.iter_mut().zip(&mut self.i) {
            *i = *i * decay.g + *v * c;
            *v *= decay.e;
        }
    }

    /// Σ_m w_m (λ_V,m − λ_I,m), the derivative of the loss with respect to the time of a spike of these weights.
    fn d_time(&self, weights: &[f64]) -> f64 {
        let lambdas = self.v.iter().zip(&self.i);
        weights
            .iter()
            .zip(lambdas)
            .map(|(w, (v, i))| w * (v - i))
            .sum()
    }
}

/// A neuron that fires in the current span, at the time of its last spike looked at.
struct Local {
    neuron: usize,
    time: f64,
    v: f64,
    i: f64,
}

impl LifLayer {
    /// Adds the gradients of a sample to `d_input` and `d_recurrent`, source by source, and returns dL/dt of each
    /// input spike.
    pub(crate) fn adjoint(
        &self,
        input: &[Spike],
        trace: &LayerTrace,
        incoming: Incoming<'_>,
        t_end: f64,
        d_input: &mut [f64],
        d_recurrent: Option<&mut [f64]>,
    ) -> Vec<f64> {
        let neurons = self.neurons();
        let mut d_recurrent = self.recurrent.as_ref().zip(d_recurrent);
        let mut state = Adjoint {
            v: vec![0.0; neurons],
            i: vec![0.0; neurons],
            ratio: self.tau.tau_m / self.tau.tau_s,
        };
        let mut d_times = vec![0.0; input.len()];
        let (mut spike, mut t) = (trace.spikes.len(), t_end);
        for (v, at_end) in state.v.iter_mut().zip(incoming.at_end) {
            *v = *at_end;
        }
        let mut active = incoming.at_end.iter().any(|v| *v != 0.0);
        for k in (0..=input.len()).rev() {
            let first = trace.inputs_before[..spike].partition_point(|&before| before < k);
            let begin = if k > 0 { input[k - 1].time } else { 0.0 };
            active |= first < spike;
            let spikes = (first..spike).rev();
            if active {
                match &mut d_recurrent {
                    None => self.adjoint_span(&mut state, trace, incoming, spikes, (t, begin)),
                    Some((weights, grads)) => {
                        for s in spikes {
                            let Spike { time, unit } = trace.spikes[s];
                            state.advance(&self.tau.over((t - time).max(0.0)));
                            t = t.min(time);
                            subtract(
                                &mut grads[unit * neurons..][..neurons],
                                self.tau.tau_s,
                                &state.i,
                            );
                            let later = incoming.d_time[s] + state.d_time(weights.of_source(unit));
                            state.v[unit] =
                                self.before_spike(state.v[unit], later, trace, incoming, s);
                        }
                        state.advance(&self.tau.over((t - begin).max(0.0)));
                    }
                }
            }
            (spike, t) = (first, begin);
            if k > 0 && active {
                let unit = input[k - 1].unit;
                subtract(
                    &mut d_input[unit * neurons..][..neurons],
                    self.tau.tau_s,
                    &state.i,
                );
                d_times[k - 1] = state.d_time(self.input.of_source(unit));
            }
        }
        if let Some((_, grads)) = d_recurrent
            && !self.self_connections
        {
            grads
                .iter_mut()
                .step_by(neurons + 1)
                .for_each(|grad| *grad = 0.0);
        }
        d_times
    }

    /// λ_V before spike `s`, from λ_V after it and from dL/dt of the spike.
    fn before_spike(
        &self,
        v: f64,
        d_time: f64,
        trace: &LayerTrace,
        incoming: Incoming<'_>,
        s: usize,
    ) -> f64 {
        let penalty = incoming.penalty.get(trace.spikes[s].unit).unwrap_or(&0.0);
        v + (self.threshold * v + d_time) / trace.margin[s] - penalty
    }

    /// A span of a layer without recurrent connections: the neurons that fire move from spike to spike, all others
    /// at once.
    fn adjoint_span(
        &self,
        state: &mut Adjoint,
        trace: &LayerTrace,
        incoming: Incoming<'_>,
        spikes: impl Iterator<Item = usize>,
        (t, begin): (f64, f64),
    ) {
        let mut fired: Vec<Local> = vec![];
        for s in spikes {
            let Spike { time, unit } = trace.spikes[s];
            let at = fired
                .iter()
                .position(|local| local.neuron == unit)
                .unwrap_or_else(|| {
                    fired.push(Local {
                        neuron: unit,
                        time: t,
                        v: state.v[unit],
                        i: state.i[unit],
                    });
                    fired.len() - 1
                });
            let local = &mut fired[at];
            let (v, i) = state.moved(
                local.v,
                local.i,
                &self.tau.over((local.time - time).max(0.0)),
            );
            let v = self.before_spike(v, incoming.d_time[s], trace, incoming, s);
            *local = Local {
                neuron: unit,
                time,
                v,
                i,
            };
        }
        if t > begin {
            state.advance(&self.tau.over(t - begin));
        }
        for local in fired {
            let decay = self.tau.over((local.time - begin).max(0.0));
            (state.v[local.neuron], state.i[local.neuron]) = state.moved(local.v, local.i, &decay);
        }
    }
}

/// `grads` −= τ_s·λ_I
fn subtract(grads: &mut [f64], tau_s: f64, lambda: &[f64]) {
    for (grad, i) in grads.iter_mut().zip(lambda) {
        *grad -= tau_s * i;
    }
}
