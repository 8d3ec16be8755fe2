//! Leaky integrate-and-analog-fire.
//!
//! V and S are those of the leaky integrate-and-fire neuron; the output is
//! Y[t] = act(H[t] − v_threshold), or act(H[t]) if it is not related to the threshold.
//!
//! Source: Wu et al., LIAF-Net: leaky integrate and analog fire network for lightweight and
//! efficient spatiotemporal information processing, IEEE Transactions on Neural Networks and
//! Learning Systems 33:6249, 2022.

use super::common::base;
use super::{Lif, Neuron, OutputKind, Scope};
use crate::domain::domains;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Leaky integrate-and-fire neuron with real outputs; its spikes reset it.
///
/// | field | unit | default | |
/// |---|---|---|---|
/// | `tau` | steps | 2 | membrane time constant, > 1 |
/// | `decay_input` | | true | whether X is divided by τ as well |
/// | `act` | | relu | relu, sigmoid or tanh |
/// | `threshold_related` | | true | whether it acts on H − v_threshold, or on H |
///
/// In Rust `tau` and `decay_input` are fields of `neuron`, a [`Lif`]:
/// `Liaf { neuron: Lif::new(30.0), ..Liaf::default() }`. In files they are on the same level as the others.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let out = Liaf::default().run(&[[1.0], [2.5]])?; // H = 0.5, 1.5
/// assert_eq!(out, [[0.0], [0.5]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[doc(alias = "LIAFNode")]
pub struct Liaf {
    /// The neuron that charges and resets.
    #[serde(flatten)]
    pub neuron: Lif,
    /// The activation: from the potential to the output.
    pub act: Act,
    /// Whether the activation is applied to H − v_threshold instead of H.
    pub threshold_related: bool,
}

/// The activation of [`Liaf`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Act {
    /// max(x, 0)
    #[default]
    Relu,
    /// 1 / (1 + e⁻ˣ)
    Sigmoid,
    /// Hyperbolic tangent.
    Tanh,
}

impl Default for Liaf {
    fn default() -> Self {
        Self {
            neuron: Lif::default(),
            act: Act::Relu,
            threshold_related: true,
        }
    }
}

impl Neuron for Liaf {
    base!("liaf", neuron.common);
    domains! { in neuron; }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        self.neuron.charge(n, x)
    }

    fn output(&self, n: &Scope, h: &Expr, _s: &Expr) -> Expr {
        let x = match self.threshold_related {
            true => h - n.v_threshold(),
            false => h.clone(),
        };
        match self.act {
            Act::Relu => Expr::select(x.gt(0.0), x, 0.0),
            Act::Sigmoid => x.sigmoid(),
            Act::Tanh => x.tanh(),
        }
    }

    fn output_kind(&self) -> OutputKind {
        OutputKind::Real
    }
}
