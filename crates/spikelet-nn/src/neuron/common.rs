//! The constants of all neurons: threshold, reset, surrogate.

use super::{Neuron, OutputKind, Readout, Trainable};
use crate::surrogate::{Sigmoid, Surrogate};
use spikelet_schema::{RecordMut, Schema, flattened_mut};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The gradient of the reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
pub enum ResetGrad {
    /// The spike in the reset has the derivative of the surrogate, like the output spike.
    #[default]
    Surrogate,
    /// No gradient passes through the spike in the reset (`detach_reset`).
    Detach,
    /// Backward, the reset is V = v_reset·g + H·(1 − g), with g the surrogate's primitive
    /// (SpikingFlow's softbp).
    Soft,
}

/// The potential that is compared with the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
pub enum FireOn {
    /// H\[t\], the potential after charging.
    #[default]
    Charged,
    /// V\[t−1\], the potential before the step, as in Spyx: S\[t\] = Θ(V\[t−1\] − v_threshold), V\[t\] is H\[t\] after the
    /// reset by S\[t\]. Only for neurons with a state `v`.
    Previous,
}

/// Threshold, reset and surrogate of a neuron, and its trainable constants.
#[derive(Clone, Debug, Schema)]
pub struct Common {
    /// The threshold: the neuron fires if H is at least this.
    #[schema(default = 1.0)]
    pub v_threshold: f64,
    /// Whether H = v_threshold causes no spike.
    pub strict: bool,
    /// The potential that is compared with the threshold: charged, H\[t\], or previous, V\[t−1\].
    pub fire_on: FireOn,
    /// The potential of the hard reset; none is the soft reset, V = H − S·v_threshold.
    #[schema(default = Some(0.0))]
    pub v_reset: Option<f64>,
    /// Whether the potential is reset; else V = H, and `v_reset` is the resting potential only.
    #[schema(default = true)]
    pub resets: bool,
    /// The surrogate gradient.
    #[schema(default = Arc::new(Sigmoid::default()))]
    pub surrogate: Arc<dyn Surrogate>,
    /// The gradient of the reset: surrogate, detach or soft.
    pub reset_grad: ResetGrad,
    /// Whether the output is spikes; else it is the surrogate's primitive, for gradient checks.
    #[schema(default = true)]
    pub spiking: bool,
    /// Whether the neuron fires; else it is a membrane that is not reset, and its output is the potential H.
    ///
    /// As an output layer: Lee et al., Enabling spike-based backpropagation for training deep neural network architectures,
    /// Frontiers in Neuroscience 14:119, 2020; Bellec et al., Long short-term memory and learning-to-learn in networks of spiking
    /// neurons, NeurIPS 2018; SpikingJelly's `NonSpikingIFNode` and `NonSpikingLIFNode`.
    #[schema(default = true)]
    pub fires: bool,
    /// The readout, one value of the output for all time steps: last, max, max_abs, mean, sum or softmax_sum; none: every
    /// step is returned.
    pub readout: Option<Readout>,
    /// Whether gradients pass from a step to the one before it; else training stores no earlier steps.
    ///
    /// Source: Meng et al., Towards memory- and time-efficient backpropagation for training spiking neural networks, ICCV 2023;
    /// SpikingJelly's `SLTTLIFNode`.
    #[schema(default = true)]
    pub time_grad: bool,
    /// The constants that are trained: names, or a table of names and settings such as granularities.
    ///
    /// All constants of the equations can be trained, including `v_threshold` and `v_reset`, and `<state>_start`, the initial
    /// value of a state.
    pub trainable: BTreeMap<String, Trainable>,
}

impl Common {
    /// Those of SpikingFlow's softbp: a sigmoid with α = 1, and the soft gradient of the reset.
    pub fn soft_pulse() -> Self {
        Self {
            surrogate: Arc::new(Sigmoid { alpha: 1.0 }),
            reset_grad: ResetGrad::Soft,
            ..Self::default()
        }
    }

    /// v_reset, or 0 without a hard reset.
    pub fn v_rest(&self) -> f64 {
        self.v_reset.unwrap_or(0.0)
    }

    /// The potential before the first step.
    pub fn v_start(&self) -> f64 {
        self.v_rest()
    }

    /// Whether the surrogate draws random numbers for the spikes.
    pub fn draws(&self) -> bool {
        self.fires && self.spiking && self.surrogate.needs_noise()
    }

    /// The kind of the output of a neuron whose output is its spikes if it fires.
    pub fn output_kind(&self) -> OutputKind {
        match (self.fires && self.spiking, self.surrogate.is_binary()) {
            (true, true) => OutputKind::Spikes,
            (true, false) => OutputKind::Counts,
            (false, _) => OutputKind::Real,
        }
    }
}

/// Builder methods for the constants of all neurons.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let lif = Lif::new(2.0).v_threshold(0.5).v_reset(None).surrogate(Sigmoid { alpha: 1.0 });
/// assert_eq!(lif.common().v_threshold, 0.5);
/// ```
pub trait NeuronExt: Neuron + RecordMut + Sized {
    /// [`Neuron::common`], to be changed.
    ///
    /// # Panics
    /// As [`Neuron::common`].
    fn common_mut(&mut self) -> &mut Common {
        flattened_mut(self).expect("a neuron has a flattened field of type `Common`")
    }

    /// Sets the threshold: the neuron fires if H is at least this.
    #[must_use]
    fn v_threshold(mut self, v: f64) -> Self {
        self.common_mut().v_threshold = v;
        self
    }

    /// Sets the potential of the hard reset, or the soft reset with `None`.
    #[must_use]
    fn v_reset(mut self, v: impl Into<Option<f64>>) -> Self {
        self.common_mut().v_reset = v.into();
        self
    }

    /// With `yes`, a potential that equals the threshold causes no spike.
    #[must_use]
    fn strict(mut self, yes: bool) -> Self {
        self.common_mut().strict = yes;
        self
    }

    /// Sets the potential that is compared with the threshold.
    #[must_use]
    fn fire_on(mut self, fire_on: FireOn) -> Self {
        self.common_mut().fire_on = fire_on;
        self
    }

    /// With `false`, the potential is not reset.
    #[must_use]
    fn resets(mut self, yes: bool) -> Self {
        self.common_mut().resets = yes;
        self
    }

    /// With `false`, the neuron is a membrane that is not reset, and its output is the potential.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let v = Lif::new(2.0).fires(false).run(&[[0.5], [0.75]])?;
    /// assert_eq!(v, [[0.25], [0.5]]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    fn fires(mut self, yes: bool) -> Self {
        self.common_mut().fires = yes;
        self
    }

    /// Sets the readout: one value of the output for all time steps.
    #[must_use]
    fn readout(mut self, readout: Readout) -> Self {
        self.common_mut().readout = Some(readout);
        self
    }

    /// With `false`, no gradient passes from a step to the one before it.
    #[must_use]
    fn time_grad(mut self, yes: bool) -> Self {
        self.common_mut().time_grad = yes;
        self
    }

    /// Sets the surrogate gradient.
    #[must_use]
    fn surrogate(mut self, surrogate: impl Surrogate + 'static) -> Self {
        self.common_mut().surrogate = Arc::new(surrogate);
        self
    }

    /// The gradient of the reset.
    #[must_use]
    fn reset_grad(mut self, reset_grad: ResetGrad) -> Self {
        self.common_mut().reset_grad = reset_grad;
        self
    }

    /// With `yes`, no gradient passes through the reset.
    #[must_use]
    fn detach_reset(self, yes: bool) -> Self {
        self.reset_grad(if yes {
            ResetGrad::Detach
        } else {
            ResetGrad::Surrogate
        })
    }

    /// Makes the constant of this name trainable; see [`Common::trainable`].
    #[must_use]
    fn trainable(mut self, name: &str, how: Trainable) -> Self {
        self.common_mut().trainable.insert(name.to_string(), how);
        self
    }

    /// Whether the output is spikes; otherwise it is the primitive of the surrogate.
    #[must_use]
    fn spiking(mut self, yes: bool) -> Self {
        self.common_mut().spiking = yes;
        self
    }
}

impl<N: Neuron + RecordMut> NeuronExt for N {}
