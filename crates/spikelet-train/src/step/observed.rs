//! The activity of some neurons of each layer in an evaluation, for the report of a run.
//!
//! The neurons are chosen before the program is compiled, so that the program returns their spikes and potentials only:
//! those of all neurons would need more memory than the evaluation.

use super::classifier::OUTPUT_SEQ;
use super::outputs::Outputs;
use super::{EvalStep, Step};
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::{DType, Tensor, Var};
use spikelet_nn::module::Trace;

/// A layer of neurons whose activity can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObservedLayer {
    /// The path; empty if the network itself is a neuron.
    pub(crate) name: String,
    /// Of one sample at one time step.
    pub(crate) shape: Vec<usize>,
    /// The number of time steps, and of those that are observed.
    pub(crate) time_steps: usize,
    pub(crate) observed_steps: usize,
    /// The indices of the observed neurons.
    pub(crate) neurons: Vec<usize>,
    /// Whether there are potentials.
    pub(crate) potentials: bool,
}

/// The activity of a layer in the last run of an evaluation.
#[derive(Clone, Debug)]
pub(crate) struct Observation {
    /// The number of spikes of each observed sample, over all time steps and neurons.
    pub(crate) spikes_of_each: Tensor,
    /// 1 where an observed neuron fired, `[T, samples, neurons]`.
    pub(crate) spikes: Tensor,
    /// The potentials after the reset and their distances to the threshold, likewise.
    pub(crate) potentials: Option<[Tensor; 2]>,
}

impl Observation {
    /// The number of observed samples.
    #[cfg(feature = "plots")]
    pub(crate) fn samples(&self) -> usize {
        self.spikes_of_each.len()
    }
}

/// The observed neurons of all layers together, and of one.
const NEURONS: usize = 2048;
const NEURONS_OF_A_LAYER: [usize; 2] = [8, 64];
/// The elements of all observed sequences together.
const ELEMENTS: usize = 1_600_000;
/// The smallest limit of the observed time steps.
const LEAST_STEPS: usize = 64;

/// The output of the program that is the network's at every step.
const OBSERVED_OUTPUT: &str = "observed output";

fn output_name(layer: usize, what: &str) -> String {
    format!("observed {layer} {what}")
}

impl Step<'_> {
    /// Makes the activity of some neurons of all layers readable after evaluations, for the first `samples` samples of
    /// a batch, and the network's output at every step, if the function records or returns it as `output_seq`.
    pub(crate) fn observe(mut self, samples: usize) -> Self {
        self.observed = samples;
        self
    }

    /// Adds the output at every step, if there is one.
    pub(super) fn trace_observed_output(&self, cx: &Trace, outputs: &Outputs) -> bool {
        let recorded = cx.traced().recorded;
        let mut all = outputs.outputs.iter().chain(&recorded);
        let found = all.find(|(name, _)| name == OUTPUT_SEQ);
        if let Some((_, value)) = found {
            cx.tracer().output(OBSERVED_OUTPUT, value);
        }
        found.is_some()
    }

    /// Adds the outputs of the observed layers.
    pub(super) fn trace_observed(&self, cx: &Trace) -> Vec<ObservedLayer> {
        let recorded = cx.traced().recorded;
        let spiking: Vec<(usize, &str, &Var)> = (recorded.iter().enumerate())
            .filter_map(|(k, (path, value))| {
                let name = path.strip_suffix("spike_seq")?;
                (name.is_empty() || name.ends_with('.')).then_some((k, name, value))
            })
            .collect();
        let [least, most] = NEURONS_OF_A_LAYER;
        let neurons = (NEURONS / spiking.len().max(1)).clamp(least, most);
        let sequences = (neurons * spiking.len() * self.observed).max(1);
        let steps = (ELEMENTS / sequences).max(LEAST_STEPS);
        let mut layers = vec![];
        for (at, (k, prefix, spikes)) in spiking.iter().enumerate() {
            // A module that is called twice records twice under one path: the values of a call follow its spikes.
            let end = spiking
                .get(at + 1)
                .map_or(recorded.len(), |(next, ..)| *next);
            let own = |value: &str| {
                let path = format!("{prefix}{value}");
                recorded[*k..end]
                    .iter()
                    .find_map(|(other, var)| (*other == path).then_some(var))
            };
            let potentials = own("v_seq").zip(own("distance_seq"));
            let Some(chosen) = Chosen::new(spikes, self.observed, steps, neurons) else {
                continue;
            };
            let fired = spikes
                .cast(DType::F32)
                .map1(|s| Expr::select(s.abs().gt(0.0), 1.0, 0.0));
            let output = |what: &str, value: &Var| {
                cx.tracer().output(&output_name(layers.len(), what), value);
            };
            let rest: Vec<usize> = (0..fired.rank()).filter(|&axis| axis != 1).collect();
            output(
                "each",
                &fired
                    .slice(1, 0..chosen.samples)
                    .sum(&rest)
                    .reshape([chosen.samples]),
            );
            output("spikes", &chosen.of(&fired));
            let potentials = potentials.filter(|(v, _)| v.shape() == spikes.shape());
            if let Some((v, distance)) = potentials {
                output("v", &chosen.of(&v.cast(DType::F32)));
                output("distance", &chosen.of(&distance.cast(DType::F32)));
            }
            layers.push(ObservedLayer {
                name: prefix.strip_suffix('.').unwrap_or_default().to_string(),
                shape: spikes.shape()[2..].to_vec(),
                time_steps: spikes.dim(0),
                observed_steps: chosen.steps,
                neurons: chosen.indices(),
                potentials: potentials.is_some(),
            });
        }
        layers
    }
}

/// The chosen samples, time steps and neurons of a sequence `[T, N, …]`. The neurons are at the same place of equally
/// long parts of a layer; a layer of channels has its middle there.
#[derive(Debug)]
struct Chosen {
    samples: usize,
    steps: usize,
    /// The number of parts, their length, and the place in them.
    parts: usize,
    length: usize,
    place: usize,
}

impl Chosen {
    /// `None` for an empty sequence, or one without a batch.
    fn new(sequence: &Var, samples: usize, steps: usize, most: usize) -> Option<Self> {
        let shape = sequence.shape();
        let [time_steps, batch, own @ ..] = shape else {
            return None;
        };
        let neurons: usize = own.iter().product();
        if neurons * time_steps * batch == 0 {
            return None;
        }
        let parts = most.min(neurons);
        let length = neurons / parts;
        let row = match own {
            [_, _, width] => width / 2,
            _ => 0,
        };
        Some(Self {
            samples: samples.min(*batch),
            steps: steps.min(*time_steps),
            parts,
            length,
            place: (length / 2 + row).min(length - 1),
        })
    }

    /// The chosen elements, `[steps, samples, parts]`.
    fn of(&self, sequence: &Var) -> Var {
        let Self {
            samples,
            steps,
            parts,
            length,
            place,
        } = *self;
        let some = sequence.slice(0, 0..steps).slice(1, 0..samples);
        let neurons: usize = some.shape()[2..].iter().product();
        let some = some
            .reshape([steps, samples, neurons])
            .slice(2, 0..parts * length);
        let some = some.reshape([steps, samples, parts, length]);
        some.slice(3, place..place + 1)
            .reshape([steps, samples, parts])
    }

    fn indices(&self) -> Vec<usize> {
        (0..self.parts)
            .map(|part| part * self.length + self.place)
            .collect()
    }
}

impl EvalStep {
    /// The observed layers.
    pub(crate) fn observed(&self) -> &[ObservedLayer] {
        &self.info.observed
    }

    /// The network's output at every step of the last run, if it is observed.
    pub(crate) fn observed_output(&self) -> Result<Option<Tensor>> {
        let output = self.info.observes_output;
        output
            .then(|| self.program().get(OBSERVED_OUTPUT))
            .transpose()
    }

    /// The activity of observed layer `layer` in the last run.
    pub(crate) fn observation(&self, layer: usize) -> Result<Observation> {
        let get = |what: &str| self.program().get(&output_name(layer, what));
        let potentials = match self.observed().get(layer) {
            Some(observed) if observed.potentials => Some([get("v")?, get("distance")?]),
            _ => None,
        };
        Ok(Observation {
            spikes_of_each: get("each")?,
            spikes: get("spikes")?,
            potentials,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_graph::Tracer;

    fn chosen(shape: &[usize], most: usize) -> Chosen {
        let tracer = Tracer::new(DType::F32);
        let sequence = tracer.input("x", DType::F32, shape.to_vec());
        let chosen = Chosen::new(&sequence, 2, 3, most).expect("a sequence");
        let of = chosen.of(&sequence);
        assert_eq!(of.shape(), [chosen.steps, chosen.samples, chosen.parts]);
        tracer.check().expect("shapes match");
        chosen
    }

    #[test]
    fn neurons_are_spread_over_the_layer() {
        assert_eq!(
            chosen(&[4, 5, 10], 64).indices(),
            (0..10).collect::<Vec<_>>()
        );
        assert_eq!(chosen(&[4, 5, 25], 4).indices(), [3, 9, 15, 21]);
        assert_eq!(chosen(&[4, 5], 4).indices(), [0]);
        // The middle of each channel.
        let middle = 4 * 8 + 4;
        assert_eq!(chosen(&[4, 1, 2, 8, 8], 2).indices(), [middle, 64 + middle]);
    }

    #[test]
    fn an_empty_sequence_is_not_observed() {
        let tracer = Tracer::new(DType::F32);
        let single = tracer.input("x", DType::F32, vec![4]);
        assert!(Chosen::new(&single, 2, 3, 4).is_none());
    }
}
