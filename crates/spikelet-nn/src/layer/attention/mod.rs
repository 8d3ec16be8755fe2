//! Spiking attention: layers of spiking transformers, between tokens of one time step.
//!
//! Tokens are the positions of `[T, N, C, …]`. There is no softmax: products and sums of spikes are small integers, and
//! a neuron fires on them. Only the potentials of neurons pass from step to step.

use super::images::{channels_last, channels_second};
use super::init_keys::InitKeys;
use super::{BatchNorm, Pointwise, WeightShape};
use crate::module::{Context, Init, Module};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, layers};
use crate::network::values::LayerNeuron;
use crate::neuron::Neuron;
use crate::{LayerProblem, domain};
use spikelet_core::Result;
use spikelet_core::document::Located;
use spikelet_graph::Var;
use spikelet_schema::Schema;
use std::sync::Arc;

layers! {
    mod self_attention: SelfAttention => SelfAttentionKeys;
    mod token: TokenAttention => TokenAttentionKeys;
    mod spike_driven: SpikeDrivenAttention => SpikeDrivenAttentionKeys;
}

/// What the three kinds of attention have in common.
#[derive(Clone, Debug)]
pub struct AttentionParts {
    /// Channels of input and output.
    pub channels: usize,
    /// The number of parts of the channels that are treated separately.
    pub heads: usize,
    /// The shape of the weights.
    pub shape: WeightShape,
    /// Whether the maps to queries, keys and values have biases; the output's map has one.
    pub bias: bool,
    /// The initialization of the weights, if it is not PyTorch's default.
    pub weight_init: Option<Init>,
    /// The initialization of the biases, if it is not PyTorch's default.
    pub bias_init: Option<Init>,
    /// The weight of the last batch in the running statistics of batch norm.
    pub momentum: f64,
    /// The neurons behind the maps.
    pub neuron: Arc<dyn Neuron>,
    /// The neuron behind the product.
    pub product_neuron: Arc<dyn Neuron>,
}

impl AttentionParts {
    /// Maps without biases for queries, keys and values, and the weights of 1 × 1 convolutions.
    pub fn new(
        channels: usize,
        heads: usize,
        neuron: Arc<dyn Neuron>,
        product_neuron: Arc<dyn Neuron>,
    ) -> Self {
        Self {
            channels,
            heads,
            shape: WeightShape::Conv1d,
            bias: false,
            weight_init: None,
            bias_init: None,
            momentum: 0.1,
            neuron,
            product_neuron,
        }
    }

    /// The last part of the names of maps.
    fn suffix(&self) -> &'static str {
        match self.shape {
            WeightShape::Linear => "linear",
            WeightShape::Conv1d | WeightShape::Conv2d => "conv",
        }
    }

    fn map(&self, bias: bool) -> Pointwise {
        Pointwise {
            bias,
            shape: self.shape,
            weight_init: self.weight_init,
            bias_init: self.bias_init,
            ..Pointwise::new(self.channels, self.channels)
        }
    }

    /// Batch norm of the map `name` of `x`.
    fn normalized(&self, cx: &Context, name: &str, bias: bool, x: &Var) -> Result<Var> {
        let map = self.map(bias);
        let y = cx.child(&format!("{name}_{}", self.suffix()), |cx| {
            map.forward(cx, x)
        })?;
        let norm = BatchNorm::<1>::new(self.channels).momentum(self.momentum);
        cx.child(&format!("{name}_bn"), |cx| norm.forward(cx, &y))
    }

    /// The spikes of queries, keys or values of the tokens `x`.
    fn spikes(&self, cx: &Context, name: &str, x: &Var) -> Result<Var> {
        let y = self.normalized(cx, name, self.bias, x)?;
        cx.child(&format!("{name}_lif"), |cx| self.neuron.forward(cx, &y))
    }

    /// `[T, N, C, L] → [T, N, heads, L, C / heads]`
    fn heads_of(&self, x: &Var) -> Var {
        let [steps, batch, channels, tokens] = [0, 1, 2, 3].map(|axis| x.dim(axis));
        let heads = [
            steps,
            batch,
            tokens,
            self.heads,
            channels / self.heads.max(1),
        ];
        channels_last(x).reshape(heads).permute(&[0, 1, 3, 2, 4])
    }

    /// `[T, N, heads, L, C / heads] → [T, N, C, L]`
    fn joined(&self, x: &Var) -> Var {
        let [steps, batch, tokens] = [0, 1, 3].map(|axis| x.dim(axis));
        let rows = x.permute(&[0, 1, 3, 2, 4]);
        channels_second(&rows.reshape([steps, batch, tokens, self.channels]))
    }

    /// Checks the input, and returns its tokens `[T, N, C, L]`.
    fn tokens(&self, cx: &Context, what: &str, x: &Var) -> Result<Var> {
        let axes = x.rank().saturating_sub(3);
        super::images::expect(cx, what, x, axes.max(1), Some(self.channels))?;
        let heads = domain::Constant::new(
            "heads",
            self.heads as f64,
            domain::Domain::whole(1, u32::try_from(self.channels).unwrap_or(u32::MAX)),
        );
        cx.expect_domains(what, &[heads])?;
        if !self.channels.is_multiple_of(self.heads) {
            let problem = LayerProblem::Heads {
                heads: self.heads,
                channels: self.channels,
            };
            return Err(cx.error(what, problem));
        }
        let tokens = x.shape()[3..].iter().product();
        let rows = channels_last(x).reshape([x.dim(0), x.dim(1), tokens, self.channels]);
        Ok(channels_second(&rows))
    }
}

/// Tokens `[T, N, C, L]` as a sequence of the shape of `like`, `[T, N, C, …]`.
fn untokened(tokens: &Var, like: &[usize]) -> Var {
    let mut shape = like[..2].to_vec();
    shape.extend(&like[3..]);
    shape.push(tokens.dim(2));
    channels_second(&channels_last(tokens).reshape(shape))
}

/// The keys of all kinds of attention.
#[derive(Debug, Schema)]
struct AttentionKeys {
    /// The number of heads.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    heads: usize,
    /// The neuron of the products; by default the network's.
    product_neuron: LayerNeuron,
    /// Whether there is a bias.
    bias: bool,
    /// The shape of the weights, as of the layer of which they are in other programs: `linear`, `conv1d` or `conv2d`.
    weights: Option<WeightShape>,
    #[schema(flatten)]
    init: InitKeys,
    /// The share of a batch in the running statistics.
    #[schema(default = 0.1, from = 0, to = 1)]
    momentum: f64,
}

/// Adds an attention with so many `maps` of all channels, and `products` beside them for each element of its output.
fn leaf(
    layer: &LayerFields<'_>,
    b: &mut Builder,
    module: impl Module + 'static,
    maps: usize,
    products: usize,
) -> Built {
    let of_maps = b.shape[0].checked_mul(maps);
    let weights = of_maps.and_then(|n| n.checked_mul(b.shape[0]));
    b.leaf(layer.name(), module, weights, |elements| {
        elements.checked_mul(of_maps?.checked_add(products)?)
    })
}

impl AttentionKeys {
    fn parts(&self, layer: &LayerFields<'_>, b: &Builder) -> Result<AttentionParts, Located> {
        b.spatial_axes(layer)?;
        let channels = b.shape[0];
        let product_neuron = self.product_neuron.neuron(b);
        let mut parts = AttentionParts::new(channels, self.heads, b.neuron.clone(), product_neuron);
        parts.bias = self.bias;
        parts.momentum = self.momentum;
        parts.shape = self.weights.unwrap_or(parts.shape);
        [parts.weight_init, parts.bias_init] = self.init.of(channels);
        Ok(parts)
    }
}
