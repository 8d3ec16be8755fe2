//! Norse's leaky integrate-and-fire with a current.

use super::{Common, Neuron, ResetGrad, Scope, State};
use crate::surrogate::FastSigmoid;
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Leaky integrate-and-fire with a current, as in Norse.
///
/// `J = I[t−1] + X[t]`, `I[t] = J − dt·tau_syn_inv·J`: the membrane is charged by the current before it decays
///
/// `H[t] = V[t−1] + dt·tau_mem_inv·((v_leak − V[t−1]) + J)`
///
/// `S[t] = Θ(H[t] − v_threshold)`, which is 0 at the threshold; hard reset
///
/// Source: Pehle & Pedersen, Norse: a deep learning library for spiking neural networks, 2021 (`lif_step`).
///
/// ```
/// use spikelet_nn::neuron::NorseLif;
/// use spikelet_nn::prelude::*;
/// let lif = NorseLif { dt: 0.01, ..NorseLif::default() }; // H = J
/// assert_eq!(lif.run(&[[0.9], [1.5]])?, [[0.0], [0.0]]); // J = 0.9, −0.9 + 1.5
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "norse_lif")]
#[doc(alias = "LIFCell")]
pub struct NorseLif {
    /// Length of a step.
    #[schema(default = 0.001, above = 0.0, unit = "s")]
    pub dt: f64,
    /// Inverse membrane time constant.
    #[schema(default = 100.0, above = 0.0, unit = "1/s")]
    pub tau_mem_inv: f64,
    /// Inverse time constant of the current.
    #[schema(default = 200.0, above = 0.0, unit = "1/s")]
    pub tau_syn_inv: f64,
    /// Resting potential.
    pub v_leak: f64,
    /// Threshold, reset, surrogate.
    #[schema(flatten, default = Common { reset_grad: ResetGrad::Detach, strict: true, surrogate: Arc::new(FastSigmoid { slope: 100.0 }), ..Common::default() })]
    pub common: Common,
}

impl Neuron for NorseLif {
    fn states(&self) -> Vec<State> {
        // Norse starts at the resting potential.
        vec![State::new("v", self.v_leak), State::new("i", 0.0)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let (v, dt) = (n.state("v"), n.constant("dt", self.dt));
        let rates = [
            ("tau_mem_inv", self.tau_mem_inv),
            ("tau_syn_inv", self.tau_syn_inv),
        ];
        let [membrane, synapse] = rates.map(|(name, rate)| &dt * n.constant(name, rate));
        let j = n.state("i") + x;
        n.set_state("i", &j - synapse * &j);
        let leak = n.constant("v_leak", self.v_leak) - &v;
        v + membrane * (leak + j)
    }
}
