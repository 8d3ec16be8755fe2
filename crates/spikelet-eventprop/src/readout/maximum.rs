//! The maximum of a potential over time.
//!
//! A maximum inside a span between two spikes has V' = 0: its own movement does not count, and the derivative is
//! that of the potential at a fixed time. At a spike that ends the rise (V' > 0 before, < 0 after it) the maximum
//! moves with the spike: dy/dt of that spike is V' before it.

use crate::membrane::TimeConstants;
use crate::spikes::Spike;
use crate::weights::Weights;

/// The maximum of a neuron.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peak {
    pub value: f64,
    time: f64,
    /// The spike that ends the rise, and V' before it.
    ended_by: Option<(usize, f64)>,
}

impl Peak {
    /// The response at the maximum to a spike at `t`, and its current.
    pub(super) fn kernels(&self, tau: &TimeConstants, t: f64) -> (f64, f64) {
        match t < self.time {
            true => {
                let decay = tau.over(self.time - t);
                (decay.c, decay.g)
            }
            false => (0.0, 0.0),
        }
    }

    /// The derivative with respect to the time of spike `k` where it ends the rise.
    pub(super) fn d_time(&self, k: usize) -> f64 {
        match self.ended_by {
            Some((spike, slope)) if spike == k => slope,
            _ => 0.0,
        }
    }
}

/// The maxima of all neurons in [0, `t_end`].
pub(super) fn peaks(
    tau: &TimeConstants,
    weights: &Weights,
    input: &[Spike],
    t_end: f64,
) -> Vec<Peak> {
    let neurons = weights.targets();
    let mut peaks = vec![Peak::default(); neurons];
    let (mut v, mut i) = (vec![0.0; neurons], vec![0.0; neurons]);
    let mut t = 0.0;
    for k in 0..=input.len() {
        let until = input.get(k).map_or(t_end, |spike| spike.time);
        if until > t {
            let end = tau.over(until - t);
            for m in 0..neurons {
                let top = match i[m] > 0.0 && i[m] > v[m] {
                    true => tau.peak(v[m], i[m]),
                    false => 0.0,
                };
                let (span, decay) = match top < until - t {
                    true => (top, tau.over(top)),
                    false => (until - t, end),
                };
                let value = decay.potential(v[m], i[m]);
                if value > peaks[m].value {
                    let slope = (i[m] * decay.g - value) / tau.tau_m;
                    let ended = top >= until - t && k < input.len();
                    peaks[m] = Peak {
                        value,
                        time: t + span,
                        ended_by: ended.then_some((k, slope)),
                    };
                }
                (v[m], i[m]) = (end.potential(v[m], i[m]), i[m] * end.g);
            }
            t = until;
        }
        if let Some(spike) = input.get(k) {
            for (i, w) in i.iter_mut().zip(weights.of_source(spike.unit)) {
                *i += w;
            }
        }
    }
    peaks
}
