//! Spiking self attention.
//!
//! q, k, v = neuron(BN(W·x)) for the tokens of each time step; in each head, y = product neuron(s·q·(kᵀ·v));
//! the output is neuron(BN(W·y)).
//!
//! Sources: Z. Zhou et al., *Spikformer: when spiking neural network meets transformer*, ICLR 2023; C. Zhou et al.,
//! *QKFormer: hierarchical spiking transformer using Q-K attention*, NeurIPS 2024.

use super::{AttentionKeys, AttentionParts, leaf, untokened};
use crate::domain::{Constant, Domain};
use crate::module::{Context, Module, Tree, print_as_tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use spikelet_core::{Error, Result};
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// Self attention of spikes between the positions of `[T, N, C, …]`.
///
/// Parameters and states are named as by the authors: `q_conv.weight`, `q_bn.weight`, `q_lif`, …, `attn_lif`,
/// `proj_conv.weight`, …; `q_linear` and so on with the weights of linear layers.
///
/// ```
/// use spikelet_nn::layer::{AttentionParts, SelfAttention};
/// use spikelet_nn::prelude::*;
/// use std::sync::Arc;
/// let product = Lif::new(2.0).v_threshold(0.5);
/// let parts = AttentionParts::new(48, 3, Arc::new(Lif::new(2.0)), Arc::new(product));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 2, 48, 8, 8]);
/// assert_eq!(cx.trace(&SelfAttention::new(parts), x)?.shape(), [4, 2, 48, 8, 8]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "SSA")]
pub struct SelfAttention {
    parts: AttentionParts,
    scale: f64,
    state_across_samples: bool,
}

impl SelfAttention {
    /// Attention whose products are scaled by 1/8, whatever the size of a head.
    pub fn new(parts: AttentionParts) -> Self {
        Self {
            parts,
            scale: 0.125,
            state_across_samples: false,
        }
    }

    /// Sets the factor of the products.
    #[must_use]
    pub fn scale(mut self, scale: f64) -> Self {
        self.scale = scale;
        self
    }

    /// Sets whether the state of the last neuron passes from sample to sample: the first step of all samples, one after
    /// the other, then the second, and so on. The weights that were published with QKFormer are trained so; the scores
    /// of a sample then depend on those before it in the batch.
    #[must_use]
    pub fn state_across_samples(mut self, yes: bool) -> Self {
        self.state_across_samples = yes;
        self
    }
}

impl Module for SelfAttention {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let parts = &self.parts;
        let tokens = parts.tokens(cx, "self attention", x)?;
        let scale = Constant::new("scale", self.scale, Domain::FINITE);
        cx.expect_domains("self attention", &[scale])?;
        let heads = |name| Ok::<_, Error>(parts.heads_of(&parts.spikes(cx, name, &tokens)?));
        let (q, k, v) = (heads("q")?, heads("k")?, heads("v")?);
        // The sums are integers: both orders of the products have the same result, the cheaper one is taken.
        let y = match q.dim(4) <= q.dim(3) {
            true => q.bmm(&k.transpose(3, 4).bmm(&v)),
            false => q.bmm(&k.transpose(3, 4)).bmm(&v),
        };
        let y = parts.joined(&(y * self.scale));
        let y = cx.child("attn_lif", |cx| parts.product_neuron.forward(cx, &y))?;
        let y = parts.normalized(cx, "proj", true, &y)?;
        let y = cx.child("proj_lif", |cx| match self.state_across_samples {
            true => {
                cx.expect_all_steps("self attention with state across samples")?;
                let one = [&[y.dim(0) * y.dim(1), 1], &y.shape()[2..]].concat();
                let spikes = parts.neuron.forward(cx, &y.reshape(one))?;
                Ok(spikes.reshape(y.shape()))
            }
            false => parts.neuron.forward(cx, &y),
        })?;
        Ok(untokened(&y, x.shape()))
    }

    fn tree(&self) -> Tree {
        let parts = &self.parts;
        Tree::for_type::<Self>().settings(format!(
            "channels={}, heads={}, scale={}",
            parts.channels, parts.heads, self.scale
        ))
    }
}

print_as_tree!(SelfAttention);

/// Spiking self attention between the positions of a map.
#[derive(Debug, Schema)]
#[schema(name = "self-attention")]
pub(crate) struct SelfAttentionKeys {
    /// The factor of the products.
    #[schema(default = 0.125)]
    scale: f64,
    /// Whether states of neurons are carried from sample to sample, as in some programs.
    state_across_samples: bool,
    #[schema(flatten)]
    parts: AttentionKeys,
}

impl LayerKeys for SelfAttentionKeys {
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], "{ self-attention = 2 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let mut module = SelfAttention::new(self.parts.parts(layer, b)?);
        module.scale = self.scale;
        module.state_across_samples = self.state_across_samples;
        let (channels, tokens) = (b.shape[0], b.shape[1..].iter().product::<usize>());
        let Some(head @ 1..) = channels.checked_div(self.parts.heads) else {
            return Err(layer.wrong(layer.name(), format!("a whole number from 1 to {channels}")));
        };
        let products = head.min(tokens).saturating_mul(2);
        leaf(layer, b, module, 4, products)
    }
}
