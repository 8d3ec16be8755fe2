//! snnTorch's leaky integrate-and-fire with a late reset, and optionally with feedback of its own spike.

use super::synaptic::subtracting;
use super::{Common, Granularity, Neuron, ResetGrad, Scope, State, Trainable};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrate-and-fire of snnTorch, with a late reset and feedback.
///
/// `R[t] = Θ(V[t−1] − v_threshold)`: the potential after the last step was above the threshold
///
/// `G[t] = β·V[t−1] + X[t] + feedback·S[t−1]` (the last term with `one_to_one`)
///
/// `H[t] = G[t] − R[t]·v_threshold` for the soft reset, v_reset where `R[t] = 1` for the hard reset
///
/// `S[t] = Θ(H[t] − v_threshold)`, which is 0 at the threshold; `V[t] = H[t]`: the reset comes one step after the
/// spike
///
/// With `keeps_input`, the hard reset comes before the charge: `V[t−1]` is v_reset where `R[t] = 1`, and `H[t] = G[t]`
///
/// Without `reset_delay`, `D = S[t] − R[t]` and `V[t] = H[t] − D·v_threshold` for the soft reset, `H[t] − D·(H[t] −
/// v_reset)` for the hard reset: the reset comes in the step of the spike.
///
/// snnTorch clamps a trained β to 0 and 1: `.trainable("beta", Trainable::default().clamp(0.0, 1.0))`. The weights of
/// feedback between all neurons are in the layer [`RLeaky`](crate::layer::RLeaky).
///
/// Without a `v_reset` the reset is the soft one; a `v_reset` of 0 is snnTorch's reset to zero.
///
/// Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning, Proceedings of the
/// IEEE 111:1016, 2023 (snnTorch's `Leaky` and `RLeaky`).
///
/// ```
/// use spikelet_nn::neuron::RLeakyCell;
/// use spikelet_nn::prelude::*;
/// let leaky = RLeakyCell { beta: 0.5, ..RLeakyCell::default() };
/// // H = 1.5, then 0.75 + 0.6 − 1, then 0.175 + 0.9
/// assert_eq!(leaky.run(&[[1.5], [0.6], [0.9]])?, [[1.0], [0.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "rleaky_cell")]
#[doc(alias = "Leaky")]
pub struct RLeakyCell {
    /// Decay factor of the potential.
    #[schema(default = 0.9, from = 0.0, to = 1.0)]
    pub beta: f64,
    /// Whether each neuron's last spike is added to its input.
    pub one_to_one: bool,
    /// Weight of the own spike (snnTorch's `V`).
    #[schema(default = 1.0)]
    pub feedback: f64,
    /// Whether the reset comes one step after the spike.
    #[schema(default = true)]
    pub reset_delay: bool,
    /// Whether a hard reset keeps the input of its step, as that of snnTorch's `Leaky`.
    pub keeps_input: bool,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = Common { reset_grad: ResetGrad::Surrogate, strict: true, ..subtracting() })]
    pub common: Common,
}

impl RLeakyCell {
    /// A neuron whose own spikes are fed back with a trained weight.
    pub fn one_to_one(granularity: Granularity) -> Self {
        let mut cell = Self {
            one_to_one: true,
            ..Self::default()
        };
        let trainable = &mut cell.common.trainable;
        trainable.insert("feedback".to_string(), Trainable::new(granularity));
        cell
    }

    /// X with the own spike.
    pub(super) fn input(&self, n: &Scope, x: Expr) -> Expr {
        match self.one_to_one {
            true => x + n.constant("feedback", self.feedback) * n.state("fired"),
            false => x,
        }
    }

    fn resets(&self) -> bool {
        self.common.resets && self.common.fires
    }

    /// R, whether the potential after the last step was above the threshold.
    fn late(n: &Scope) -> Expr {
        n.step(&(n.state("v") - n.v_threshold()))
    }

    /// The potential that the charge starts from.
    pub(super) fn before_charge(&self, n: &Scope) -> Expr {
        let v = n.state("v");
        match n.v_reset() {
            Some(v_reset) if self.keeps_input && self.resets() => {
                Expr::select(Self::late(n), v_reset, v)
            }
            _ => v,
        }
    }

    /// H, the charged potential after the late reset.
    pub(super) fn after_late_reset(&self, n: &Scope, charged: Expr) -> Expr {
        match n.v_reset() {
            _ if !self.resets() => charged,
            None => &charged - Self::late(n) * n.v_threshold(),
            Some(_) if self.keeps_input => charged,
            Some(v_reset) => Expr::select(Self::late(n), v_reset, charged),
        }
    }

    /// V, after the reset in the step of the spike.
    pub(super) fn after_spike(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        if self.one_to_one {
            n.set_state("fired", s.clone());
        }
        if self.reset_delay || !self.resets() {
            return h.clone();
        }
        let s = match self.common.reset_grad {
            ResetGrad::Detach => s.detach(),
            ResetGrad::Surrogate | ResetGrad::Soft => s.clone(),
        };
        let now = s - Self::late(n);
        match n.v_reset() {
            None => h - now * n.v_threshold(),
            Some(v_reset) => h - now * (h - v_reset),
        }
    }

    /// The states but the current.
    pub(super) fn own_states(&self) -> Vec<State> {
        let fired = self.one_to_one.then(|| State::new("fired", 0.0));
        std::iter::once(State::new("v", 0.0)).chain(fired).collect()
    }
}

impl Neuron for RLeakyCell {
    fn states(&self) -> Vec<State> {
        self.own_states()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let charged = n.constant("beta", self.beta) * self.before_charge(n) + self.input(n, x);
        self.after_late_reset(n, charged)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        self.after_spike(n, h, s)
    }
}
