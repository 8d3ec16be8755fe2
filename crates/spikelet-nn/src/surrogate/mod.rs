//! Surrogate gradients: a step function forward, a smooth function backward.
//!
//! Forward, a neuron fires with the Heaviside step Θ, whose derivative is zero almost everywhere.
//! Backward, Θ′ is replaced by the derivative of a smooth function of a similar shape
//! (SpikingFlow's "soft back-propagation"; Wu et al., Frontiers in Neuroscience 12:331, 2018).
//!
//! Each surrogate has its own file with its constants, its derivative g′ and, if it has one, its primitive g. To
//! define a surrogate in another crate, implement [`Surrogate`].

use crate::DefinitionError;
use crate::domain::{self, Constant, Domain};
use crate::registry::{self, Entry, family};
use serde_json::Value;
use spikelet_expr::Expr;
use std::fmt::Debug;
use std::sync::Arc;

/// A surrogate gradient: a function that replaces the Heaviside step when gradients are computed.
///
/// ```
/// use spikelet_nn::prelude::*;
/// #[derive(Debug)]
/// struct Triangle;
/// impl Surrogate for Triangle {
///     fn derivative(&self, x: &Expr) -> Expr {
///         (1.0 - x.abs()).max(0.0)
///     }
/// }
/// let lif = Lif::new(2.0).surrogate(Triangle);
/// ```
pub trait Surrogate: Debug + Send + Sync {
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

    /// The domains of its constants. A neuron whose surrogate has a constant outside its domain is an
    /// error.
    fn domains(&self) -> Vec<Constant> {
        vec![]
    }

    /// The name and constants in the format of [`from_spec`].
    fn spec(&self) -> Value {
        Value::from(format!("{self:?}"))
    }
}

mod scaled;
pub use scaled::Scaled;

family! { "surrogate", Surrogate, check;
    atan::Atan = "atan", "derivative of the arc tangent";
    bilinear_leaky_relu::BilinearLeakyRelu = "bilinear_leaky_relu",
        "steep around the threshold, a flat slope elsewhere";
    boxcar::Boxcar = "boxcar", "rectangle of area 1 with its upper edge";
    circ::Circ = "circ", "derivative of x/√(x² + α²), 1 at the threshold";
    deterministic_pass::DeterministicPass = "deterministic_pass",
        "straight through: the gradient passes unchanged";
    erf::Erf = "erf", "Gaussian: derivative of the error function";
    fake_numerical_gradient::FakeNumericalGradient = "fake_numerical_gradient",
        "1/|x|, held below a bound";
    fast_sigmoid::FastSigmoid = "fast_sigmoid", "derivative of a fast sigmoid, 1 at the threshold";
    leaky_k_relu::LeakyKRelu = "leaky_k_relu", "one slope above the threshold, another below";
    leaky_spike_operator::LeakySpikeOperator = "leaky_spike_operator",
        "1 above the threshold, a small slope at and below it";
    log_tailed_relu::LogTailedRelu = "log_tailed_relu", "ReLU whose slope decays as 1/x above 1";
    multi_gaussian::MultiGaussian = "multi_gaussian", "Gaussian with slightly negative flanks";
    multi_level_spike_count::MultiLevelSpikeCount = "multi_level_spike_count",
        "integer spike counts; the gradient passes inside a window";
    nonzero_sign_log_abs::NonzeroSignLogAbs = "nonzero_sign_log_abs",
        "derivative of a two-sided logarithm";
    piecewise_exp::PiecewiseExp = "piecewise_exp", "exponential decay on both sides";
    piecewise_leaky_relu::PiecewiseLeakyRelu = "piecewise_leaky_relu",
        "rectangle of area 1, a leak elsewhere";
    piecewise_quadratic::PiecewiseQuadratic = "piecewise_quadratic", "triangle of area 1";
    poisson_pass::PoissonPass = "poisson_pass",
        "fires with probability x; the gradient passes unchanged";
    q_pseudo_spike::QPseudoSpike = "q_pseudo_spike", "power law with tails of adjustable weight";
    rect::Rect = "rect", "rectangle of area 1";
    s2nn::S2nn = "s2nn", "derivative of a sigmoid below the threshold, of a logarithm above";
    sigmoid::Sigmoid = "sigmoid", "derivative of the logistic function";
    sign_swish::SignSwish = "sign_swish", "derivative of sign-swish, negative in its tails";
    slayer::Slayer = "slayer", "exponential decay on both sides, with a factor";
    soft_sign::SoftSign = "soft_sign", "derivative of the soft sign";
    sparse_fast_sigmoid::SparseFastSigmoid = "sparse_fast_sigmoid",
        "derivative of a fast sigmoid above a bound, 0 elsewhere";
    spike_rate_escape::SpikeRateEscape = "spike_rate_escape",
        "exponential decay on both sides of 1 above the threshold";
    squarewave_fourier_series::SquarewaveFourierSeries = "squarewave_fourier_series",
        "first terms of the Fourier series of a square wave";
    super_spike::SuperSpike = "super_spike", "derivative of a fast sigmoid, scaled";
}

/// Checks that the constants are in their domains.
pub(crate) fn check(surrogate: &dyn Surrogate) -> Result<(), DefinitionError> {
    let spec = surrogate.spec();
    let name = spec["name"].as_str().or(spec.as_str()).unwrap_or_default();
    domain::check(&surrogate.domains(), &format!("surrogate `{name}`"))
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
    let mut spec = spec.clone();
    let factor = spec.as_object_mut().and_then(|s| s.remove(scaled::FACTOR));
    let surrogate = registry::from_spec("surrogate", find, &spec)?;
    let Some(value) = factor else {
        return Ok(surrogate);
    };
    let Some(factor) = value.as_f64() else {
        return Err(DefinitionError::WrongType {
            owner: spec["name"].as_str().unwrap_or_default().to_string(),
            constant: scaled::FACTOR.to_string(),
            value,
            expected: Domain::FINITE.to_string(),
        });
    };
    let scaled = Scaled { surrogate, factor };
    check(&scaled)?;
    Ok(Arc::new(scaled))
}
