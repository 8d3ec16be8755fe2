//! The activity of a trained network on a few images.

use super::draws::Draws;
use super::step::{BatchShape, LABELS, OUTPUT_SEQ, SCORES, Step, activation_name, feed};
use super::{Settings, TrainError};
use crate::engine::EvalEngine;
use crate::metric::recognized;
use spikelet_core::Result;
use spikelet_data::{Batch, DataLoader, Dataset, Subset, image_shape};
use spikelet_graph::Tensor;
use spikelet_nn::module::Module;
use spikelet_nn::runtime::VarStore;
use spikelet_report::report::{Activity, Example, LayerActivity};
use std::sync::Arc;

/// The samples `indices` as an evaluation batch.
fn batch_of(settings: &Settings, dataset: &Arc<dyn Dataset>, indices: &[usize]) -> Result<Batch> {
    if let Some(&index) = indices.iter().find(|&&index| index >= dataset.len()) {
        let dataset_name = dataset.name().to_string();
        return Err(TrainError::UnknownImage {
            index,
            dataset: dataset_name,
            images: dataset.len(),
        }
        .into());
    }
    let some = Arc::new(Subset::new(dataset.clone(), indices.to_vec())?);
    let loader = DataLoader::new(some, settings.test_batches(indices.len()))?;
    let batch = loader.epoch(0, 0).next();
    Ok(batch.expect("an epoch has a batch")?)
}

/// The bytes of the image of a sample, `[channels, height, width]`, and its label, if it has one.
pub(super) fn image_and_label(
    dataset: &dyn Dataset,
    index: usize,
) -> Result<(Vec<u8>, Option<usize>)> {
    let sample = dataset.sample(index)?;
    let pixels = sample
        .require("images")?
        .as_u8()
        .unwrap_or_default()
        .to_vec();
    let label = sample.get(LABELS).and_then(|labels| labels.as_i64());
    let label = label.and_then(|labels| usize::try_from(*labels.first()?).ok());
    Ok((pixels, label))
}

/// The bytes of an image in channels-last order.
fn pixels_of(image: &[u8], [channels, height, width]: [usize; 3]) -> Vec<u8> {
    let plane = height * width;
    let pixel = |at: usize| (0..channels).filter_map(move |c| image.get(c * plane + at));
    (0..plane).flat_map(pixel).copied().collect()
}

/// The images with their output spikes `[T, N, classes]` and scores `[N, classes]`.
pub(super) fn examples_of_outputs(
    dataset: &dyn Dataset,
    indices: &[usize],
    output: &Tensor,
    scores: &[Vec<f64>],
) -> Result<Vec<Example>> {
    let shape = image_shape(dataset)?;
    let [_, height, width] = shape;
    let (time_steps, classes) = (output.shape[0], output.shape[2]);
    let spikes = output.to_f64();
    let example = |(k, (&index, own)): (usize, (&usize, &Vec<f64>))| {
        let (image, label) = image_and_label(dataset, index)?;
        let at = |t: usize| (t * indices.len() + k) * classes;
        Ok(Example {
            image: pixels_of(&image, shape),
            width,
            height,
            spikes: (0..time_steps)
                .flat_map(|t| spikes[at(t)..at(t) + classes].iter().map(|s| *s != 0.0))
                .collect(),
            time_steps,
            classes,
            label,
            predicted: recognized(own),
        })
    };
    indices
        .iter()
        .zip(scores)
        .enumerate()
        .map(example)
        .collect()
}

/// The scores of each image.
pub(super) fn rows(scores: &Tensor) -> Vec<Vec<f64>> {
    let classes = scores.shape.last().copied().unwrap_or(1).max(1);
    scores
        .to_f64()
        .chunks(classes)
        .map(<[f64]>::to_vec)
        .collect()
}

fn shape_of(dataset: &dyn Dataset, indices: &[usize]) -> Result<BatchShape> {
    Ok(BatchShape {
        batch: indices.len(),
        image: image_shape(dataset)?,
    })
}

/// The first images, and the scores and labels of more of them.
pub(super) type FirstExamples = (Vec<Example>, Vec<Vec<f64>>, Vec<i64>);

/// The first images, at most `most` and a batch, and the scores and labels of the first `tested` images, with an engine that
/// returns the outputs of all steps. It needs no memory in addition to that of the evaluation.
pub(super) fn first_examples(
    eval: &mut dyn EvalEngine,
    test: &DataLoader,
    most: usize,
    tested: usize,
) -> Result<Option<FirstExamples>> {
    let (batch, dataset) = (eval.batch_size(), test.dataset());
    let mut batches = test.in_order(batch)?.epoch(0, 0);
    let (mut shown, mut all_scores, mut labels): FirstExamples = (vec![], vec![], vec![]);
    // Images that do not fill a batch are left out.
    for first in (0..=dataset.len().min(tested).saturating_sub(batch)).step_by(batch) {
        let Some(given) = batches.next().transpose()? else {
            break;
        };
        let Some(all) = eval.output_seq(&given)? else {
            return Ok(None);
        };
        labels.extend_from_slice(given.i64(LABELS)?);
        let (time_steps, classes) = (all.shape[0], all.shape[2]);
        let values = all.to_f64();
        let mut scores = vec![vec![0.0; classes]; batch];
        for step in values.chunks_exact(batch * classes) {
            for (scores, own) in scores.iter_mut().zip(step.chunks_exact(classes)) {
                for (score, value) in scores.iter_mut().zip(own) {
                    *score += value / time_steps as f64;
                }
            }
        }
        if first == 0 {
            let count = most.min(batch);
            let steps = values.chunks_exact(batch * classes);
            let own: Vec<f64> = steps
                .flat_map(|step| step[..count * classes].to_vec())
                .collect();
            let output = Tensor::f64([time_steps, count, classes], own);
            let indices: Vec<usize> = (0..count).collect();
            shown = examples_of_outputs(&**dataset, &indices, &output, &scores)?;
        }
        all_scores.extend(scores);
    }
    Ok(Some((shown, all_scores, labels)))
}

/// The name of the recorded spikes of a neuron.
const SPIKES: &str = ".spike_seq";

/// Runs the network on the images `indices` and records the spikes of every layer.
///
/// ```
/// use spikelet_nn::network::Network;
/// use spikelet_train::prelude::*;
/// use spikelet_train::show_activity;
///
/// let network = Network::find("mnist-fc")?;
/// let test = spikelet_data::synthetic::digits_of(0, 1, 3).test;
/// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
/// let module = network.module()?;
/// let shown = show_activity(&*module, &Settings::of_network(&network), &test, &[0, 2], &mut store)?;
/// assert_eq!(shown.layers[0].name, "fc.2");
/// assert_eq!(shown.layers[0].spikes.shape, [8, 2, 196]);
/// # Ok::<(), spikelet_core::Error>(())
/// ```
///
/// # Errors
/// When an index is out of range, shapes do not match, or the device fails.
pub fn show_activity(
    module: &dyn Module,
    settings: &Settings,
    dataset: &Arc<dyn Dataset>,
    indices: &[usize],
    store: &mut VarStore,
) -> Result<Activity> {
    let batch = batch_of(settings, dataset, indices)?;
    let shape = shape_of(&**dataset, indices)?;
    let step = Step::classifier_eval(module, settings, shape)?.read_activations(OUTPUT_SEQ);
    let trace = step.trace_evaluation()?;
    let cx = &trace.cx;
    let tracer = cx.tracer();
    let traced = cx.traced();
    let spiking: Vec<(&str, String)> = (traced.recorded.iter().enumerate())
        .filter_map(|(k, (path, value))| {
            let name = path.strip_suffix(SPIKES)?;
            // Two calls of one module record under one path.
            let output = format!("recorded {k}");
            tracer.output(&output, value);
            Some((name, output))
        })
        .collect();
    let mut program = cx.compile(store, settings.seed)?;
    // The random numbers of the first batch of an evaluation, as in the report.
    let draws = Draws::for_evaluation(settings.seed, 0);
    feed(&trace, &program, &batch, draws)?;
    program.run()?;
    let layers =
        (spiking.iter()).map(|(name, output)| Ok(LayerActivity::new(name, program.get(output)?)));
    let layers = layers.collect::<Result<_>>()?;
    let scores = rows(&program.get(SCORES)?);
    let output = program.get(&activation_name(OUTPUT_SEQ))?;
    let examples = examples_of_outputs(&**dataset, indices, &output, &scores)?;
    Ok(Activity {
        indices: indices.to_vec(),
        examples,
        scores,
        layers,
        classes: dataset.class_names(LABELS).to_vec(),
        captions: vec![],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colored_image_has_its_channels_beside_each_other() {
        let planes = [1, 2, 3, 4, 5, 6];
        assert_eq!(pixels_of(&planes, [3, 1, 2]), [1, 3, 5, 2, 4, 6]);
        assert_eq!(pixels_of(&planes, [1, 2, 3]), planes);
    }
}
