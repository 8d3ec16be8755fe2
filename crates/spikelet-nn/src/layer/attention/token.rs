//! Attention of tokens by their queries.
//!
//! q, k = neuron(BN(W·x)); in each head, a = product neuron(Σ of the channels of q) for each token, y = a·k; the output is
//! neuron(BN(W·y)). Its cost grows linearly with the number of tokens.
//!
//! Source: C. Zhou et al., *QKFormer: hierarchical spiking transformer using Q-K attention*, NeurIPS 2024.

use super::{AttentionKeys, AttentionParts, leaf, untokened};
use crate::module::{Context, Module, Tree, print_as_tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// Q-K token attention of `[T, N, C, …]`: a token's keys pass where its queries have enough spikes.
///
/// Names are those of [`SelfAttention`](super::SelfAttention), without values.
///
/// ```
/// use spikelet_nn::layer::{AttentionParts, TokenAttention};
/// use spikelet_nn::prelude::*;
/// use std::sync::Arc;
/// let product = Lif::new(2.0).v_threshold(0.5);
/// let parts = AttentionParts::new(48, 8, Arc::new(Lif::new(2.0)), Arc::new(product));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 2, 48, 16, 16]);
/// assert_eq!(cx.trace(&TokenAttention::new(parts), x)?.shape(), [4, 2, 48, 16, 16]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "QKTA")]
pub struct TokenAttention {
    parts: AttentionParts,
}

impl TokenAttention {
    /// The attention with these parts.
    pub fn new(parts: AttentionParts) -> Self {
        Self { parts }
    }
}

impl Module for TokenAttention {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let parts = &self.parts;
        let tokens = parts.tokens(cx, "token attention", x)?;
        let q = parts.heads_of(&parts.spikes(cx, "q", &tokens)?);
        let k = parts.heads_of(&parts.spikes(cx, "k", &tokens)?);
        let sums = q.sum(&[4]);
        let passes = cx.child("attn_lif", |cx| parts.product_neuron.forward(cx, &sums))?;
        let y = parts.joined(&(passes.unsqueeze(4) * k));
        let y = parts.normalized(cx, "proj", true, &y)?;
        let y = cx.child("proj_lif", |cx| parts.neuron.forward(cx, &y))?;
        Ok(untokened(&y, x.shape()))
    }

    fn tree(&self) -> Tree {
        let parts = &self.parts;
        let settings = format!("channels={}, heads={}", parts.channels, parts.heads);
        Tree::for_type::<Self>().settings(settings)
    }
}

print_as_tree!(TokenAttention);

/// Attention of positions by the spikes of their queries.
#[derive(Debug, Schema)]
#[schema(name = "token-attention")]
pub(crate) struct TokenAttentionKeys {
    #[schema(flatten)]
    parts: AttentionKeys,
}

impl LayerKeys for TokenAttentionKeys {
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], "{ token-attention = 2 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let module = TokenAttention::new(self.parts.parts(layer, b)?);
        leaf(layer, b, module, 3, 0)
    }
}
