//! Integrate-and-fire with positive and negative spikes.

use super::{Common, Neuron, OutputKind, Scope};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Integrate-and-fire with positive and negative spikes.
///
/// `H[t] = V[t−1] + X[t]`, `S[t] = Θ(H[t] − v_threshold) − Θ(−H[t] − v_threshold)`
///
/// `V[t] = |S|·v_reset + (1 − |S|)·H` (hard) or H − S·v_threshold (soft)
///
/// Source: Guo et al., Ternary spike: learning ternary spikes for spiking neural networks, AAAI 2024.
///
/// ```
/// use spikelet_nn::neuron::TernaryIf;
/// use spikelet_nn::prelude::*;
/// let spikes = TernaryIf::default().run(&[[-0.6], [-0.6], [1.0]])?;
/// assert_eq!(spikes, [[0.0], [-1.0], [1.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "ternary_if")]
pub struct TernaryIf {
    /// Threshold, reset, surrogate.
    #[schema(flatten)]
    pub common: Common,
}

/// The spikes at the upper and at the lower threshold, each 0 or 1.
fn both(n: &Scope, h: &Expr) -> [Expr; 2] {
    let v_threshold = n.v_threshold();
    [n.spike(h - &v_threshold), n.spike(-h - v_threshold)]
}

/// S, 1 or −1 beyond either threshold.
pub(super) fn fire(n: &Scope, h: &Expr) -> Expr {
    let [up, down] = both(n, h);
    up - down
}

/// The hard reset acts on either sign.
pub(super) fn reset(n: &Scope, h: &Expr, s: &Expr) -> Expr {
    match n.v_reset() {
        Some(_) => {
            let [up, down] = both(n, &n.fires_on(h));
            n.reset(h, &(up + down))
        }
        None => n.reset(h, s),
    }
}

/// The output if [`fire`] fires.
pub(super) fn output_kind(common: &Common) -> OutputKind {
    match common.output_kind() {
        OutputKind::Spikes => OutputKind::Ternary,
        other => other,
    }
}

impl Neuron for TernaryIf {
    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.state("v") + x
    }

    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        fire(n, h)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        reset(n, h, s)
    }

    fn output_kind(&self) -> OutputKind {
        output_kind(&self.common)
    }
}
