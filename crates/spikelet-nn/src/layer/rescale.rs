//! Multiplication by a constant: what a spike of a converted network is worth.

use super::images::expect;
use crate::domain::{Constant, Domain};
use crate::module::{Context, Description, Init, Module, Tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// `[T, N, C, …] → [T, N, C, …]`: y = factor·x, with one factor or one for each channel. Factors are not trained.
///
/// | tensor | shape | start | |
/// |---|---|---|---|
/// | `scale` | `[C]` | `factor` | stored, if each channel has its own |
///
/// ```
/// use spikelet_nn::layer::Rescale;
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(If::new()).add(Rescale::each_channel(8));
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 2, 8, 14, 14]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [4, 2, 8, 14, 14]);
/// assert_eq!(cx.traced().buffers[0].name, "1.scale");
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rescale {
    /// The factor, or that of each channel before another is loaded.
    pub factor: f64,
    /// The number of channels, if each has its own factor.
    pub channels: Option<usize>,
}

impl Rescale {
    /// The same factor for all.
    pub fn new(factor: f64) -> Self {
        Self {
            factor,
            channels: None,
        }
    }

    /// A factor for each channel, 1 unless others are loaded.
    pub fn each_channel(channels: usize) -> Self {
        Self {
            factor: 1.0,
            channels: Some(channels),
        }
    }
}

impl Module for Rescale {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let factor = Constant::new("factor", self.factor, Domain::FINITE);
        cx.expect_domains("rescale", &[factor])?;
        let Some(channels) = self.channels else {
            cx.expect_rank("rescale", x, 2)?;
            return Ok(x * self.factor);
        };
        let behind = x.rank().saturating_sub(3);
        expect(cx, "rescale", x, behind, Some(channels))?;
        // The same at all time steps, also in a network that runs step by step.
        let scale = cx.once(|| {
            let scale = cx.buffer("scale", [channels], Init::Constant(self.factor));
            scale.reshape([&[channels][..], &vec![1; behind]].concat())
        });
        Ok(x * scale)
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Scale(self.channels.is_none().then_some(self.factor))
    }
}

/// Multiplication by a constant, or by a stored one for each channel.
#[derive(Debug, Schema)]
#[schema(name = "rescale")]
pub(crate) struct RescaleKeys {
    /// The factor.
    #[schema(main, default = 1.0)]
    factor: f64,
    /// Whether each channel has a stored factor.
    each_channel: bool,
}

impl LayerKeys for RescaleKeys {
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], r#"{ layer = "rescale", each_channel = true }"#);

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let module = Rescale {
            factor: self.factor,
            channels: self.each_channel.then_some(b.shape[0]),
        };
        let weights = module.channels.unwrap_or(0);
        b.leaf(layer.name(), module, Some(weights), Some)
    }
}
