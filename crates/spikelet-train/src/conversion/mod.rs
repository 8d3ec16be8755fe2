//! Conversion of artificial neural networks (ANN) to spiking networks (SNN).
//!
//! A network with ReLU is trained without spikes; its batch norms become part of the weights, and each activation becomes
//! an integrate-and-fire neuron with a soft reset, whose rate approximates it. The threshold is a statistic of the
//! activation on samples. A network that was trained with [`Qcfs`](spikelet_nn::layer::Qcfs) has learned its thresholds,
//! and needs few time steps.
//!
//! | file | content |
//! |---|---|
//! | `options.rs`, `statistic.rs` | how a network is converted; the statistics of an activation |
//! | `network.rs`, `tree.rs` | a network with its tensors, and its list of layers as a tree that passes change |
//! | `kinds.rs` | which layers are converted, and why others are not |
//! | `fuse.rs`, `max_pooling.rs` | passes over the network without spikes |
//! | `calibrate.rs` | scales of activations on samples |
//! | `spiking.rs`, `factor.rs` | neurons in place of activations; factors that become part of weights |
//! | `run.rs`, `compare.rs` | both networks on samples: accuracy by time steps, rates of each layer |
//! | `images.rs`, `checkpoint.rs` | batches of a data set; a converted network as a checkpoint |
//!
//! Sources: P. U. Diehl et al., *Fast-classifying, high-accuracy spiking deep networks through weight and threshold
//! balancing*, IJCNN 2015; B. Rueckauer et al., *Conversion of continuous-valued deep networks to efficient event-driven
//! networks for image classification*, Frontiers in Neuroscience 11:682, 2017; T. Bu et al., *Optimal ANN-SNN conversion
//! for high-accuracy and ultra-low-latency spiking neural networks*, ICLR 2022; the statistics are those of SpikingJelly
//! 2.0's `RateCodingRecipe`.

mod calibrate;
mod checkpoint;
mod compare;
mod error;
mod factor;
mod fuse;
mod images;
mod kinds;
mod max_pooling;
mod network;
mod options;
mod run;
mod spiking;
mod statistic;
mod tree;

pub use compare::{AtTimeSteps, Comparison, LayerComparison};
pub use error::ConversionError;
pub use factor::{ActivationScale, Factor};
pub use images::images;
pub use network::TrainedLayers;
pub use options::{Converter, MaxPooling, Threshold};

use crate::checkpoint::is_finite;
use network::Tensors;
use serde_json::json;
use spikelet_core::Result;
use spikelet_graph::{Backend, Tensor};
use spiking::Rewrite;
use std::sync::Arc;

/// The networks before and after a conversion.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Conversion {
    /// The network without spikes, with batch norms in its weights.
    pub ann: TrainedLayers,
    /// The scales of its activations, which are the thresholds of the neurons, in the order in which they run.
    pub scales: Vec<ActivationScale>,
    /// The spiking network: [`HalfThresholdIf`](spikelet_nn::neuron::HalfThresholdIf) or
    /// [`If`](spikelet_nn::neuron::If) neurons. Its input is that of the network without spikes at all time steps; the
    /// mean of its output over time approximates the other's output.
    pub snn: TrainedLayers,
}

impl Converter {
    /// Converts a network. Batches of samples, `[N, …]`, are those on which the scales of the activations are measured;
    /// a network whose activations are all QCFS needs none.
    ///
    /// ```
    /// use spikelet_nn::network::{Layers, Network};
    /// use spikelet_nn::prelude::*;
    /// use spikelet_train::conversion::{Converter, Factor, TrainedLayers};
    /// use std::collections::BTreeMap;
    /// let text = "[network]\ninput = [1]\nlayers = [{ linear = 2 }, \"relu\", { linear = 1 }]";
    /// let network = Network::Layers(Layers::from_toml("net.toml", text, &[])?);
    /// let tensors = BTreeMap::from([
    ///     ("0.weight".to_string(), Tensor::f32([2, 1], [2.0, -1.0])),
    ///     ("2.weight".to_string(), Tensor::f32([1, 2], [1.0, 1.0])),
    /// ]);
    /// let ann = TrainedLayers::new(&network, tensors)?;
    /// let samples = Tensor::f32([2, 1], [1.0, -0.5]);
    /// let made = Converter::default().convert(&ann, [Ok(samples)], &spikelet_nn::device::cpu()?)?;
    /// assert_eq!(made.scales[0].scale, Factor::Layer(2.0)); // relu(2·1)
    /// assert_eq!(made.snn.tensors["2.weight"].to_f64(), [2.0, 2.0]);
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ConversionError`] for a layer that cannot be converted, a scale that is 0 or not finite, an option that is out of
    /// range, or if there are no samples; errors of the batches, the network and the device.
    pub fn convert(
        &self,
        ann: &TrainedLayers,
        batches: impl IntoIterator<Item = Result<Tensor>>,
        backend: &Arc<dyn Backend>,
    ) -> Result<Conversion> {
        self.check()?;
        let ann = self.prepare(ann)?;
        let scales = self.calibrate(&ann, batches, backend)?;
        let mut tensors = Tensors(ann.tensors.clone());
        let mut rewrite = Rewrite::new(&mut tensors, &scales, self.half_threshold);
        let layers = rewrite.complete(ann.tree()?, "", None)?;
        let mut snn = ann.with(&layers, tensors);
        snn.layers.neuron = json!({"neuron": "if", "params": {"v_reset": null}});
        // Checks its layers.
        snn.module()?;
        Ok(Conversion { ann, scales, snn })
    }

    /// The network without spikes as it is converted: batch norms are part of its weights, and max pooling is where the
    /// option says. It is the same function.
    ///
    /// # Errors
    /// [`ConversionError`] for a layer that cannot be converted, or weights that are not finite; errors of the network.
    pub fn prepare(&self, ann: &TrainedLayers) -> Result<TrainedLayers> {
        if let Some((name, _)) = ann.tensors.iter().find(|(_, tensor)| !is_finite(tensor)) {
            return Err(ConversionError::NotFinite {
                what: format!("tensor `{name}`"),
                help: "give the weights of a network that was trained to its end",
            }
            .into());
        }
        let mut tensors = Tensors(ann.tensors.clone());
        let layers = fuse::fuse(ann.tree()?, "", &mut tensors)?;
        let layers = max_pooling::arrange(layers, "", self.max_pooling)?;
        let prepared = ann.with(&layers, tensors);
        prepared.module()?;
        Ok(prepared)
    }
}
