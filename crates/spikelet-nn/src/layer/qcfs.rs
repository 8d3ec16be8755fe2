//! Quantization-clip-floor-shift: an activation that a spiking neuron reproduces in few time steps.
//!
//! y = λ·⌊L·clip(x/λ, 0, 1) + ½⌋/L
//!
//! The gradient passes the rounding unchanged: ∂y/∂x is 1 for 0 ≤ x ≤ λ, else 0; ∂y/∂λ is y/λ − x/λ inside, 1 above,
//! 0 below.
//!
//! Source: T. Bu et al., *Optimal ANN-SNN conversion for high-accuracy and ultra-low-latency spiking neural networks*,
//! ICLR 2022.

use super::activation::record_activation;
use crate::domain::{Constant, Domain};
use crate::module::{Context, Init, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// The largest number of steps of the activation: f32 counts them exactly.
const MOST_LEVELS: u32 = 1 << 20;

/// An activation of L steps between 0 and a learned maximum λ: `[T, N, …] → [T, N, …]`.
///
/// | tensor | shape | start | |
/// |---|---|---|---|
/// | `lambda` | `[]` | `lambda` | trainable |
///
/// An integrate-and-fire neuron with the threshold λ, a soft reset and the potential λ/2 before the first step has this
/// output as its mean over T = L steps of a constant input: [`HalfThresholdIf`](crate::neuron::HalfThresholdIf).
///
/// ```
/// use spikelet_nn::layer::Qcfs;
/// use spikelet_nn::prelude::*;
/// use spikelet_nn::runtime::host;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [1, 1, 4]);
/// let y = cx.trace(&Qcfs::new(4), x)?; // λ = 8: steps of 2
/// cx.tracer().output("y", &y);
/// let mut program = cx.compile(&mut VarStore::new(spikelet_nn::device::cpu()?), 0)?;
/// program.run_with([("x_seq", host(&Tensor::f32([1, 1, 4], [-1.0, 0.9, 5.2, 9.0])))])?;
/// assert_eq!(program.get("y")?.to_f64(), [0.0, 0.0, 6.0, 8.0]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Qcfs {
    /// L, the number of steps.
    pub levels: usize,
    /// λ before training.
    pub lambda: f64,
}

impl Qcfs {
    /// An activation of `levels` steps, whose λ starts at 8.
    pub fn new(levels: usize) -> Self {
        Self {
            levels,
            lambda: 8.0,
        }
    }

    /// Sets λ before training.
    #[must_use]
    pub fn lambda(mut self, lambda: f64) -> Self {
        self.lambda = lambda;
        self
    }
}

impl Module for Qcfs {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("qcfs", x, 2)?;
        let levels = self.levels as f64;
        cx.expect_domains(
            "qcfs",
            &[
                Constant::new("levels", levels, Domain::whole(1, MOST_LEVELS)),
                Constant::new("lambda", self.lambda, Domain::above(0.0)),
            ],
        )?;
        let lambda = cx.parameter("lambda", [], Init::Constant(self.lambda));
        let level = (x / &lambda).clamp(0.0, 1.0) * levels + 0.5;
        let rounded = level.map1(|level| Expr::custom_gradient(level.floor(), level));
        let y = (rounded / levels) * lambda;
        record_activation(cx, &y);
        Ok(y)
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// Steps between 0 and a learned maximum, of networks that are to be converted to spiking ones.
///
/// `{ qcfs = 8, init_lambda = 4.0 }`
#[derive(Debug, Schema)]
#[schema(name = "qcfs")]
pub(crate) struct QcfsKeys {
    /// The number of steps.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    levels: usize,
    /// The maximum before training.
    #[schema(default = 8.0, above = 0)]
    init_lambda: f64,
}

impl LayerKeys for QcfsKeys {
    const EXAMPLE: (&[usize], &str) = (&[8], "{ qcfs = 4 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let module = Qcfs::new(self.levels).lambda(self.init_lambda);
        b.leaf(layer.name(), module, Some(1), |_| Some(0))
    }
}
