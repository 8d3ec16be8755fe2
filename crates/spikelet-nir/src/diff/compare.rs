//! Where and how far the sequences of two networks differ.

use super::pairs::Pairs;
use super::recording::{Quantity, Recording, Sequence};

/// The first element that differs: that of the earliest time step, within a step of the first layer.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstDifference {
    /// The layer in A.
    pub layer_a: String,
    /// The layer in B.
    pub layer_b: String,
    /// Which of its sequences.
    pub quantity: Quantity,
    /// The time step, from 0.
    pub step: usize,
    /// The sample, from 0.
    pub sample: usize,
    /// The index of the neuron in its layer.
    pub neuron: Vec<usize>,
    /// The value in A.
    pub a: f64,
    /// The value in B.
    pub b: f64,
    /// The potentials of this neuron in this step before the reset, if they are known.
    pub h: [Option<f64>; 2],
}

/// The differences of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerDifference {
    /// The layer in A.
    pub layer_a: String,
    /// The layer in B.
    pub layer_b: String,
    /// The sequences that both have.
    pub quantities: Vec<Quantity>,
    /// The number of compared elements.
    pub elements: usize,
    /// The number of elements that differ.
    pub differing: usize,
    /// The first time step with a difference.
    pub first_step: Option<usize>,
    /// The largest |a − b|.
    pub largest: f64,
}

/// A comparison of all layers.
#[derive(Clone, Debug, Default)]
pub(super) struct Comparison {
    pub(super) layers: Vec<LayerDifference>,
    pub(super) first: Option<FirstDifference>,
}

impl Comparison {
    pub(super) fn differing(&self) -> usize {
        self.layers.iter().map(|layer| layer.differing).sum()
    }
}

/// Whether two values differ by more than tolerance·max(1, |a|). NaN equals NaN only.
pub(super) fn differs(a: f64, b: f64, tolerance: f64) -> bool {
    if a == b || (a.is_nan() && b.is_nan()) {
        return false;
    }
    let distance = (a - b).abs();
    // NaN and infinities are far from everything else.
    distance > tolerance * a.abs().max(1.0) || distance.is_nan() || a.is_infinite()
}

pub(super) fn compare(a: &Recording, b: &Recording, pairs: &Pairs, tolerance: f64) -> Comparison {
    let mut comparison = Comparison::default();
    for (name_a, name_b) in &pairs.names {
        let (Some(of_a), Some(of_b)) = (a.get(name_a), b.get(name_b)) else {
            continue;
        };
        let mut layer = LayerDifference {
            layer_a: name_a.clone(),
            layer_b: name_b.clone(),
            quantities: vec![],
            elements: 0,
            differing: 0,
            first_step: None,
            largest: 0.0,
        };
        for (quantity, x) in &of_a.values {
            let Some(y) = of_b
                .values
                .get(quantity)
                .filter(|y| y.values.len() == x.values.len())
            else {
                continue;
            };
            layer.quantities.push(*quantity);
            layer.elements += x.values.len();
            let Some(element) = count(&mut layer, x, y, tolerance) else {
                continue;
            };
            let (step, sample, neuron) = x.position(element);
            layer.first_step = Some(layer.first_step.map_or(step, |first| first.min(step)));
            if comparison
                .first
                .as_ref()
                .is_none_or(|first| step < first.step)
            {
                let h = [of_a, of_b].map(|layer| {
                    let h = layer.values.get(&Quantity::PotentialBeforeReset)?;
                    h.values.get(element).copied()
                });
                comparison.first = Some(FirstDifference {
                    layer_a: name_a.clone(),
                    layer_b: name_b.clone(),
                    quantity: *quantity,
                    step,
                    sample,
                    neuron,
                    a: x.values[element],
                    b: y.values[element],
                    h,
                });
            }
        }
        comparison.layers.push(layer);
    }
    comparison
}

/// Counts the elements that differ; the first of them.
fn count(layer: &mut LayerDifference, a: &Sequence, b: &Sequence, tolerance: f64) -> Option<usize> {
    let mut first = None;
    for (k, (&x, &y)) in a.values.iter().zip(&b.values).enumerate() {
        let distance = (x - y).abs();
        if distance > layer.largest {
            layer.largest = distance;
        }
        if differs(x, y, tolerance) {
            layer.differing += 1;
            first.get_or_insert(k);
        }
    }
    first
}

/// How far an output of the networks is apart.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputDifference {
    /// The layer in A.
    pub layer_a: String,
    /// The layer in B.
    pub layer_b: String,
    /// The number of elements.
    pub elements: usize,
    /// The number of elements that differ.
    pub differing: usize,
    /// The largest |a − b|.
    pub largest: f64,
    /// The mean |a − b|.
    pub mean: f64,
    /// The number of samples.
    pub samples: usize,
    /// The number of samples whose largest sum over time is that of another neuron; none for a single neuron.
    pub other_class: Option<usize>,
}

pub(super) fn output(
    a: (&str, &Sequence),
    b: (&str, &Sequence),
    tolerance: f64,
) -> OutputDifference {
    let ((layer_a, x), (layer_b, y)) = (a, b);
    let distances = || x.values.iter().zip(&y.values).map(|(x, y)| (x - y).abs());
    let elements = x.values.len();
    let samples = x.shape.get(1).copied().unwrap_or(0);
    let neurons = x.shape.get(2..).map_or(1, |shape| shape.iter().product());
    let classes = |sequence: &Sequence| -> Vec<usize> {
        (0..samples)
            .map(|sample| class(sequence, samples, neurons, sample))
            .collect()
    };
    let other_class = (neurons > 1).then(|| {
        let (x, y) = (classes(x), classes(y));
        x.iter().zip(&y).filter(|(x, y)| x != y).count()
    });
    let all = x.values.iter().zip(&y.values);
    OutputDifference {
        layer_a: layer_a.to_string(),
        layer_b: layer_b.to_string(),
        elements,
        differing: all.filter(|(x, y)| differs(**x, **y, tolerance)).count(),
        largest: distances().fold(0.0, f64::max),
        mean: distances().sum::<f64>() / elements.max(1) as f64,
        samples,
        other_class,
    }
}

/// The neuron of a sample with the largest sum over time.
fn class(sequence: &Sequence, samples: usize, neurons: usize, sample: usize) -> usize {
    let mut sums = vec![0.0; neurons];
    for step in sequence.values.chunks(samples * neurons) {
        for (sum, value) in sums.iter_mut().zip(&step[sample * neurons..]) {
            *sum += value;
        }
    }
    let larger = |best: usize, k: usize| if sums[k] > sums[best] { k } else { best };
    (1..neurons).fold(0, larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_equals_nan_only_and_infinities_themselves() {
        let (nan, infinite) = (f64::NAN, f64::INFINITY);
        assert!(!differs(nan, nan, 1e-5) && differs(nan, 1.0, 1e-5) && differs(1.0, nan, 1e-5));
        assert!(!differs(infinite, infinite, 1e-5) && differs(infinite, 1.0, 1e-5));
        assert!(differs(1.0, infinite, 1e-5));
        assert!(!differs(1000.0, 1000.005, 1e-5) && differs(0.0, 2e-5, 1e-5));
    }
}
