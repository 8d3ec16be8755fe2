//! Spikes and potentials of neurons for the first test samples.

use crate::report::html::{LayerSample, Sample, SampledLayer, Samples, rounded, thumbnail};
use crate::test_pass::{LayerPass, TestPass};
use spikelet_data::ImageDataset;

/// The largest number of potentials of all layers together.
const POTENTIALS: usize = 80_000;
/// The largest number of neurons of a layer with potentials.
const CHOSEN: usize = 4;

/// A test image with its label, prediction and scores.
pub(super) fn sample(test: &ImageDataset, index: usize, scores: &[f64]) -> Sample {
    Sample {
        index,
        label: test.labels.get(index).map(|&label| label as usize),
        predicted: Some(predicted(scores)),
        loss: None,
        png: test
            .image(index)
            .and_then(|image| thumbnail(image, test.shape)),
        scores: None,
    }
}

/// The class with the largest score.
pub(super) fn predicted(scores: &[f64]) -> usize {
    (0..scores.len()).fold(0, |best, k| if scores[k] > scores[best] { k } else { best })
}

pub(super) fn samples(test: &ImageDataset, pass: &TestPass) -> Option<Samples> {
    if pass.examples.is_empty() {
        return None;
    }
    let shown = pass.examples.len();
    let each = pass.scores.iter().take(shown).enumerate();
    let samples = each.map(|(index, scores)| Sample {
        scores: Some(scores.iter().map(|score| rounded(*score)).collect()),
        ..sample(test, index, scores)
    });
    Some(Samples {
        samples: samples.collect(),
        layers: pass
            .layers
            .iter()
            .map(|own| layer(own, shown, pass.layers.len()))
            .collect(),
    })
}

/// The activity of one of `layers` layers for `samples` samples.
fn layer(pass: &LayerPass, samples: usize, layers: usize) -> SampledLayer {
    let observed = &pass.layer;
    let (steps, neurons) = (observed.observed_steps, observed.neurons.len());
    let spikes = pass.observation.spikes.to_f64();
    let fired = |sample: usize, neuron: usize, t: usize| {
        spikes[(t * samples + sample) * neurons + neuron] != 0.0
    };
    // The neurons with potentials: from the most active one to the least active one.
    let count = |neuron: usize| {
        let each =
            (0..samples).map(|sample| (0..steps).filter(|&t| fired(sample, neuron, t)).count());
        each.sum::<usize>()
    };
    let mut order: Vec<usize> = (0..neurons).collect();
    order.sort_by_key(|&neuron| std::cmp::Reverse(count(neuron)));
    let budget = POTENTIALS / (samples * layers).max(1);
    let most = (budget / steps.max(1)).clamp(1, CHOSEN).min(neurons);
    let mut chosen: Vec<usize> = (0..most)
        .map(|k| order[k * (neurons - 1) / (most - 1).max(1)])
        .collect();
    chosen.dedup();
    let shown = steps.min((budget / most.max(1)).max(1));
    let potentials = pass
        .observation
        .potentials
        .as_ref()
        .map(|both| both.each_ref().map(|one| one.to_f64()));
    let at = |values: &[f64], sample: usize, neuron: usize, t: usize| {
        values[(t * samples + sample) * neurons + neuron]
    };
    let threshold = potentials.as_ref().and_then(|[v, distance]| {
        let neurons = chosen
            .iter()
            .flat_map(|&neuron| (0..samples).map(move |sample| (sample, neuron)));
        let all = neurons.flat_map(|(sample, neuron)| (0..steps).map(move |t| (sample, neuron, t)));
        common(
            all.map(|(sample, neuron, t)| {
                at(v, sample, neuron, t) + at(distance, sample, neuron, t)
            }),
        )
    });
    let slots: usize = observed.shape.iter().product::<usize>() * observed.time_steps;
    let of_each = pass.observation.spikes_of_each.to_f64();
    let sample = |sample: usize| LayerSample {
        rate: of_each
            .get(sample)
            .and_then(|sum| rounded(sum / slots.max(1) as f64)),
        spikes: (0..neurons)
            .map(|neuron| hexadecimal((0..steps).map(|t| fired(sample, neuron, t))))
            .collect(),
        v: potentials.as_ref().map(|[v, _]| {
            let curve = |&neuron: &usize| {
                (0..shown)
                    .map(|t| rounded(at(v, sample, neuron, t)))
                    .collect()
            };
            chosen.iter().map(curve).collect()
        }),
    };
    SampledLayer {
        name: super::short(&observed.name),
        shape: observed.shape.clone(),
        time_steps: observed.time_steps,
        shown_steps: steps,
        neurons: observed.neurons.clone(),
        threshold,
        samples: (0..samples).map(sample).collect(),
        chosen,
    }
}

/// The value that nearly all of these are: the sum of a potential and its distance is the threshold as long as the
/// potential is below it. `None` if they differ, as with a threshold of each neuron.
fn common(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let middle = *values.get(values.len() / 2)?;
    let near = |value: &&f64| (**value - middle).abs() <= 1e-3 * middle.abs().max(1e-3);
    let same = values.iter().filter(near).count();
    (same * 10 >= values.len() * 9)
        .then(|| rounded(middle))
        .flatten()
}

/// Bits as hexadecimal digits, the first bit in the most significant place; filled up with zeros.
fn hexadecimal(bits: impl Iterator<Item = bool>) -> String {
    let bits: Vec<bool> = bits.collect();
    let digit = |four: &[bool]| {
        let value = (0..4).fold(0, |value, k| {
            value << 1 | u32::from(four.get(k) == Some(&true))
        });
        char::from_digit(value, 16).unwrap_or('0')
    };
    bits.chunks(4).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_hexadecimal_digits_from_the_first_one() {
        assert_eq!(
            hexadecimal([true, false, false, true, true].into_iter()),
            "98"
        );
        assert_eq!(hexadecimal([].into_iter()), "");
    }

    #[test]
    fn a_threshold_is_one_that_nearly_all_values_agree_on() {
        let mut values = vec![1.0; 95];
        values.extend([3.0; 5]);
        assert_eq!(common(values.iter().copied()), Some(1.0));
        assert_eq!(common([0.5, 1.0, 1.5].into_iter()), None);
        assert_eq!(common([].into_iter()), None);
    }
}
