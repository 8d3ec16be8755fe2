//! `{ radlif = 128, dropout_p = 0.1, bidirectional = true }`: weights, batch norm, neurons and feedback with published
//! defaults. `constants = { q = 60.0 }` changes constants of the neuron.

use super::keys::{DROPOUT_P, key};
use super::{Kind, LayerKey, MainValue};
use crate::layer::{NeuronLayer, NeuronLayerKind, kind};
use crate::module::Module;
use crate::network::Layers;
use crate::network::build::Builder;
use crate::network::layer_fields::LayerFields;
use crate::network::neuron::neuron_problem;
use crate::neuron::trainables;
use spikelet_core::document::Located;
use std::sync::Arc;

const KEYS: &[LayerKey] = &[
    key!(bias: "flag" = "null", "whether there is a bias; by default as published"),
    key!(normalize: "flag" = "null", "whether there is batch norm; by default as published"),
    key!(normalize_each_step: "flag" = "null", "whether batch norm has statistics of each step; by default as published"),
    key!(feedback: "flag" = "null", "whether spikes are fed back; by default as published"),
    key!(zero_diagonal: "flag" = "null", "whether neurons have no connection to themselves; by default as published"),
    DROPOUT_P,
    key!(bidirectional: "flag" = "null", "whether the sequence is processed in both directions; by default as published"),
    key!(constants: "table" = "null", "constants of the neuron that differ from the published ones"),
];

fn build<K: NeuronLayerKind>(
    layer: &LayerFields<'_>,
    b: &mut Builder,
) -> Result<Arc<dyn Module>, Located> {
    let features = layer.main()?.integer(K::NAME, 1..=Layers::MAX_SIZE)?;
    let [inputs] = b.shape[..] else {
        return Err(b.wrong_axes(K::NAME, "[features]"));
    };
    let fields = &layer.fields;
    let mut module = NeuronLayer::<K>::new(inputs, features);
    type Change<K> = fn(NeuronLayer<K>, bool) -> NeuronLayer<K>;
    let changes: [(&str, Change<K>); 6] = [
        ("bias", NeuronLayer::bias),
        ("normalize", NeuronLayer::normalize),
        ("normalize_each_step", NeuronLayer::normalize_each_step),
        ("feedback", NeuronLayer::recurrent),
        ("zero_diagonal", NeuronLayer::zero_diagonal),
        ("bidirectional", NeuronLayer::bidirectional),
    ];
    for (key, change) in changes {
        if let Some(yes) = fields.flag(key)? {
            module = change(module, yes);
        }
    }
    if let Some(node) = fields.get("dropout_p") {
        let p = node.number("dropout_p")?;
        if !(0.0..1.0).contains(&p) {
            return Err(node.wrong("dropout_p", "at least 0 and below 1"));
        }
        module = module.dropout(p);
    }
    if let Some(node) = fields.get("constants") {
        let mut neuron = module.parts().neuron.clone();
        spikelet_schema::read_into(&mut neuron, node)?;
        trainables(&neuron).map_err(|error| neuron_problem(error, Some(node)))?;
        module = module.neuron(|_| neuron);
    }
    let fed_back = match module.parts().feedback {
        Some(_) => features,
        None => 0,
    };
    let weights = inputs
        .checked_add(fed_back)
        .and_then(|all| all.checked_mul(features));
    b.leaf(K::NAME, module, weights, |_| weights)
}

macro_rules! kinds {
    ($($name:ident = $kind:ident, $example:literal, $summary:literal;)*) => {$(
        pub(super) const $name: Kind = Kind {
            name: <kind::$kind as NeuronLayerKind>::NAME,
            types: &[stringify!($kind)],
            summary: $summary,
            main: MainValue::Required(key!(features: "integer", "the number of neurons")),
            keys: KEYS,
            example: (&[8], $example),
            build: build::<kind::$kind>,
        };
    )*};
}

kinds! {
    RLIF = RLif, "{ rlif = 6 }", "recurrent leaky integrate-and-fire neurons of sparch";
    ADLIF = AdLif, "{ adlif = 6 }", "adaptive neurons of sparch";
    RADLIF = RadLif, "{ radlif = 6 }", "recurrent adaptive neurons of sparch";
    CADLIF = CadLif, "{ cadlif = 6 }", "adaptive neurons with the limits of CadLIF";
    SILIF = SiLif, "{ silif = 6 }", "adaptive neurons in the parametrization of state space models";
    CSILIF = CSiLif, "{ csilif = 6 }", "neurons with a complex potential";
    SE_ADLIF = SeAdLif, "{ se-adlif = 6 }", "recurrent adaptive neurons, symplectic Euler";
    EF_ADLIF = EfAdLif, "{ ef-adlif = 6 }", "recurrent adaptive neurons, Euler forward";
    RDECAY_LIF = RDecayLif, "{ rdecay-lif = 6 }", "recurrent neurons with an exact decay";
    RLEAKY = RLeaky, "{ rleaky = 6 }", "recurrent leaky neurons of snnTorch";
    RSYNAPTIC = RSynaptic, "{ rsynaptic = 6 }", "recurrent second-order neurons of snnTorch";
    LIF_RECURRENT = LifRecurrent, "{ lif-recurrent = 6 }", "recurrent neurons of Norse";
    RALIF = RAlif, "{ ralif = 6 }", "recurrent adaptive neurons of Yin et al.";
    LI_READOUT = LiReadout, "{ li-readout = 6 }", "leaky integrators of classes";
    SPARCH_READOUT = SparchReadout, "{ sparch-readout = 6 }", "leaky integrators of classes, the sum of their softmax over time";
}
