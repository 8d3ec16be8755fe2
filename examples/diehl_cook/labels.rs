//! Classes of neurons, and predictions from the numbers of their spikes.

/// The classes of the digits.
pub const CLASSES: usize = 10;

/// The spikes of each neuron for the images of each class.
#[derive(Clone, Debug, PartialEq)]
pub struct Responses {
    /// `[neurons][classes]`
    pub spikes: Vec<[u64; CLASSES]>,
    /// The number of images of each class.
    pub images: [u64; CLASSES],
}

impl Responses {
    pub fn new(neurons: usize) -> Self {
        Self {
            spikes: vec![[0; CLASSES]; neurons],
            images: [0; CLASSES],
        }
    }

    /// Adds the spikes of each neuron for an image of class `label`.
    pub fn add(&mut self, label: usize, counts: &[u32]) {
        self.images[label] += 1;
        for (neuron, count) in self.spikes.iter_mut().zip(counts) {
            neuron[label] += u64::from(*count);
        }
    }

    /// The class for whose images each neuron fires most on average; `None` for a neuron that never fired, which has no
    /// say in predictions.
    pub fn classes(&self) -> Vec<Option<usize>> {
        let class = |spikes: &[u64; CLASSES]| {
            let mean = |class: usize| spikes[class] as f64 / self.images[class].max(1) as f64;
            let best = (0..CLASSES).fold(0, |best, class| match mean(class) > mean(best) {
                true => class,
                false => best,
            });
            (spikes[best] > 0).then_some(best)
        };
        self.spikes.iter().map(class).collect()
    }
}

/// The class whose neurons fired most on average; `None` if no neuron with a class fired.
pub fn prediction(classes: &[Option<usize>], counts: &[u32]) -> Option<usize> {
    let (mut spikes, mut neurons) = ([0.0; CLASSES], [0.0_f64; CLASSES]);
    for (class, count) in classes.iter().zip(counts) {
        if let Some(class) = class {
            spikes[*class] += f64::from(*count);
            neurons[*class] += 1.0;
        }
    }
    let mean = |class: usize| spikes[class] / neurons[class].max(1.0);
    let best = (0..CLASSES).fold(0, |best, class| match mean(class) > mean(best) {
        true => class,
        false => best,
    });
    (spikes[best] > 0.0).then_some(best)
}
