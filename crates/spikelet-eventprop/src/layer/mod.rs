//! A layer of LIF neurons with exponential synapses.
//!
//! ```text
//! τ_m V' = −V + I,  τ_s I' = −I;  a spike adds its weight to I
//! V reaches ϑ from below: the neuron fires, V = 0;  V = I = 0 at t = 0
//! ```
//!
//! There is no refractory time and no delay. Source: Wunderlich and Pehle, Event-based backpropagation can compute
//! exact gradients for spiking neural networks, Scientific Reports 11, 2021, doi:10.1038/s41598-021-91786-z.

mod adjoint;
mod forward;

use crate::error::{Error, Result, positive};
use crate::membrane::TimeConstants;
use crate::spikes::Spike;
use crate::weights::Weights;

pub(crate) use adjoint::Incoming;
pub(crate) use forward::Failure;

/// Spikes that a layer may fire in a sample, for each of its neurons, unless [`LifLayer::max_spikes`] says otherwise.
const SPIKES_PER_NEURON: usize = 100;

/// A layer of LIF neurons, with or without recurrent connections.
///
/// ```
/// use spikelet_eventprop::{LifLayer, TimeConstants, Weights};
/// let tau = TimeConstants { tau_m: 20.0, tau_s: 5.0 };
/// let layer = LifLayer::new(tau, 1.0, Weights::from_fn(4, 2, |_, _| 1.5))?
///     .recurrent(Weights::from_fn(4, 4, |to, from| if to == from { 0.0 } else { -0.2 }))?
///     .max_spikes(50)?;
/// assert_eq!(layer.neurons(), 4);
/// # Ok::<(), spikelet_eventprop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LifLayer {
    pub(crate) tau: TimeConstants,
    pub(crate) threshold: f64,
    pub(crate) input: Weights,
    pub(crate) recurrent: Option<Weights>,
    pub(crate) self_connections: bool,
    pub(crate) budget: usize,
}

/// The spikes of a layer in a sample, in the order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerTrace {
    pub spikes: Vec<Spike>,
    /// I − ϑ at each spike, before the reset.
    pub margin: Vec<f64>,
    /// The number of the layer's input spikes that came before each spike.
    pub inputs_before: Vec<usize>,
}

impl LayerTrace {
    fn push(&mut self, time: f64, unit: usize, margin: f64, inputs_before: usize) {
        self.spikes.push(Spike { time, unit });
        self.margin.push(margin);
        self.inputs_before.push(inputs_before);
    }
}

impl LifLayer {
    /// A layer without recurrent connections. `v_threshold` > 0; the reset potential is 0.
    ///
    /// # Errors
    /// When a constant is outside its range or a weight is not finite.
    pub fn new(tau: TimeConstants, v_threshold: f64, weights: Weights) -> Result<Self> {
        tau.check()?;
        positive(
            "v_threshold",
            v_threshold,
            "the reset potential is 0: give a threshold above it, such as 1",
        )?;
        weights.check("the input weights")?;
        let budget = weights.targets().saturating_mul(SPIKES_PER_NEURON);
        Ok(Self {
            tau,
            threshold: v_threshold,
            input: weights,
            recurrent: None,
            self_connections: false,
            budget,
        })
    }

    /// Adds connections between the layer's neurons. The diagonal has to be 0; it has no gradient.
    ///
    /// # Errors
    /// When the matrix is not square, has another number of neurons, has a weight other than 0 on the diagonal, or
    /// one that is not finite.
    pub fn recurrent(mut self, weights: Weights) -> Result<Self> {
        self.check_recurrent(&weights)?;
        let neurons = self.neurons();
        if let Some(n) = (0..neurons).find(|&n| weights.of_source(n)[n] != 0.0) {
            return Err(Error::Constant {
                name: format!("the recurrent weight of neuron {n} to itself"),
                given: weights.of_source(n)[n],
                expected: "0",
                help: "set the diagonal to 0, or use `recurrent_with_self_connections`",
            });
        }
        self.recurrent = Some(weights);
        self.self_connections = false;
        Ok(self)
    }

    /// Adds connections between the layer's neurons, including those of neurons to themselves.
    ///
    /// # Errors
    /// When the matrix is not square, has another number of neurons, or a weight that is not finite.
    pub fn recurrent_with_self_connections(mut self, weights: Weights) -> Result<Self> {
        self.check_recurrent(&weights)?;
        self.recurrent = Some(weights);
        self.self_connections = true;
        Ok(self)
    }

    /// The number of spikes that the layer may fire in a sample; by default 100 for each neuron. One more is
    /// [`Error::SpikeBudget`]: no spike is dropped.
    ///
    /// # Errors
    /// When it is 0.
    pub fn max_spikes(mut self, spikes: usize) -> Result<Self> {
        if spikes == 0 {
            return Err(Error::Constant {
                name: "max_spikes".to_string(),
                given: 0.0,
                expected: "at least 1",
                help: "give the number of spikes that the layer may fire in a sample",
            });
        }
        self.budget = spikes;
        Ok(self)
    }

    /// The number of neurons.
    pub fn neurons(&self) -> usize {
        self.input.targets()
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.input.sources()
    }

    /// The weights of the inputs.
    pub fn weights(&self) -> &Weights {
        &self.input
    }

    /// The weights between the layer's neurons.
    pub fn recurrent_weights(&self) -> Option<&Weights> {
        self.recurrent.as_ref()
    }

    fn check_recurrent(&self, weights: &Weights) -> Result<()> {
        let (neurons, given) = (self.neurons(), (weights.targets(), weights.sources()));
        if given != (neurons, neurons) {
            return Err(Error::Size {
                what: "the recurrent matrix".to_string(),
                given: format!("{} targets and {} sources", given.0, given.1),
                expected: format!("{neurons} of each, the neurons of the layer"),
                help: "give a square matrix",
            });
        }
        weights.check("the recurrent weights")
    }
}
