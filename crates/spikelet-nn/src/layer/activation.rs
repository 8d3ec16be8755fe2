//! Activation functions of networks without spikes.
//!
//! Sources: V. Nair, G. E. Hinton, *Rectified linear units improve restricted Boltzmann machines*, ICML 2010; A. L. Maas
//! et al., *Rectifier nonlinearities improve neural network acoustic models*, ICML 2013; D. Hendrycks, K. Gimpel,
//! *Gaussian error linear units*, arXiv:1606.08415 (2016).

use crate::domain::{Constant, Domain};
use crate::module::{Context, Module, Tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// The name under which an activation records its output if the trace is [watched](crate::module::observer::States).
pub(crate) const ACTIVATION: &str = "activation_seq";

/// Records the output of an activation function of the current module.
pub(crate) fn record_activation(cx: &Context, y: &Var) {
    if cx.watches() {
        cx.record(ACTIVATION, y);
    }
}

/// An elementwise function of each step: `[T, N, …] → [T, N, …]`.
///
/// A network with these in place of neurons is an artificial neural network (ANN): it has no state, and is trained with
/// one time step. Those with [`Activation::Relu`] or [`Qcfs`](super::Qcfs) can be converted to spiking networks.
///
/// ```
/// use spikelet_nn::layer::Activation;
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(Linear::new(4, 3)).add(Activation::Relu).add(Linear::new(3, 2));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [1, 8, 4]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [1, 8, 2]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[doc(alias = "ReLU")]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Activation {
    /// max(x, 0)
    #[default]
    Relu,
    /// x where x > 0, else `slope`·x.
    LeakyRelu {
        /// The slope below 0.
        slope: f64,
    },
    /// x·Φ(x), Φ the distribution function of the normal distribution.
    Gelu,
    /// x·σ(x)
    Silu,
    /// 1/(1 + e⁻ˣ)
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
}

impl Activation {
    /// The name, as in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relu => "relu",
            Self::LeakyRelu { .. } => "leaky-relu",
            Self::Gelu => "gelu",
            Self::Silu => "silu",
            Self::Sigmoid => "sigmoid",
            Self::Tanh => "tanh",
        }
    }
}

impl Module for Activation {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank(self.name(), x, 2)?;
        let y = match *self {
            Self::Relu => x.relu(),
            Self::LeakyRelu { slope } => {
                let domain = Constant::new("slope", slope, Domain::FINITE);
                cx.expect_domains(self.name(), &[domain])?;
                x.leaky_relu(slope)
            }
            Self::Gelu => x.gelu(),
            Self::Silu => x.silu(),
            Self::Sigmoid => x.sigmoid(),
            Self::Tanh => x.tanh(),
        };
        record_activation(cx, &y);
        Ok(y)
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// Declares kinds without keys.
macro_rules! plain {
    ($($(#[$doc:meta])* $keys:ident = $kind:literal, $function:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Schema)]
        #[schema(name = $kind)]
        pub(crate) struct $keys {}

        impl LayerKeys for $keys {
            const EXAMPLE: (&[usize], &str) = (&[8], concat!("\"", $kind, "\""));

            fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
                b.without_weights(layer, Activation::$function)
            }
        }
    )*};
}

plain! {
    /// Rectified linear unit, max(x, 0), of networks without spikes.
    ReluKeys = "relu", Relu;
    /// Gaussian error linear unit, x·Φ(x), of networks without spikes.
    GeluKeys = "gelu", Gelu;
    /// Sigmoid linear unit, x·σ(x), of networks without spikes.
    SiluKeys = "silu", Silu;
    /// Logistic function, 1/(1 + e⁻ˣ), of networks without spikes.
    SigmoidKeys = "sigmoid", Sigmoid;
    /// Hyperbolic tangent, of networks without spikes.
    TanhKeys = "tanh", Tanh;
}

/// Leaky rectified linear unit: x, below 0 a slope times x, of networks without spikes.
#[derive(Debug, Schema)]
#[schema(name = "leaky-relu")]
pub(crate) struct LeakyReluKeys {
    /// The slope below 0.
    // As in PyTorch.
    #[schema(main, default = 0.01)]
    slope: f64,
}

impl LayerKeys for LeakyReluKeys {
    const EXAMPLE: (&[usize], &str) = (&[8], "{ leaky-relu = 0.1 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        b.without_weights(layer, Activation::LeakyRelu { slope: self.slope })
    }
}
