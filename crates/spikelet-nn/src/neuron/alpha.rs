//! Alpha-function neuron: each input causes a potential that rises and falls.

use super::{Common, Neuron, Scope, State, synaptic::subtracting};
use crate::DefinitionError;
use crate::domain::{Constant, Domain};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Alpha-function neuron: inputs cause potentials that rise and fall.
///
/// `E[t] = α·E[t−1] + X[t]`, `I[t] = β·I[t−1] − X[t]`
///
/// `H[t] = τ_α·(E[t] + I[t]) − S[t−1]·v_threshold`, with τ_α = ln α/(ln β − ln α) + 1; with a hard reset E, I and H
/// are reset where `S[t−1]` is 1. `V[t] = H[t]`.
///
/// The reset comes one step after the spike, as in snnTorch; the soft one has no lasting effect, since H does not
/// depend on the previous V. With `resets_currents` it is that of snnTorch 1.0, which acts on the currents: where
/// `S[t−1]` is 1, v_threshold is subtracted from `E[t]`, `I[t]` is 0, and `H[t] = τ_α·(E[t] + I[t]) + I[t−1]` with the
/// currents before the reset.
///
/// Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning, Proceedings of the
/// IEEE 111:1016, 2023 (snnTorch's `Alpha`); Rall, Distinguishing theoretical synaptic potentials computed for
/// different soma-dendritic distributions of synaptic input, Journal of Neurophysiology 30:1138, 1967.
///
/// ```
/// use spikelet_nn::neuron::Alpha;
/// use spikelet_nn::prelude::*;
/// let spikes = Alpha::default().run(&[[6.0], [0.0], [0.0]])?; // H = 0, 1.137, 0.933
/// assert_eq!(spikes, [[0.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(check = Self::check)]
pub struct Alpha {
    /// Decay factor of the excitatory current, `beta` to 1.
    #[schema(default = 0.9, above = 0.0, at_most = 1.0)]
    pub alpha: f64,
    /// Decay factor of the inhibitory current, 0 to `alpha`.
    #[schema(default = 0.8, above = 0.0)]
    pub beta: f64,
    /// τ_α; without one it follows from α and β.
    pub tau_alpha: Option<f64>,
    /// Whether the soft reset acts on the currents.
    pub resets_currents: bool,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = subtracting())]
    pub common: Common,
}

/// The currents and the potential of a step.
struct Currents {
    exc: Expr,
    inh: Expr,
    h: Expr,
}

impl Alpha {
    /// β is below α.
    fn check(&self) -> Result<(), DefinitionError> {
        let below = Domain::above(0.0).below(self.alpha);
        Constant::new("beta", self.beta, below).check("neuron `alpha`")
    }

    /// The reset by the spike of the step before.
    fn reset_currents(&self, n: &Scope, charged: Currents) -> Currents {
        let fired = n.state("fired");
        let Currents { exc, inh, h } = charged;
        let emptied = |current: &Expr| n.hard_reset(current, &fired, &0.0.into(), &n.v_threshold());
        match n.v_reset() {
            Some(_) => Currents {
                exc: emptied(&exc),
                inh: emptied(&inh),
                h: n.reset(&h, &fired),
            },
            None if self.resets_currents => Currents {
                exc: n.reset(&exc, &fired),
                inh: emptied(&inh),
                h: n.soft_reset(&h, &fired, &-n.state("inh")),
            },
            None => Currents {
                h: n.reset(&h, &fired),
                exc,
                inh,
            },
        }
    }
}

impl Neuron for Alpha {
    fn states(&self) -> Vec<State> {
        let rest = ["exc", "inh", "fired"].map(|name| State::new(name, 0.0));
        [vec![State::v(&self.common)], rest.to_vec()].concat()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let (alpha, beta) = (
            n.constant("alpha", self.alpha),
            n.constant("beta", self.beta),
        );
        let scale = match self.tau_alpha {
            Some(tau_alpha) => n.constant("tau_alpha", tau_alpha),
            None => alpha.ln() / (beta.ln() - alpha.ln()) + 1.0,
        };
        let exc = alpha * n.state("exc") + &x;
        let inh = beta * n.state("inh") - x;
        let charged = scale * (&exc + &inh);
        let Currents { exc, inh, h } = self.reset_currents(
            n,
            Currents {
                exc,
                inh,
                h: charged,
            },
        );
        n.set_state("exc", exc);
        n.set_state("inh", inh);
        h
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        n.set_state("fired", s.clone());
        h.clone()
    }
}
