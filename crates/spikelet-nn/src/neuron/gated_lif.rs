//! Gated leaky integrate-and-fire.

use super::{Common, Granularity, Neuron, Param, Scope, State};
use crate::domain::{Constant, Domain};
use crate::module::Context;
use crate::{DefinitionError, LayerProblem};
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// Leaky integrate-and-fire with trainable gates between two ways of leaking, charging and resetting.
///
/// Its fields are the initial values of parameters.
///
/// Each of three gates interpolates between two variants: α between exponential and linear decay, β between an input
/// that is weighted by the time step and one that is not, γ between a reset by a factor and one by a constant.
///
/// `K[t] = (1 − α·(1 − τ))·V[t−1]`, the potential after the exponential decay
///
/// `H[t] = K[t] − (1 − α)·linear_decay + X[t]·(1 − β·(1 − g[t])) − K[t]·γ·S[t−1] − (1 − γ)·v_subreset·S[t−1]`
///
/// `S[t] = Θ(H[t] − v_threshold)`, `V[t] = H[t]`; all of α, β, γ, τ, linear_decay, v_subreset, v_threshold and the
/// conductances `g[t]` are σ of learned parameters.
///
/// The gates start at ½. The number of time steps is part of the parameters' shape.
///
/// Source: Yao et al., GLIF: a unified gated leaky integrate-and-fire neuron for spiking neural networks, NeurIPS
/// 2022.
///
/// ```
/// use spikelet_nn::neuron::GatedLif;
/// use spikelet_nn::prelude::*;
/// let spikes = GatedLif::default().run(&[[0.5], [0.5], [0.0]])?; // H = 0.36, 0.585, 0.029
/// assert_eq!(spikes, [[0.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(name = "gated_lif", check = Self::check)]
#[doc(alias = "GatedLIFNode")]
pub struct GatedLif {
    /// Channels, each with values of its own; by default the layer shares them.
    pub inplane: Option<usize>,
    /// Factor of the exponential decay of the potential.
    #[schema(default = 0.25, above = 0.0, below = 1.0)]
    pub tau: f64,
    /// Amount of the linear decay of the potential.
    #[schema(default = 0.03, above = 0.0, below = 1.0)]
    pub linear_decay: f64,
    /// Amount of the constant reset.
    #[schema(default = 0.5, above = 0.0, below = 1.0)]
    pub v_subreset: f64,
    /// The conductance g, one for each time step.
    #[schema(default = 0.5, above = 0.0, below = 1.0)]
    pub conduct: f64,
    /// Threshold, surrogate.
    #[schema(flatten, default = Common { v_threshold: 0.5, ..Common::default() })]
    pub common: Common,
}

impl GatedLif {
    /// The threshold is σ of a parameter.
    fn check(&self) -> Result<(), DefinitionError> {
        let gate = Domain::above(0.0).below(1.0);
        Constant::new("v_threshold", self.common.v_threshold, gate).check("neuron `gated_lif`")
    }
}

impl Neuron for GatedLif {
    fn states(&self) -> Vec<State> {
        vec![State::v(&self.common), State::new("fired", 0.0)]
    }

    fn params(&self) -> Vec<Param> {
        let (granularity, steps) = match self.inplane {
            Some(_) => (Granularity::Channel, Granularity::StepChannel),
            None => (Granularity::Layer, Granularity::Step),
        };
        let constants = [
            ("alpha", 0.5),
            ("beta", 0.5),
            ("gamma", 0.5),
            ("tau", self.tau),
            ("linear_decay", self.linear_decay),
            ("v_subreset", self.v_subreset),
            ("v_threshold", self.common.v_threshold),
        ];
        let all = constants.map(|(name, value)| (name, value, granularity));
        let all = all.into_iter().chain([("conduct", self.conduct, steps)]);
        all.map(|(name, value, granularity)| {
            Param::new(name, (value / (1.0 - value)).ln(), granularity)
        })
        .collect()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let gate = |name| n.param(name).sigmoid();
        let (alpha, beta, gamma) = (gate("alpha"), gate("beta"), gate("gamma"));
        let fired = n.state("fired");
        let kept = (1.0 - &alpha * (1.0 - gate("tau"))) * n.state("v");
        let input = x * (1.0 - beta * (1.0 - gate("conduct")));
        let charged = &kept - (1.0 - alpha) * gate("linear_decay") + input;
        charged - kept * &gamma * &fired - (1.0 - gamma) * gate("v_subreset") * fired
    }

    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        n.spike(h - n.param("v_threshold").sigmoid())
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        n.set_state("fired", s.clone());
        h.clone()
    }

    fn charge_seq(&self, cx: &Context, x_seq: &Var) -> Result<Option<Var>> {
        match self.inplane {
            Some(expected) if x_seq.rank() < 3 || x_seq.dim(2) != expected => {
                let given = x_seq.ty().clone();
                Err(cx.error("gated_lif", LayerProblem::Channels { expected, given }))
            }
            _ => Ok(None),
        }
    }
}
