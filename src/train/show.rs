//! What a trained network does with a few images.

use super::{EvalStep, Settings, Shape};
use crate::error::Result;
use crate::model::Store;
use crate::module::Module;
use crate::report::Example;
use spikelet_data::{Batch, Dataset};

/// Runs the network on the images `indices` and returns each with the output spikes it caused.
///
/// # Errors
/// When shapes do not fit or the device fails.
pub fn show_examples(
    module: &dyn Module,
    settings: &Settings,
    dataset: &Dataset,
    indices: &[usize],
    store: &mut Store,
) -> Result<Vec<Example>> {
    let shape = Shape {
        batch: indices.len(),
        image: dataset.shape,
    };
    let mut step = EvalStep::new(module, settings, shape, true, store)?;
    let pixels = indices.iter().filter_map(|&i| dataset.image(i)).flatten();
    let batch = Batch {
        images: pixels.map(|&p| f32::from(p) / 255.0).collect(),
        labels: indices
            .iter()
            .map(|&i| i64::from(dataset.labels[i]))
            .collect(),
        indices: indices.iter().map(|&i| i as u32).collect(),
        index_in_epoch: 0,
    };
    step.run(&batch, 0)?;
    let output = step.program().get("output_seq")?;
    let scores = step.program().get("scores")?.to_f64();
    let (time_steps, classes) = (output.shape[0], output.shape[2]);
    let spikes = output.to_f64();
    let examples = indices.iter().enumerate().map(|(k, &i)| {
        let own = &scores[k * classes..(k + 1) * classes];
        let predicted = (0..classes).fold(0, |best, c| if own[c] > own[best] { c } else { best });
        let at = |t: usize| (t * indices.len() + k) * classes;
        Example {
            image: dataset.image(i).unwrap_or_default().to_vec(),
            width: dataset.shape[2],
            height: dataset.shape[1],
            spikes: (0..time_steps)
                .flat_map(|t| spikes[at(t)..at(t) + classes].iter().map(|s| *s != 0.0))
                .collect(),
            time_steps,
            classes,
            label: usize::from(dataset.labels[i]),
            predicted,
        }
    });
    Ok(examples.collect())
}
