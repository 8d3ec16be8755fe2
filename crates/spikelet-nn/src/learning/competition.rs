//! Competition between the neurons of a layer: lateral inhibition, one winner a step, and homeostasis.
//!
//! Source: Diehl and Cook, Unsupervised learning of digit recognition using spike-timing-dependent plasticity, Frontiers
//! in Computational Neuroscience 2015.

use crate::domain::{Constant, Domain};
use crate::module::{Context, Init};
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// A threshold that follows the activity of its neuron.
///
/// `θ[t] = θ[t−1] · exp(−1/tau) + increase · (spikes of the step, averaged over the samples)`
///
/// θ is kept from call to call and is added to the threshold `v_threshold`. It changes where the weights do.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Homeostasis {
    /// The increase of the threshold by a spike.
    #[schema(required, at_least = 0.0)]
    pub increase: f64,
    /// The time constant of the decay.
    #[schema(required, above = 0.0, unit = "steps")]
    pub tau: f64,
    /// The threshold without activity. In files it is that of the neuron.
    #[schema(skip)]
    pub v_threshold: f64,
}

/// How the neurons of a layer compete.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Competition {
    /// What the spike of a neuron subtracts from the input of the others in the next step.
    pub(super) inhibition: f64,
    /// Whether only one neuron of a sample, or of a position, fires in a step.
    pub(super) single_winner: bool,
    pub(super) homeostasis: Option<Homeostasis>,
}

/// The axis of features or channels in `[1, N, features, …]`.
const FEATURES: usize = 2;

/// The state with the spikes of the step before.
const SPIKES: &str = "spikes";

impl Competition {
    /// Whether the steps depend on each other.
    pub(super) fn is_sequential(&self) -> bool {
        *self != Self::default()
    }

    pub(super) fn constants(&self) -> Vec<Constant> {
        let mut all = vec![Constant::new(
            "inhibition",
            self.inhibition,
            Domain::at_least(0.0),
        )];
        if let Some(h) = self.homeostasis {
            all.extend(Constant::all(&h));
            all.push(Constant::new(
                "v_threshold",
                h.v_threshold,
                Domain::above(0.0),
            ));
        }
        all
    }

    /// The currents `[1, N, features, …]` without the inhibition by the spikes of the step before.
    pub(super) fn inhibited(&self, cx: &Context, current: Var) -> Var {
        if self.inhibition == 0.0 {
            return current;
        }
        let before = cx.state(SPIKES, &current.shape()[1..], 0.0);
        let before = before.expand(&current.shape()[1..]).unsqueeze(0);
        let all = before.sum(&[FEATURES]).unsqueeze(FEATURES);
        let others = (all - before) * self.inhibition;
        current - others.detach()
    }

    /// The spikes of the winners: with a single winner, of those that fire the neuron with the largest current.
    pub(super) fn winners(&self, cx: &Context, current: &Var, spikes: Var) -> Var {
        let float = cx.tracer().float();
        let spikes = match self.single_winner {
            false => spikes,
            true => {
                let (s, i) = (spikes.cast(float), current.cast(float));
                let candidates = Var::map(&[&s, &i], |v| {
                    Expr::select(v[0].gt(0.0), &v[1], f64::from(f32::MIN))
                });
                let largest = candidates.max(&[FEATURES]).unsqueeze(FEATURES);
                // Of equal currents the first wins.
                let first = candidates.ge(&largest).cast(float);
                let earlier = first.cumsum(FEATURES);
                let winner = Var::map(&[&s, &first, &earlier], |v| &v[0] * &v[1] * v[2].le(1.5));
                winner.cast(spikes.ty().dtype)
            }
        };
        if self.inhibition != 0.0 {
            let after = spikes.cast(float).reshape(&spikes.shape()[1..]).detach();
            let before = cx.state(SPIKES, after.shape(), 0.0);
            cx.set_state(&before, &after);
        }
        spikes
    }

    /// The threshold of each neuron, `[features, 1, …]`, if it changes.
    pub(super) fn threshold(&self, cx: &Context, current: &Var) -> Option<Var> {
        let homeostasis = self.homeostasis?;
        Some(self.theta(cx, current)? + homeostasis.v_threshold)
    }

    fn theta(&self, cx: &Context, current: &Var) -> Option<Var> {
        self.homeostasis?;
        let mut shape = current.shape()[FEATURES..].to_vec();
        shape[1..].fill(1);
        Some(cx.buffer("theta", shape, Init::Constant(0.0)))
    }

    /// Changes the thresholds by the spikes `[1, N, features, …]`.
    pub(super) fn learn(&self, cx: &Context, spikes: &Var) {
        let (Some(theta), Some(h)) = (self.theta(cx, spikes), self.homeostasis) else {
            return;
        };
        let axes: Vec<usize> = (0..spikes.rank())
            .filter(|axis| *axis != FEATURES)
            .collect();
        let rate = spikes.cast(theta.ty().dtype).detach().mean(&axes);
        let next = &theta * (-1.0 / h.tau).exp() + rate.reshape(theta.shape()) * h.increase;
        cx.set_buffer(&theta, &next);
    }
}
