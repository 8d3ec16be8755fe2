//! Leaky integrate-and-analog-fire.

use super::{Lif, Neuron, OutputKind, Scope};
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Leaky integrate-and-fire with real outputs.
///
/// V and S are those of the leaky integrate-and-fire neuron; the output is `Y[t] = act(H[t] − v_threshold)`, or
/// `act(H[t])` if it is not related to the threshold.
///
/// In Rust `tau` and `decay_input` are fields of `neuron`, a [`Lif`]: `Liaf { neuron: Lif::new(30.0),
/// ..Liaf::default() }`. In files they are on the same level as the others.
///
/// Source: Wu et al., LIAF-Net: leaky integrate and analog fire network for lightweight and efficient spatiotemporal
/// information processing, IEEE Transactions on Neural Networks and Learning Systems 33:6249, 2022.
///
/// ```
/// use spikelet_nn::neuron::Liaf;
/// use spikelet_nn::prelude::*;
/// let out = Liaf::default().run(&[[1.0], [2.5]])?; // H = 0.5, 1.5
/// assert_eq!(out, [[0.0], [0.5]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[doc(alias = "LIAFNode")]
pub struct Liaf {
    /// The neuron that charges and resets.
    #[schema(flatten)]
    pub neuron: Lif,
    /// Relu, sigmoid or tanh.
    pub act: Act,
    /// Whether it acts on H − v_threshold, or on H.
    #[schema(default = true)]
    pub threshold_related: bool,
}

/// The activation of [`Liaf`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
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

impl Neuron for Liaf {
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
