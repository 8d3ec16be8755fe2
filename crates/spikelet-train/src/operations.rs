//! The operations of a network over a data set.

use super::Settings;
use super::evaluation::{Evaluation, classifier_loader, evaluate_step};
use super::step::{Activity, EpochMetrics, Step, activity};
use spikelet_core::Result;
use spikelet_data::{DataLoader, Dataset};
use spikelet_nn::energy::{LayerCounts, NetworkCounts, Synapses};
use spikelet_nn::module::{CountedKind, Module};
use spikelet_nn::runtime::VarStore;
use std::sync::Arc;

/// The operations of a classifier on a data set, for estimates of energy, with its accuracy and loss.
///
/// See [`Step::count_operations`]. The evaluation is that of [`evaluate`](crate::evaluate).
///
/// # Errors
/// When shapes do not match, or the device has not enough memory or fails.
pub fn count_operations(
    module: &dyn Module,
    settings: &Settings,
    data: &Arc<dyn Dataset>,
    store: &mut VarStore,
) -> Result<(Evaluation, NetworkCounts)> {
    let (step, loader) = classifier_loader(module, settings, data)?;
    let (found, counts) = count(&step, settings.evaluation_batch, &loader, store)?;
    Ok((Evaluation::of(&found), counts))
}

impl Step<'_> {
    /// Counts the operations of the layers over a data set: products of nonzero weights and nonzero inputs, spikes, and
    /// the sizes of the layers.
    ///
    /// Activity is counted on the device in an evaluation; the counts are exact. A row has a layer with weights
    /// ([`Linear`](spikelet_nn::layer::Linear), convolutions, and modules that call
    /// [`Observer::synapses`](spikelet_nn::module::Observer::synapses)) and the first neurons after it, if
    /// there are any before the next layer with weights. The parameters of other layers, such as normalization, belong
    /// to the row before them. A layer before the first neurons with an input that is the same at all time steps is
    /// counted at every time step.
    ///
    /// A layer's operations are accumulates if its input has only the values −1, 0 and 1 in all batches of the data set,
    /// otherwise multiply-accumulates, so that they do not depend on the batch size.
    ///
    /// ```
    /// use spikelet_data::{DType, DataLoader, Field, InMemory, LoaderConfig};
    /// use spikelet_train::prelude::*;
    /// use spikelet_train::{Outputs, Step};
    /// use std::sync::Arc;
    /// let net = Sequential::new().add(Linear::new(2, 3)).add(Lif::new(2.0));
    /// let step = Step::new(|cx, inputs| {
    ///     let y = net.forward(cx, &inputs["x"].repeat_over_time(4))?;
    ///     Ok(Outputs::loss(y.mean_all()))
    /// })
    /// .input("x", DType::F32, [2])
    /// .optimizer(Sgd::new(0.1));
    /// let data = InMemory::new("ones").with(Field::new("x", DType::F32, [2]), vec![1.0_f32; 20])?;
    /// let loader = DataLoader::new(Arc::new(data), LoaderConfig::default())?;
    /// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    /// let counts = step.count_operations(&loader, &mut store)?;
    /// assert_eq!(counts.samples, 10);
    /// assert_eq!(counts.layers[0].accumulates, 10 * 4 * 6); // samples × steps × weights
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Step::evaluate`].
    pub fn count_operations(
        &self,
        data: &DataLoader,
        store: &mut VarStore,
    ) -> Result<NetworkCounts> {
        Ok(count(self, None, data, store)?.1)
    }
}

/// Evaluates a step and counts its operations.
fn count(
    step: &Step<'_>,
    batch: Option<usize>,
    data: &DataLoader,
    store: &mut VarStore,
) -> Result<(EpochMetrics, NetworkCounts)> {
    let step = step.clone().counting_operations();
    let traced = step.counted()?;
    let metrics = evaluate_step(&step, batch, data, store)?;
    let values = traced.counted_values();
    let mut layers: Vec<LayerCounts> = vec![];
    let sizes = traced.counted_sizes();
    for (k, (layer, value)) in traced.counted.iter().zip(&values).enumerate() {
        let [parameters, buffers] = sizes[k];
        let shape = value.shape();
        let (passes, elements) = (shape[0] as u64, size_of(&shape[2..]));
        let activity = activity(&metrics, k);
        match &layer.kind {
            CountedKind::Synapses { synapses, weight } => {
                // The weight of a layer that runs a second time is already counted.
                let known = traced.counted[..k].iter().any(|other| {
                    matches!(&other.kind, CountedKind::Synapses { weight: known, .. } if known == weight)
                });
                let values = store.get(weight)?.to_f64();
                let zeros = values.iter().filter(|value| **value == 0.0).count() as u64;
                layers.push(LayerCounts {
                    name: layer.path.clone(),
                    connections: synapses.products(&vec![1; elements as usize], |_| true),
                    passes,
                    weights: if known { 0 } else { synapses.weights() as u64 },
                    zero_weights: if known { 0 } else { zeros },
                    inputs: elements,
                    analog_inputs: activity.analog,
                    outputs: size_of(&synapses.output(&shape[2..])),
                    analog_outputs: true,
                    ..effective(synapses, &values, &activity)
                });
            }
            CountedKind::Neurons { ops, analog } => {
                // Neurons without a layer of weights before them are a row.
                if !matches!(layers.last(), Some(row) if row.neurons == 0 && row.passes == passes) {
                    layers.push(LayerCounts {
                        name: layer.path.clone(),
                        passes,
                        inputs: elements,
                        analog_inputs: true,
                        ..LayerCounts::default()
                    });
                }
                if let Some(row) = layers.last_mut() {
                    row.neurons = elements;
                    row.ops = *ops;
                    row.outputs = elements;
                    row.analog_outputs = *analog;
                    row.nonzero_outputs = activity.nonzero.iter().sum();
                    row.membrane_changes = activity.membrane_changes;
                }
            }
            _ => continue,
        }
        if let Some(row) = layers.last_mut() {
            row.parameters += parameters;
            row.buffers += buffers;
        }
    }
    let samples = metrics.samples() as u64;
    let counts = NetworkCounts { samples, layers };
    counts.check()?;
    Ok((metrics, counts))
}

/// The effective operations of a layer.
fn effective(synapses: &Synapses, weights: &[f64], activity: &Activity) -> LayerCounts {
    let products = synapses.products(&activity.nonzero, |k| {
        weights.get(k).is_some_and(|w| *w != 0.0)
    });
    let [accumulates, multiply_accumulates] = match activity.analog {
        false => [products, 0],
        true => [0, products],
    };
    LayerCounts {
        accumulates,
        multiply_accumulates,
        ..LayerCounts::default()
    }
}

fn size_of(shape: &[usize]) -> u64 {
    shape.iter().map(|size| *size as u64).product()
}
