//! Surrogate gradients: a step function forward, a smooth function backward.
//!
//! Forward, a neuron fires with the Heaviside step Θ, whose derivative is zero almost everywhere.
//! Backward, Θ′ is replaced by the derivative of a smooth function of a similar shape
//! (SpikingFlow's "soft back-propagation"; Wu et al., Frontiers in Neuroscience 12:331, 2018).
//!
//! Each surrogate has its own file with its constants, its derivative g′ and, if it has one, its primitive g. To
//! define a surrogate in another crate, implement [`Surrogate`].

use crate::DefinitionError;
use serde_json::Value;
use spikelet_expr::Expr;
use spikelet_schema::{Record, named_to_json, registry};
use std::fmt::Debug;
use std::sync::Arc;

mod atan;
mod bilinear_leaky_relu;
mod boxcar;
mod circ;
mod deterministic_pass;
mod erf;
mod fake_numerical_gradient;
mod fast_sigmoid;
mod leaky_k_relu;
mod leaky_spike_operator;
mod log_tailed_relu;
mod multi_gaussian;
mod multi_level_spike_count;
mod nonzero_sign_log_abs;
mod piecewise_exp;
mod piecewise_leaky_relu;
mod piecewise_quadratic;
mod poisson_pass;
mod q_pseudo_spike;
mod rect;
mod s2nn;
mod scaled;
mod sigmoid;
mod sign_swish;
mod slayer;
mod soft_sign;
mod sparse_fast_sigmoid;
mod spike_rate_escape;
mod squarewave_fourier_series;
mod super_spike;

pub use scaled::Scaled;
pub use {
    atan::Atan, bilinear_leaky_relu::BilinearLeakyRelu, boxcar::Boxcar, circ::Circ,
    deterministic_pass::DeterministicPass, erf::Erf,
    fake_numerical_gradient::FakeNumericalGradient, fast_sigmoid::FastSigmoid,
    leaky_k_relu::LeakyKRelu, leaky_spike_operator::LeakySpikeOperator,
    log_tailed_relu::LogTailedRelu, multi_gaussian::MultiGaussian,
    multi_level_spike_count::MultiLevelSpikeCount, nonzero_sign_log_abs::NonzeroSignLogAbs,
    piecewise_exp::PiecewiseExp, piecewise_leaky_relu::PiecewiseLeakyRelu,
    piecewise_quadratic::PiecewiseQuadratic, poisson_pass::PoissonPass,
    q_pseudo_spike::QPseudoSpike, rect::Rect, s2nn::S2nn, sigmoid::Sigmoid, sign_swish::SignSwish,
    slayer::Slayer, soft_sign::SoftSign, sparse_fast_sigmoid::SparseFastSigmoid,
    spike_rate_escape::SpikeRateEscape, squarewave_fourier_series::SquarewaveFourierSeries,
    super_spike::SuperSpike,
};

/// A surrogate gradient: a function that replaces the Heaviside step when gradients are computed.
///
/// ```
/// use spikelet_nn::prelude::*;
/// /// A triangle.
/// #[derive(Debug, Schema)]
/// struct Triangle {}
///
/// impl Surrogate for Triangle {
///     fn derivative(&self, x: &Expr) -> Expr {
///         (1.0 - x.abs()).max(0.0)
///     }
/// }
/// let lif = Lif::new(2.0).surrogate(Triangle {});
/// ```
pub trait Surrogate: Record + Debug + Send + Sync {
    /// g′(x), which replaces Θ′(x); x is the distance from the threshold.
    fn derivative(&self, x: &Expr) -> Expr;

    /// g(x), a smooth step with derivative g′; used by `spiking = false` and by
    /// [`ResetGrad::Soft`](crate::neuron::ResetGrad::Soft).
    fn primitive(&self, _x: &Expr) -> Option<Expr> {
        None
    }

    /// The spike: Θ(x), 1 for x ≥ 0. `noise` is uniform on (0, 1], drawn at every step, for
    /// surrogates that use it.
    fn forward(&self, x: &Expr, _noise: &Expr) -> Expr {
        x.ge(0.0)
    }

    /// Whether [`Surrogate::forward`] uses the noise.
    fn needs_noise(&self) -> bool {
        false
    }

    /// Whether [`Surrogate::forward`] returns 0 and 1 only.
    fn is_binary(&self) -> bool {
        true
    }
}

registry! {
    /// All surrogates.
    pub static SURROGATES: dyn Surrogate = "surrogate" {
        Atan, BilinearLeakyRelu, Boxcar, Circ, DeterministicPass, Erf, FakeNumericalGradient,
        FastSigmoid, LeakyKRelu, LeakySpikeOperator, LogTailedRelu, MultiGaussian,
        MultiLevelSpikeCount, NonzeroSignLogAbs, PiecewiseExp, PiecewiseLeakyRelu,
        PiecewiseQuadratic, PoissonPass, QPseudoSpike, Rect, S2nn, Sigmoid, SignSwish, Slayer,
        SoftSign, SparseFastSigmoid, SpikeRateEscape, SquarewaveFourierSeries, SuperSpike,
    }
    around { Scaled }
}

impl dyn Surrogate + '_ {
    /// The name and the constants as [`from_spec`] reads them.
    pub fn spec(&self) -> Value {
        named_to_json(self).into()
    }
}

/// Builds a surrogate from its name and constants, as in `{"name": "atan", "alpha": 2.0}`. Every surrogate has the constant
/// `factor` as well, by which its derivative is multiplied: see [`Scaled`].
///
/// # Errors
/// When the name or a constant is unknown, or a constant is outside its domain.
///
/// ```
/// let spec = serde_json::json!({"name": "sigmoid", "alpha": 1.0});
/// let sigmoid = spikelet_nn::surrogate::from_spec(&spec)?;
/// assert!(spikelet_nn::surrogate::from_spec(&serde_json::json!({"name": "step"})).is_err());
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
pub fn from_spec(spec: &Value) -> Result<Arc<dyn Surrogate>, DefinitionError> {
    DefinitionError::reading(&SURROGATES, spec)
}
