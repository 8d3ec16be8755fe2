//! Spike-driven self attention.
//!
//! s = neuron(x); q, k, v = neuron(BN(W·s)); m = product neuron(Σ over tokens of k·v) for each channel; the output is
//! BN(W·(q·m)), which is added to x outside. All products have spikes on one side, and none has a cost that grows with the
//! square of the tokens.
//!
//! Source: M. Yao et al., *Spike-driven transformer*, NeurIPS 2023. With maximum filters, which its program has for
//! CIFAR10-DVS, k and v are filtered over 3 × 3 pixels, and k·v and q·m over 3 × 3 tokens and channels of a head.

use super::super::MaxPool2d;
use super::{AttentionKeys, AttentionParts, leaf, untokened};
use crate::module::{Context, Module, Tree, print_as_tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use spikelet_core::{Error, Result};
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// Spike-driven self attention of `[T, N, C, …]`; the input are potentials, the output is normalized and no spikes.
///
/// Names are those of the authors: `shortcut_lif`, `q_conv.weight`, …, `talking_heads_lif`, `proj_conv.weight`,
/// `proj_bn.weight`.
///
/// ```
/// use spikelet_nn::layer::{AttentionParts, SpikeDrivenAttention};
/// use spikelet_nn::prelude::*;
/// use std::sync::Arc;
/// let product = Lif::new(2.0).v_threshold(0.5);
/// let parts = AttentionParts::new(32, 8, Arc::new(Lif::new(2.0)), Arc::new(product));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 2, 32, 8, 8]);
/// assert_eq!(cx.trace(&SpikeDrivenAttention::new(parts), x)?.shape(), [4, 2, 32, 8, 8]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "SDSA")]
pub struct SpikeDrivenAttention {
    parts: AttentionParts,
    filters: bool,
}

impl SpikeDrivenAttention {
    /// The attention without maximum filters.
    pub fn new(parts: AttentionParts) -> Self {
        Self {
            parts,
            filters: false,
        }
    }

    /// Sets whether keys, values and products pass maximum filters.
    #[must_use]
    pub fn filters(mut self, yes: bool) -> Self {
        self.filters = yes;
        self
    }

    /// The maximum filter of the last two axes, if there are filters.
    fn filtered(&self, cx: &Context, x: Var) -> Result<Var> {
        match self.filters {
            true => MaxPool2d::new(3).stride(1).padding(1).forward(cx, &x),
            false => Ok(x),
        }
    }
}

impl Module for SpikeDrivenAttention {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        const NAME: &str = "spike-driven attention";
        let parts = &self.parts;
        let shape = x.shape().to_vec();
        let spikes = cx.child("shortcut_lif", |cx| parts.neuron.forward(cx, x))?;
        let tokens = parts.tokens(cx, NAME, &spikes)?;
        let heads = |name| {
            let mut made = parts.spikes(cx, name, &tokens)?;
            if name != "q" && self.filters {
                super::super::images::expect(cx, NAME, &spikes, 2, None)?;
                let filtered = self.filtered(cx, untokened(&made, &shape))?;
                made = parts.tokens(cx, NAME, &filtered)?;
            }
            Ok::<_, Error>(parts.heads_of(&made))
        };
        let (q, k, v) = (heads("q")?, heads("k")?, heads("v")?);
        let sums = self.filtered(cx, k * v)?.sum(&[3]);
        let passes = cx.child("talking_heads_lif", |cx| {
            parts.product_neuron.forward(cx, &sums)
        })?;
        let y = self.filtered(cx, q * passes.unsqueeze(3))?;
        let y = parts.normalized(cx, "proj", true, &parts.joined(&y))?;
        Ok(untokened(&y, &shape))
    }

    fn tree(&self) -> Tree {
        let parts = &self.parts;
        Tree::for_type::<Self>().settings(format!(
            "channels={}, heads={}, filters={}",
            parts.channels, parts.heads, self.filters
        ))
    }
}

print_as_tree!(SpikeDrivenAttention);

/// Attention of potentials by sums of spikes.
#[derive(Debug, Schema)]
#[schema(name = "spike-driven-attention")]
pub(crate) struct SpikeDrivenAttentionKeys {
    /// Whether values are filtered by spikes.
    filters: bool,
    #[schema(flatten)]
    parts: AttentionKeys,
}

impl LayerKeys for SpikeDrivenAttentionKeys {
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], "{ spike-driven-attention = 2 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let module = SpikeDrivenAttention::new(self.parts.parts(layer, b)?);
        leaf(layer, b, module.filters(self.filters), 4, 0)
    }
}
