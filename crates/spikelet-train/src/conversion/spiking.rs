//! Activations become neurons, and what their spikes are worth becomes part of the weights behind them.
//!
//! ```text
//! W₁ ─ relu ─ W₂        →   W₁ ─ if, threshold θ ─ θ·W₂
//! ```
//!
//! The rate of an integrate-and-fire neuron with a soft reset is clip(x/θ, 0, 1), rounded to a multiple of 1/T. The factor
//! θ passes pooling, flattening and dropout to the next weights. Where there are none — at the end of a branch whose
//! output is added to another's, or of the network — it is a layer `rescale`, so that both branches of a sum have the units
//! of the activations.

use super::error::ConversionError;
use super::factor::{ActivationScale, Factor};
use super::kinds::{ACTIVATIONS, MAX_POOLS, PASSING, WEIGHTS};
use super::network::Tensors;
use super::tree::{Body, Layer, join};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A network while its activations become neurons.
pub(super) struct Rewrite<'a> {
    pub tensors: &'a mut Tensors,
    /// The scales by the paths of the activations.
    scales: BTreeMap<&'a str, &'a Factor>,
    /// Whether neurons start at half their threshold; `None`: those of QCFS do.
    half_threshold: Option<bool>,
}

impl<'a> Rewrite<'a> {
    pub fn new(
        tensors: &'a mut Tensors,
        scales: &'a [ActivationScale],
        half_threshold: Option<bool>,
    ) -> Self {
        let scales = scales.iter().map(|own| (own.layer.as_str(), &own.scale));
        Self {
            tensors,
            scales: scales.collect(),
            half_threshold,
        }
    }

    /// A complete list: its output has the units of the activations.
    pub fn complete(
        &mut self,
        layers: Vec<Layer>,
        path: &str,
        factor: Option<Factor>,
    ) -> Result<Vec<Layer>, ConversionError> {
        let (mut made, factor) = self.list(layers, path, factor)?;
        self.multiply(&mut made, path, factor)?;
        Ok(made)
    }

    /// The layers of a list whose input has to be multiplied by a factor; and the factor of their output.
    fn list(
        &mut self,
        layers: Vec<Layer>,
        path: &str,
        mut factor: Option<Factor>,
    ) -> Result<(Vec<Layer>, Option<Factor>), ConversionError> {
        let mut made = vec![];
        let mut rest = layers.into_iter();
        while let Some(mut layer) = rest.next() {
            let at = join(path, &layer.name);
            match layer.kind.as_str() {
                kind if WEIGHTS.contains(&kind) => {
                    if let Some(factor) = factor.take() {
                        factor.fold_into(&layer, &at, self.tensors)?;
                    }
                    made.push(layer);
                }
                kind if ACTIVATIONS.contains(&kind) => {
                    self.multiply(&mut made, path, factor.take())?;
                    let (neuron, own) = self.neuron(layer, &at)?;
                    made.push(neuron);
                    factor = Some(own);
                }
                kind if PASSING.contains(&kind) || MAX_POOLS.contains(&kind) => made.push(layer),
                "flatten" => {
                    // A factor of channels is one of features in linear layers only.
                    let to_linear = (rest.as_slice().iter())
                        .find(|next| !next.is(&["dropout", "flatten"]))
                        .is_some_and(|next| next.kind == "linear");
                    if !to_linear && matches!(factor, Some(Factor::Channel(_))) {
                        self.multiply(&mut made, path, factor.take())?;
                    }
                    made.push(layer);
                }
                "layers" => {
                    for body in &mut layer.bodies {
                        let inner = std::mem::take(&mut body.layers);
                        let at = join(&at, &body.name);
                        (body.layers, factor) = self.list(inner, &at, factor.take())?;
                    }
                    made.push(layer);
                }
                "residual" | "branches" => {
                    for body in &mut layer.bodies {
                        self.branch(body, &at, factor.clone())?;
                    }
                    factor = None;
                    made.push(layer);
                }
                _ => {
                    self.multiply(&mut made, path, factor.take())?;
                    made.push(layer);
                }
            }
        }
        Ok((made, factor))
    }

    /// A branch, whose output is added to that of others.
    fn branch(
        &mut self,
        body: &mut Body,
        path: &str,
        factor: Option<Factor>,
    ) -> Result<(), ConversionError> {
        let at = join(path, &body.name);
        let before = std::mem::take(&mut body.layers);
        body.layers = self.complete(before, &at, factor)?;
        if body.is_single && body.layers.len() != 1 {
            body.is_single = false;
            if let Some(first) = body.layers.iter_mut().find(|layer| layer.name.is_empty()) {
                first.name = "0".to_string();
                let own = join(&at, "0");
                // The layers that were added have names.
                let added: Vec<String> = (body.layers.iter())
                    .map(|layer| join(&at, &layer.name))
                    .filter(|added| *added != own)
                    .collect();
                self.tensors.rename(&at, &own, &added);
            }
        }
        Ok(())
    }

    /// Adds a layer that multiplies by a factor, if there is one.
    fn multiply(
        &mut self,
        made: &mut Vec<Layer>,
        path: &str,
        factor: Option<Factor>,
    ) -> Result<(), ConversionError> {
        let Some(factor) = factor else {
            return Ok(());
        };
        let last = made.last().map_or("", |layer| layer.name.as_str());
        let mut name = match last {
            "" => "scale".to_string(),
            last => format!("{last}-scale"),
        };
        while made.iter().any(|layer| layer.name == name) {
            name.push('_');
        }
        let layer = match &factor {
            Factor::Layer(value) => Layer::leaf(name, "rescale", json!(value)),
            Factor::Channel(values) => {
                let tensor = join(&join(path, &name), "scale");
                self.tensors.insert(&tensor, values);
                let mut layer = Layer::leaf(name, "rescale", Value::Null);
                layer.fields.insert("each_channel".to_string(), json!(true));
                layer
            }
        };
        made.push(layer);
        Ok(())
    }

    /// The neuron in place of an activation, and the factor of its output.
    fn neuron(&mut self, layer: Layer, path: &str) -> Result<(Layer, Factor), ConversionError> {
        let Some(&factor) = self.scales.get(path) else {
            return Err(ConversionError::Network {
                problem: format!("the activation `{path}` has no scale"),
                help: "convert with the scales of this network",
            });
        };
        let is_qcfs = layer.kind == "qcfs";
        self.tensors.remove(path);
        let half = self.half_threshold.unwrap_or(is_qcfs);
        let mut params = json!({"v_reset": null});
        let name = match factor {
            Factor::Layer(value) => {
                params["v_threshold"] = json!(value);
                if half { "half_threshold_if" } else { "if" }
            }
            Factor::Channel(values) => {
                let stored = json!({"granularity": "channel", "frozen": true});
                params["trainable"] = json!({"v_threshold": stored});
                self.tensors.insert(&join(path, "v_threshold"), values);
                if half {
                    params["trainable"]["v_start"] = stored;
                    let starts: Vec<f64> = values.iter().map(|value| 0.5 * value).collect();
                    self.tensors.insert(&join(path, "v_start"), &starts);
                }
                "if"
            }
        };
        let spec = json!({"neuron": name, "params": params});
        Ok((Layer::leaf(layer.name, "neuron", spec), factor.clone()))
    }
}
