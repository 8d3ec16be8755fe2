//! Empty steps behind a sequence, in which delayed spikes arrive.

use super::MAX_DELAY;
use super::line::MAX_LAGS;
use crate::domain::{Constant, Domain};
use crate::module::{Context, Module, Tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// Appends steps of zeros: `[T, N, …] → [T + steps, N, …]`, so that delayed spikes arrive before the sequence ends. A
/// stream ([`Mode::STREAM`](crate::module::Mode::STREAM)) has no end: there, and in a network that runs step by step,
/// nothing is appended.
///
/// ```
/// use spikelet_nn::layer::{Dcls1d, PadTime};
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(PadTime::new(12)).add(Dcls1d::new(20, 10, 25));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [100, 2, 20]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [112, 2, 10]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PadTime {
    /// The number of steps.
    pub steps: usize,
}

impl PadTime {
    /// Appends this number of steps.
    pub fn new(steps: usize) -> Self {
        Self { steps }
    }
}

impl Module for PadTime {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("pad time", x, 2)?;
        let steps = Constant::new("steps", self.steps as f64, Domain::whole(0, MAX_LAGS));
        cx.expect_domains("pad time", &[steps])?;
        if cx.mode().carry_state {
            return Ok(x.clone());
        }
        cx.expect_all_steps("pad time")?;
        Ok(x.pad(0, 0, self.steps, 0.0))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// Steps of zeros behind a sequence, in which delayed spikes arrive.
///
/// `{ pad-time = 10 }`
#[derive(Debug, Schema)]
#[schema(name = "pad-time")]
pub(crate) struct PadTimeKeys {
    /// The number of steps.
    #[schema(main, required, from = 0, to = MAX_DELAY)]
    steps: usize,
}

impl LayerKeys for PadTimeKeys {
    const EXAMPLE: (&[usize], &str) = (&[8], "{ pad-time = 2 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        b.without_weights(layer, PadTime::new(self.steps))
    }
}
