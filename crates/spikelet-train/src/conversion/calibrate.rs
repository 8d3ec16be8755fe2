//! The scales of activations, measured on samples.

use super::error::ConversionError;
use super::factor::{ActivationScale, Factor};
use super::kinds::ACTIVATIONS;
use super::network::TrainedLayers;
use super::options::Converter;
use super::run::AnnProgram;
use super::tree::{Body, Layer, join};
use crate::checkpoint::is_finite;
use spikelet_core::Result;
use spikelet_graph::{Backend, Tensor};
use std::sync::Arc;

/// An activation of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActivationLayer {
    pub path: String,
    pub is_qcfs: bool,
}

/// The activations of a list, in the order in which they run.
pub(super) fn activations(layers: &[Layer], path: &str) -> Vec<ActivationLayer> {
    let of_layer = |layer: &Layer| {
        let at = join(path, &layer.name);
        if layer.is(&ACTIVATIONS) {
            let is_qcfs = layer.kind == "qcfs";
            return vec![ActivationLayer { path: at, is_qcfs }];
        }
        let inner = |body: &Body| activations(&body.layers, &join(&at, &body.name));
        layer.bodies.iter().flat_map(inner).collect()
    };
    layers.iter().flat_map(of_layer).collect()
}

/// The help for a ReLU whose scale is no threshold.
const NEVER_FIRES: &str = "the activation is 0 or not finite on all samples: calibrate with other samples, or train the network again";

/// The help for a QCFS whose λ is no threshold.
const LAMBDA: &str =
    "λ of the activation is no threshold: train the network again with a larger `init_lambda`";

impl Converter {
    /// The scales of the activations of a network: of a ReLU the statistic of its outputs, of QCFS its λ. Batches
    /// `[N, …]` are read in their order; those behind the first count with the momentum. A network without a ReLU needs
    /// no batches.
    ///
    /// # Errors
    /// [`ConversionError::Scale`] for a scale that is 0 or not finite; [`ConversionError::NoSamples`]; errors of the
    /// batches and the device.
    pub(super) fn calibrate(
        &self,
        ann: &TrainedLayers,
        batches: impl IntoIterator<Item = Result<Tensor>>,
        backend: &Arc<dyn Backend>,
    ) -> Result<Vec<ActivationScale>> {
        let layers = activations(&ann.tree()?, "");
        if layers.is_empty() {
            return Err(ConversionError::Network {
                problem: "the network has no activation, and so no neurons".to_string(),
                help: "give a network with `relu` or `qcfs`",
            }
            .into());
        }
        let measured: Vec<&str> = (layers.iter())
            .filter(|layer| !layer.is_qcfs)
            .map(|layer| layer.path.as_str())
            .collect();
        let mut scales: Vec<Option<Factor>> = vec![None; measured.len()];
        if !measured.is_empty() {
            let mut program = AnnProgram::new(ann, backend, &measured)?;
            for batch in batches {
                let batch = batch?;
                if !is_finite(&batch) {
                    return Err(ConversionError::NotFinite {
                        what: "a batch of samples".to_string(),
                        help: "give samples and a normalization that are finite",
                    }
                    .into());
                }
                let found = program.run(&batch)?;
                for (scale, values) in scales.iter_mut().zip(&found.activations) {
                    let numbers = values.to_f64();
                    let own =
                        (self.threshold).of_activation(numbers, &values.shape, self.each_channel);
                    *scale = Some(self.averaged(scale.take(), own));
                }
            }
        }
        let mut scales = scales.into_iter();
        let found = layers.into_iter().map(|layer| {
            let scale = match layer.is_qcfs {
                true => Factor::Layer(ann.lambda(&layer.path)?),
                false => scales.next().flatten().ok_or(ConversionError::NoSamples {
                    purpose: "measure activations on",
                })?,
            };
            scale.check(
                &layer.path,
                if layer.is_qcfs { LAMBDA } else { NEVER_FIRES },
            )?;
            let layer = layer.path;
            Ok(ActivationScale { layer, scale })
        });
        found.collect()
    }

    /// The scale after another batch.
    fn averaged(&self, before: Option<Factor>, own: Factor) -> Factor {
        let least = |value: f64| match value.is_nan() {
            true => value,
            false => value.max(self.epsilon),
        };
        let own = match own {
            Factor::Channel(values) => Factor::Channel(values.into_iter().map(least).collect()),
            one => one,
        };
        let mean = |old: &f64, new: &f64| (1.0 - self.momentum) * old + self.momentum * new;
        match (before, own) {
            (Some(Factor::Layer(old)), Factor::Layer(new)) => Factor::Layer(mean(&old, &new)),
            (Some(Factor::Channel(old)), Factor::Channel(new)) => Factor::Channel(
                old.iter()
                    .zip(&new)
                    .map(|(old, new)| mean(old, new))
                    .collect(),
            ),
            (_, own) => own,
        }
    }
}

impl TrainedLayers {
    /// λ of a QCFS.
    fn lambda(&self, path: &str) -> Result<f64, ConversionError> {
        let name = join(path, "lambda");
        let found = self.tensors.get(&name).map(Tensor::to_f64);
        let found = found.and_then(|values| values.first().copied());
        found.ok_or_else(|| ConversionError::Tensor {
            name,
            problem: "it is missing".to_string(),
        })
    }
}
