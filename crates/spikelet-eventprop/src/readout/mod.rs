//! A readout whose neurons do not fire.
//!
//! ```text
//! τ_m V' = −V + I,  τ_s I' = −I;  a spike adds its weight to I;  V = I = 0 at t = 0
//! y_m = a functional of V_m over [0, t_end]
//! ```
//!
//! Without a reset V is linear in the weights: V_m(t) = Σ_k w_mk ε(t − t_k), with ε the postsynaptic potential. The
//! adjoint variables have a closed form, so that no pass backward in time is needed: see [`Functional`].

mod functional;
mod maximum;

use crate::error::{Result, positive};
use crate::membrane::TimeConstants;
use crate::spikes::Spike;
use crate::weights::Weights;

pub use functional::Functional;
pub(crate) use maximum::Peak;

/// A layer of leaky integrators with exponential synapses.
///
/// ```
/// use spikelet_eventprop::{Functional, Readout, TimeConstants, Weights};
/// let tau = TimeConstants { tau_m: 20.0, tau_s: 5.0 };
/// let readout = Readout::new(tau, Functional::Mean, Weights::from_fn(10, 100, |_, _| 0.1))?;
/// assert_eq!(readout.neurons(), 10);
/// # Ok::<(), spikelet_eventprop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Readout {
    pub(crate) tau: TimeConstants,
    pub(crate) functional: Functional,
    pub(crate) weights: Weights,
}

impl Readout {
    /// A readout.
    ///
    /// # Errors
    /// When a constant is outside its range or a weight is not finite.
    pub fn new(tau: TimeConstants, functional: Functional, weights: Weights) -> Result<Self> {
        tau.check()?;
        if let Functional::ExponentialMean { tau } = functional {
            positive(
                "tau of the exponential mean",
                tau,
                "give a time constant, such as half of t_end",
            )?;
        }
        weights.check("the readout's weights")?;
        Ok(Self {
            tau,
            functional,
            weights,
        })
    }

    /// The number of neurons.
    pub fn neurons(&self) -> usize {
        self.weights.targets()
    }

    /// The weights.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The functional of each neuron, and the maxima if it is [`Functional::Maximum`].
    pub(crate) fn forward(&self, input: &[Spike], t_end: f64) -> (Vec<f64>, Vec<Peak>) {
        if let Functional::Maximum = self.functional {
            let peaks = maximum::peaks(&self.tau, &self.weights, input, t_end);
            return (peaks.iter().map(|peak| peak.value).collect(), peaks);
        }
        let mut values = vec![0.0; self.neurons()];
        for spike in input {
            let (kernel, _) = self.functional.kernels(&self.tau, spike.time, t_end);
            for (y, w) in values.iter_mut().zip(self.weights.of_source(spike.unit)) {
                *y += w * kernel;
            }
        }
        (values, vec![])
    }

    /// Adds the gradient of a sample to `d_weights`, source by source, and returns dL/dt of each input spike.
    /// `gradient`: dL/dy of each neuron.
    pub(crate) fn adjoint(
        &self,
        input: &[Spike],
        peaks: &[Peak],
        gradient: &[f64],
        t_end: f64,
        d_weights: &mut [f64],
    ) -> Vec<f64> {
        let neurons = self.neurons();
        let mut d_times = Vec::with_capacity(input.len());
        for (k, spike) in input.iter().enumerate() {
            let shared = match peaks {
                [] => self.functional.kernels(&self.tau, spike.time, t_end),
                _ => (0.0, 0.0),
            };
            let grads = &mut d_weights[spike.unit * neurons..][..neurons];
            let weights = self.weights.of_source(spike.unit);
            let mut d_time = 0.0;
            for m in 0..neurons {
                let (kernel, current) = match peaks.get(m) {
                    None => shared,
                    Some(peak) => peak.kernels(&self.tau, spike.time),
                };
                grads[m] += gradient[m] * kernel;
                d_time += gradient[m] * weights[m] * (kernel - current) / self.tau.tau_m;
                d_time += gradient[m] * peaks.get(m).map_or(0.0, |peak| peak.d_time(k));
            }
            d_times.push(d_time);
        }
        d_times
    }
}
