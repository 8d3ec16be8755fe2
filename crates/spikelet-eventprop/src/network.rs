//! A network: layers of LIF neurons in a row, and perhaps a readout.

use crate::error::{Error, Result, positive};
use crate::layer::{Failure, LayerTrace, LifLayer};
use crate::loss::OutputKind;
use crate::readout::Readout;
use crate::spikes::{Spike, SpikeTrain};
use crate::trace::Trace;
use rayon::prelude::*;

/// Layers of LIF neurons, each of which reads the spikes of the one before it.
///
/// The outputs are the times of the first spikes of the last layer, or functionals of the potentials of a
/// [`Readout`] behind it.
///
/// ```
/// use spikelet_eventprop::{LifLayer, Network, SpikeTrain, TimeConstants, Weights};
/// let tau = TimeConstants { tau_m: 20.0, tau_s: 5.0 };
/// let layer = |targets, sources| LifLayer::new(tau, 1.0, Weights::from_fn(targets, sources, |_, _| 9.0));
/// let network = Network::new(30.0, vec![layer(4, 2)?, layer(3, 4)?])?;
/// let traces = network.forward(&[SpikeTrain::new([(1.0, 0), (2.5, 1)])])?;
/// assert!(traces[0].outputs().iter().all(|&t| t < 10.0));
/// # Ok::<(), spikelet_eventprop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Network {
    pub(crate) t_end: f64,
    pub(crate) layers: Vec<LifLayer>,
    pub(crate) readout: Option<Readout>,
}

impl Network {
    /// A network whose samples last from 0 to `t_end`, in the unit of the time constants.
    ///
    /// # Errors
    /// When there is no layer, `t_end` is not greater than 0, or a layer has another number of inputs than the layer
    /// before it has neurons.
    pub fn new(t_end: f64, layers: Vec<LifLayer>) -> Result<Self> {
        positive("t_end", t_end, "give the time at which a sample ends")?;
        if layers.is_empty() {
            return Err(Error::Size {
                what: "the network".to_string(),
                given: "no layer".to_string(),
                expected: "at least one".to_string(),
                help: "add a `LifLayer`",
            });
        }
        for (k, pair) in layers.windows(2).enumerate() {
            check_inputs(
                &format!("layer {}", k + 1),
                pair[1].inputs(),
                k,
                pair[0].neurons(),
            )?;
        }
        Ok(Self {
            t_end,
            layers,
            readout: None,
        })
    }

    /// Adds a readout behind the last layer.
    ///
    /// # Errors
    /// When it has another number of inputs than the last layer has neurons.
    pub fn readout(mut self, readout: Readout) -> Result<Self> {
        let last = self.layers.len() - 1;
        check_inputs(
            "the readout",
            readout.weights().sources(),
            last,
            self.layers[last].neurons(),
        )?;
        self.readout = Some(readout);
        Ok(self)
    }

    /// The layers.
    pub fn layers(&self) -> &[LifLayer] {
        &self.layers
    }

    /// The time at which a sample ends.
    pub fn t_end(&self) -> f64 {
        self.t_end
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.layers[0].inputs()
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        match (&self.readout, self.layers.last()) {
            (Some(readout), _) => readout.neurons(),
            (None, last) => last.map_or(0, LifLayer::neurons),
        }
    }

    /// The number of inputs, of the neurons of each layer, and of the outputs.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let layers = self.layers.iter().map(LifLayer::neurons);
        let ends = [self.inputs(), self.outputs()];
        ends.into_iter().chain(layers).collect()
    }

    /// The kind of the outputs.
    pub fn output_kind(&self) -> OutputKind {
        match self.readout {
            Some(_) => OutputKind::Potential,
            None => OutputKind::FirstSpike,
        }
    }

    /// All weights, source by source: of each layer those of the inputs, then the recurrent ones; then the readout's.
    pub fn parameters(&self) -> Vec<&[f64]> {
        let layers = self.layers.iter();
        let layers =
            layers.flat_map(|layer| std::iter::once(&layer.input).chain(layer.recurrent.as_ref()));
        let readout = self.readout.iter().map(|readout| &readout.weights);
        layers
            .chain(readout)
            .map(|weights| weights.values())
            .collect()
    }

    /// The weights of [`Network::parameters`], to be changed.
    pub fn parameters_mut(&mut self) -> Vec<&mut [f64]> {
        let layers = self.layers.iter_mut();
        let layers = layers
            .flat_map(|layer| std::iter::once(&mut layer.input).chain(layer.recurrent.as_mut()));
        let readout = self.readout.iter_mut().map(|readout| &mut readout.weights);
        layers
            .chain(readout)
            .map(|weights| weights.values_mut())
            .collect()
    }

    /// The spikes and outputs of each sample, samples in parallel.
    ///
    /// # Errors
    /// When an input spike is outside the network or the sample's time, the spike buffer of a layer is full, or
    /// potentials are not finite: the first such sample.
    pub fn forward(&self, samples: &[SpikeTrain]) -> Result<Vec<Trace>> {
        let traces: Vec<Result<Trace>> = (samples.par_iter().enumerate())
            .map(|(sample, train)| self.sample(sample, train))
            .collect();
        traces.into_iter().collect()
    }

    fn sample(&self, sample: usize, train: &SpikeTrain) -> Result<Trace> {
        train.check(sample, self.inputs(), self.t_end)?;
        let mut layers: Vec<LayerTrace> = Vec::with_capacity(self.layers.len());
        for (k, layer) in self.layers.iter().enumerate() {
            let input = layers
                .last()
                .map_or(train.spikes(), |before| &before.spikes);
            let trace = layer
                .forward(input, self.t_end)
                .map_err(|failure| match failure {
                    Failure::Budget { neuron, time } => Error::SpikeBudget {
                        sample,
                        layer: k,
                        budget: layer.budget,
                        neuron,
                        time,
                    },
                    Failure::NotFinite => Error::NotFinite {
                        sample,
                        place: format!("layer {k}"),
                    },
                })?;
            layers.push(trace);
        }
        let last: &[Spike] = layers.last().map_or(&[], |layer| &layer.spikes);
        let Some(readout) = &self.readout else {
            let mut first = vec![None; self.outputs()];
            for (s, spike) in last.iter().enumerate().rev() {
                first[spike.unit] = Some(s);
            }
            let times = first
                .iter()
                .map(|s| s.map_or(self.t_end, |s: usize| last[s].time));
            let (outputs, kind) = (times.collect(), OutputKind::FirstSpike);
            return Ok(Trace {
                inputs: train.spikes().len(),
                sizes: self.sizes(),
                layers,
                outputs,
                kind,
                first,
                peaks: vec![],
            });
        };
        let (outputs, peaks) = readout.forward(last, self.t_end);
        if outputs.iter().any(|y| !y.is_finite()) {
            return Err(Error::NotFinite {
                sample,
                place: "the readout".to_string(),
            });
        }
        let kind = OutputKind::Potential;
        Ok(Trace {
            inputs: train.spikes().len(),
            sizes: self.sizes(),
            layers,
            outputs,
            kind,
            first: vec![],
            peaks,
        })
    }
}

fn check_inputs(name: &str, inputs: usize, before: usize, neurons: usize) -> Result<()> {
    match inputs == neurons {
        true => Ok(()),
        false => Err(Error::Size {
            what: name.to_string(),
            given: format!("{inputs} inputs"),
            expected: format!("{neurons}, the neurons of layer {before}"),
            help: "give a matrix of weights with one source for each of these neurons",
        }),
    }
}
