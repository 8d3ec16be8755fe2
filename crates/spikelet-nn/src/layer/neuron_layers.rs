//! Published layers of neurons. A new one is an entry of [`kinds!`].

use super::neuron_layer::NeuronLayerKeys;
use super::{BatchNorm1d, Feedback, NeuronLayer, NeuronLayerParts};
use crate::module::Init;
use crate::network::kind::{Builder, Built, LayerEntry, LayerFields, LayerKeys};
use crate::neuron::{
    AdLifCell, CSiLifCell, DecayLif, EfAdLifCell, LeakyIntegrator, NorseLif, RLeakyCell,
    RSynapticCell, SeAdLifCell, SiLifCell, SparchLif, YinAlif,
};
use spikelet_schema::{Schema, entry};

/// Batch normalization and feedback of sparch: momentum 0.05, no connections of neurons to themselves.
fn sparch<N>(mut parts: NeuronLayerParts<N>, recurrent: bool) -> NeuronLayerParts<N> {
    let features = parts.linear.outputs;
    parts.norm = Some(BatchNorm1d::new(features).momentum(0.05));
    parts.feedback = recurrent.then(|| Feedback::new(features).zero_diagonal(true));
    parts
}

/// The same without feedback, and with Xavier's initialization.
fn silif<N>(parts: NeuronLayerParts<N>) -> NeuronLayerParts<N> {
    let mut parts = sparch(parts, false);
    let linear = parts.linear;
    parts.linear = linear.weight_init(Init::xavier_uniform(linear.inputs, linear.outputs));
    parts
}

/// Biases that start at 0, and feedback.
fn se_adlif<N>(mut parts: NeuronLayerParts<N>) -> NeuronLayerParts<N> {
    parts.linear = parts.linear.bias(true).bias_init(Init::Constant(0.0));
    parts.feedback = Some(Feedback::new(parts.linear.outputs));
    parts
}

/// PyTorch's linear layers with bias for the input and the feedback.
fn snntorch<N>(mut parts: NeuronLayerParts<N>) -> NeuronLayerParts<N> {
    let features = parts.linear.outputs;
    let init = Init::fan_in(features);
    parts.linear = parts.linear.bias(true);
    let feedback = Feedback::new(features).bias(true);
    parts.feedback = Some(feedback.weight_init(init).bias_init(init));
    parts
}

/// Norse's weights: normal with variance 2 / features, no connections of neurons to themselves.
fn norse<N>(mut parts: NeuronLayerParts<N>) -> NeuronLayerParts<N> {
    let features = parts.linear.outputs;
    let init = Init::kaiming_normal(features);
    parts.linear = parts.linear.weight_init(init);
    let feedback = Feedback::new(features).zero_diagonal(true);
    parts.feedback = Some(feedback.weight_init(init));
    parts
}

/// Biases that start at 0, Xavier's initialization, and orthogonal feedback with bias.
fn yin<N>(mut parts: NeuronLayerParts<N>) -> NeuronLayerParts<N> {
    let linear = parts.linear.bias(true).bias_init(Init::Constant(0.0));
    parts.linear = linear.weight_init(Init::xavier_uniform(linear.inputs, linear.outputs));
    parts.feedback = Some(Feedback::new(linear.outputs).bias(true));
    parts
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal, $summary:literal, $neuron:ty, $value:expr, $parts:expr;)*) => {
        /// The kinds of [`NeuronLayer`](super::NeuronLayer).
        pub mod kind {
            use super::*;
            use crate::layer::{NeuronLayerKind, NeuronLayerParts};

            $(
                #[doc = concat!("The kind of the layer [`", stringify!($kind), "`](crate::layer::", stringify!($kind), ").")]
                #[derive(Clone, Copy, Debug)]
                pub struct $kind;

                impl NeuronLayerKind for $kind {
                    type Neuron = $neuron;

                    const NAME: &'static str = $name;

                    fn parts(inputs: usize, features: usize) -> NeuronLayerParts<$neuron> {
                        let parts = NeuronLayerParts::new(inputs, features, $value);
                        ($parts)(parts)
                    }
                }
            )*
        }

        $($(#[$doc])* pub type $kind = NeuronLayer<kind::$kind>;)*

        /// Their keys in files.
        mod keys {
            use super::*;

            $(
                #[doc = $summary]
                #[derive(Debug, Schema)]
                #[schema(name = $name)]
                pub(super) struct $kind {
                    #[schema(flatten)]
                    keys: NeuronLayerKeys,
                }

                impl LayerKeys for $kind {
                    const EXAMPLE: (&[usize], &str) = (&[8], concat!("{ ", $name, " = 6 }"));

                    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
                        self.keys.build::<kind::$kind>(layer, b)
                    }
                }
            )*
        }

        /// Their kinds in files.
        pub(crate) fn kinds() -> Vec<&'static LayerEntry> {
            static KINDS: &[LayerEntry] = &[$(entry!(keys::$kind)),*];
            KINDS.iter().collect()
        }
    };
}

kinds! {
    /// sparch's recurrent leaky integrate-and-fire neurons; without feedback
    /// ([`recurrent(false)`](NeuronLayer::recurrent)) its `LIF`.
    #[doc(alias = "RLIF")]
    RLif = "rlif", "Recurrent leaky integrate-and-fire neurons of sparch.",
        SparchLif, SparchLif::default(), |parts| sparch(parts, true);
    /// sparch's adaptive leaky integrate-and-fire neurons.
    #[doc(alias = "adLIF")]
    AdLif = "adlif", "Adaptive neurons of sparch.",
        AdLifCell, AdLifCell::default(), |parts| sparch(parts, false);
    /// sparch's recurrent adaptive leaky integrate-and-fire neurons.
    #[doc(alias = "RadLIF")]
    RadLif = "radlif", "Recurrent adaptive neurons of sparch.",
        AdLifCell, AdLifCell::default(), |parts| sparch(parts, true);
    /// Adaptive leaky integrate-and-fire neurons with the limits of CadLIF.
    CadLif = "cadlif", "Adaptive neurons with the limits of CadLIF.",
        AdLifCell, AdLifCell::cad(), silif;
    /// SiLIF: adaptive neurons in the parametrization of state space models.
    #[doc(alias = "SiLIF")]
    SiLif = "silif", "Adaptive neurons in the parametrization of state space models.",
        SiLifCell, SiLifCell::default(), silif;
    /// C-SiLIF: neurons with a complex potential.
    #[doc(alias = "CSiLIF")]
    CSiLif = "csilif", "Neurons with a complex potential.",
        CSiLifCell, CSiLifCell::default(), silif;
    /// Recurrent adaptive neurons in the symplectic Euler discretization.
    #[doc(alias = "SEadLIF")]
    SeAdLif = "se-adlif", "Recurrent adaptive neurons, symplectic Euler.",
        SeAdLifCell, SeAdLifCell::default(), se_adlif;
    /// Recurrent adaptive neurons in the Euler forward discretization.
    EfAdLif = "ef-adlif", "Recurrent adaptive neurons, Euler forward.",
        EfAdLifCell, EfAdLifCell::default(), se_adlif;
    /// Recurrent leaky integrate-and-fire neurons with an exact decay, as beside SE-adLIF.
    RDecayLif = "rdecay-lif", "Recurrent neurons with an exact decay.",
        DecayLif, DecayLif::default(), se_adlif;
    /// snnTorch's recurrent leaky integrate-and-fire neurons behind a linear layer.
    RLeaky = "rleaky", "Recurrent leaky neurons of snnTorch.",
        RLeakyCell, RLeakyCell::default(), snntorch;
    /// snnTorch's recurrent second-order neurons behind a linear layer.
    RSynaptic = "rsynaptic", "Recurrent second-order neurons of snnTorch.",
        RSynapticCell, RSynapticCell::default(), snntorch;
    /// Norse's recurrent leaky integrate-and-fire neurons.
    #[doc(alias = "LIFRecurrent")]
    LifRecurrent = "lif-recurrent", "Recurrent neurons of Norse.",
        NorseLif, NorseLif::default(), norse;
    /// The recurrent adaptive neurons of Yin et al.
    RAlif = "ralif", "Recurrent adaptive neurons of Yin et al.",
        YinAlif, YinAlif::default(), yin;
    /// Leaky integrators of classes; every step is returned, unless the neuron has a readout.
    LiReadout = "li-readout", "Leaky integrators of classes.",
        LeakyIntegrator, LeakyIntegrator::default(), |parts| {
        let mut parts: NeuronLayerParts<LeakyIntegrator> = parts;
        parts.linear = parts.linear.bias(true).bias_init(Init::Constant(0.0));
        parts
    };
    /// sparch's readout: batch norm, leaky integrators with a trained decay, the sum of the softmax over time.
    SparchReadout = "sparch-readout", "Leaky integrators of classes, the sum of their softmax over time.",
        LeakyIntegrator, LeakyIntegrator::sparch(), |parts| sparch(parts, false);
}
