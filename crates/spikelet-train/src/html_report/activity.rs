//! Spikes and potentials of neurons for the first test samples.

use crate::metric::recognized;
use crate::show::image_and_label;
use crate::test_pass::{LayerPass, TestPass};
use spikelet_data::{Dataset, image_shape};
use spikelet_graph::Tensor;
use spikelet_report::report::html::{
    LayerSample, Sample, SampledLayer, Samples, rounded, thumbnail,
};

/// The largest number of potentials of all layers together.
const POTENTIALS: usize = 80_000;
/// The largest number of neurons of a layer with potentials.
const CHOSEN: usize = 4;

/// A test sample with its label and prediction, if it has these, and its image.
pub(super) fn sample(test: &dyn Dataset, pass: &TestPass, index: usize) -> Sample {
    let image = image_shape(test).ok().and_then(|shape| {
        let (pixels, _) = image_and_label(test, index).ok()?;
        thumbnail(&pixels, shape)
    });
    let label = pass.labels.get(index);
    Sample {
        index,
        label: label.and_then(|label| usize::try_from(*label).ok()),
        predicted: pass.scores.get(index).and_then(|own| recognized(own)),
        loss: None,
        png: image,
        scores: None,
    }
}

/// The first samples, if neurons were observed or images are shown.
pub(super) fn samples(test: &dyn Dataset, pass: &TestPass) -> Option<Samples> {
    let observed = pass.layers.iter().map(|layer| layer.observation.samples());
    let shown = observed.max().unwrap_or(pass.examples.len());
    if shown == 0 {
        return None;
    }
    let samples = (0..shown).map(|index| {
        let scores = pass.scores.get(index);
        let scores = scores.map(|own| own.iter().map(|score| rounded(*score)).collect());
        Sample {
            scores,
            ..sample(test, pass, index)
        }
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

/// The observed values of a layer, `[steps, samples, neurons]`.
struct Values {
    samples: usize,
    neurons: usize,
    values: Vec<f64>,
}

impl Values {
    fn at(&self, sample: usize, neuron: usize, t: usize) -> f64 {
        let index = (t * self.samples + sample) * self.neurons + neuron;
        self.values.get(index).copied().unwrap_or(f64::NAN)
    }
}

/// The activity of one of `layers` layers for `samples` samples.
fn layer(pass: &LayerPass, samples: usize, layers: usize) -> SampledLayer {
    let observed = &pass.layer;
    let (steps, neurons) = (observed.observed_steps, observed.neurons.len());
    let values = |tensor: &Tensor| Values {
        samples,
        neurons,
        values: tensor.to_f64(),
    };
    let spikes = values(&pass.observation.spikes);
    let potentials = pass
        .observation
        .potentials
        .as_ref()
        .map(|both| both.each_ref().map(values));
    let budget = POTENTIALS / (samples * layers).max(1);
    let most = (budget / steps.max(1)).clamp(1, CHOSEN);
    let shown = steps.min((budget / most).max(1));
    let threshold = potentials.as_ref().and_then(|[v, distance]| {
        let all = v.values.iter().zip(&distance.values);
        common(all.map(|(v, distance)| v + distance))
    });
    let slots = observed.shape.iter().product::<usize>() * observed.time_steps;
    let of_each = pass.observation.spikes_of_each.to_f64();
    let sample = |sample: usize| {
        let spikes = &spikes;
        let fired = |neuron: usize| (0..steps).map(move |t| spikes.at(sample, neuron, t) != 0.0);
        let counts: Vec<usize> = (0..neurons)
            .map(|neuron| fired(neuron).filter(|fired| *fired).count())
            .collect();
        let chosen = choose(&counts, most);
        LayerSample {
            rate: of_each
                .get(sample)
                .and_then(|sum| rounded(sum / slots.max(1) as f64)),
            spikes: (0..neurons)
                .map(|neuron| hexadecimal(fired(neuron)))
                .collect(),
            v: potentials.as_ref().map(|[v, _]| {
                let curve = |&neuron: &usize| {
                    (0..shown)
                        .map(|t| rounded(v.at(sample, neuron, t)))
                        .collect()
                };
                chosen.iter().map(curve).collect()
            }),
            chosen,
        }
    };
    SampledLayer {
        name: super::short(&observed.name),
        shape: observed.shape.clone(),
        time_steps: observed.time_steps,
        shown_steps: steps,
        neurons: observed.neurons.clone(),
        threshold,
        samples: (0..samples).map(sample).collect(),
    }
}

/// Up to `most` neurons with these numbers of spikes: of those that fire the most active one, one in the middle and the
/// least active one; then a silent one.
fn choose(counts: &[usize], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|&neuron| std::cmp::Reverse(counts[neuron]));
    let firing = order.iter().filter(|&&neuron| counts[neuron] > 0).count();
    let places = [0, firing / 2, firing.saturating_sub(1), firing];
    let mut chosen: Vec<usize> = vec![];
    for place in places.into_iter().chain(0..order.len()) {
        if let Some(neuron) = order.get(place)
            && chosen.len() < most
            && !chosen.contains(neuron)
        {
            chosen.push(*neuron);
        }
    }
    chosen
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
    fn chosen_neurons_fire_differently_and_one_is_silent() {
        assert_eq!(choose(&[0, 9, 5, 0, 7, 1], 4), [1, 2, 5, 0]);
        assert_eq!(choose(&[0, 0, 0], 4), [0, 1, 2]);
        assert_eq!(choose(&[3, 4], 1), [1]);
        assert_eq!(choose(&[], 4), [0; 0]);
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
