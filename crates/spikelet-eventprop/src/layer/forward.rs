//! The spikes of a layer, event by event.
//!
//! Between two events all neurons move by the same three factors. A neuron whose potential is at the threshold at
//! the end of that span, or has passed its maximum in it, is looked at for crossings; no other can have one
//! (`crossing.rs`).

use super::{LayerTrace, LifLayer};
use crate::crossing::first_crossing;
use crate::spikes::Spike;

/// Why a layer has no result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failure {
    /// A spike did not fit into the buffer.
    Budget { neuron: usize, time: f64 },
    /// A potential or a current is not finite.
    NotFinite,
}

/// Potentials and currents of all neurons, and what they are at the end of the span.
struct State {
    v: Vec<f64>,
    i: Vec<f64>,
    next_v: Vec<f64>,
    next_i: Vec<f64>,
}

impl State {
    fn new(neurons: usize) -> Self {
        let zeros = || vec![0.0; neurons];
        Self {
            v: zeros(),
            i: zeros(),
            next_v: zeros(),
            next_i: zeros(),
        }
    }

    /// Computes the state at the end of a span of length `d`, in which nothing happens.
    fn predict(&mut self, layer: &LifLayer, d: f64) {
        let decay = layer.tau.over(d);
        let next = self.next_v.iter_mut().zip(&mut self.next_i);
        for ((next_v, next_i), (v, i)) in next.zip(self.v.iter().zip(&self.i)) {
            *next_v = decay.potential(*v, *i);
            *next_i = i * decay.g;
        }
    }

    /// The neurons that may fire in the span.
    fn candidates(&self, threshold: f64) -> impl Iterator<Item = usize> + '_ {
        (0..self.v.len()).filter(move |&n| {
            self.i[n] > threshold
                && (self.next_v[n] >= threshold || self.next_i[n] < self.next_v[n])
        })
    }

    /// Moves to the end of the span.
    fn advance(&mut self) {
        std::mem::swap(&mut self.v, &mut self.next_v);
        std::mem::swap(&mut self.i, &mut self.next_i);
    }

    fn add(&mut self, weights: &[f64]) {
        for (i, w) in self.i.iter_mut().zip(weights) {
            *i += w;
        }
    }

    fn is_finite(&self) -> bool {
        self.v.iter().chain(&self.i).all(|x| x.is_finite())
    }
}

impl LifLayer {
    /// The layer's spikes in [0, `t_end`]. `input`: in the order of time.
    pub(crate) fn forward(&self, input: &[Spike], t_end: f64) -> Result<LayerTrace, Failure> {
        let mut state = State::new(self.neurons());
        let mut trace = LayerTrace::default();
        let mut t = 0.0;
        for k in 0..=input.len() {
            let until = input.get(k).map_or(t_end, |spike| spike.time);
            if until > t {
                match &self.recurrent {
                    None => self.span(&mut state, &mut trace, t, until, k)?,
                    Some(_) => self.recurrent_span(&mut state, &mut trace, t, until, k)?,
                }
                t = until;
            }
            if let Some(spike) = input.get(k) {
                state.add(self.input.of_source(spike.unit));
            }
        }
        match state.is_finite() {
            true => Ok(trace),
            false => Err(Failure::NotFinite),
        }
    }

    /// A span without input spikes of a layer whose neurons do not act on each other.
    fn span(
        &self,
        state: &mut State,
        trace: &mut LayerTrace,
        from: f64,
        until: f64,
        inputs: usize,
    ) -> Result<(), Failure> {
        let length = until - from;
        state.predict(self, length);
        let mut fired: Vec<(f64, usize, f64)> = vec![];
        let candidates: Vec<usize> = state.candidates(self.threshold).collect();
        for n in candidates {
            let (mut at, mut v, mut i) = (0.0, state.v[n], state.i[n]);
            while let Some(d) = first_crossing(&self.tau, self.threshold, v, i, length - at) {
                at += d;
                i *= self.tau.over(d).g;
                if trace.spikes.len() + fired.len() >= self.budget {
                    return Err(Failure::Budget {
                        neuron: n,
                        time: from + at,
                    });
                }
                fired.push((from + at, n, i - self.threshold));
                v = 0.0;
            }
            let rest = self.tau.over(length - at);
            state.next_v[n] = rest.potential(v, i);
            state.next_i[n] = i * rest.g;
        }
        fired.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (time, n, margin) in fired {
            trace.push(time, n, margin, inputs);
        }
        state.advance();
        Ok(())
    }

    /// A span without input spikes of a layer with recurrent connections: each spike of its own ends a part of it.
    fn recurrent_span(
        &self,
        state: &mut State,
        trace: &mut LayerTrace,
        from: f64,
        until: f64,
        inputs: usize,
    ) -> Result<(), Failure> {
        let mut t = from;
        loop {
            state.predict(self, until - t);
            let crossings = state.candidates(self.threshold).filter_map(|n| {
                let d =
                    first_crossing(&self.tau, self.threshold, state.v[n], state.i[n], until - t)?;
                Some((d, n))
            });
            // The lower index fires first where two neurons reach the threshold at the same time.
            let Some((d, n)) = crossings.min_by(|a, b| a.0.total_cmp(&b.0)) else {
                state.advance();
                return Ok(());
            };
            t += d;
            if trace.spikes.len() >= self.budget {
                return Err(Failure::Budget { neuron: n, time: t });
            }
            state.predict(self, d);
            state.advance();
            trace.push(t, n, state.i[n] - self.threshold, inputs);
            state.v[n] = 0.0;
            if let Some(weights) = &self.recurrent {
                state.add(weights.of_source(n));
            }
        }
    }
}
