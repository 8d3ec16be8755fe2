//! Neurons. A parameter has the shape of the neurons, or rank 0: one number for all.
//!
//! z = 1 where v > v_threshold, strictly; then v = v_reset.

use spikelet_weights::Tensor;

/// dv/dt = r x.
#[derive(Clone, Debug, PartialEq)]
pub struct Integrator {
    /// Resistance.
    pub r: Tensor,
}

/// dv/dt = r x; spikes and reset.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// Resistance.
    pub r: Tensor,
    /// Firing threshold.
    pub v_threshold: Tensor,
    /// Potential after a spike; `None` is 0, in files of before nir 1.0.6.
    pub v_reset: Option<Tensor>,
}

/// tau dv/dt = (v_leak − v) + r x.
#[derive(Clone, Debug, PartialEq)]
pub struct Li {
    /// Time constant.
    pub tau: Tensor,
    /// Resistance.
    pub r: Tensor,
    /// Potential without input.
    pub v_leak: Tensor,
}

/// tau dv/dt = (v_leak − v) + r x; spikes and reset.
#[derive(Clone, Debug, PartialEq)]
pub struct Lif {
    /// Time constant.
    pub tau: Tensor,
    /// Resistance.
    pub r: Tensor,
    /// Potential without input.
    pub v_leak: Tensor,
    /// Firing threshold.
    pub v_threshold: Tensor,
    /// Potential after a spike; `None` is 0, in files of before nir 1.0.6.
    pub v_reset: Option<Tensor>,
}

/// tau_syn di/dt = −i + w_in x; tau_mem dv/dt = (v_leak − v) + r i.
#[derive(Clone, Debug, PartialEq)]
pub struct CubaLi {
    /// Time constant of the current.
    pub tau_syn: Tensor,
    /// Time constant of the potential.
    pub tau_mem: Tensor,
    /// Resistance.
    pub r: Tensor,
    /// Potential without input.
    pub v_leak: Tensor,
    /// Factor of the input; `None` is 1.
    pub w_in: Option<Tensor>,
}

/// tau_syn di/dt = −i + w_in x; tau_mem dv/dt = (v_leak − v) + r i; spikes and reset.
#[derive(Clone, Debug, PartialEq)]
pub struct CubaLif {
    /// Time constant of the current.
    pub tau_syn: Tensor,
    /// Time constant of the potential.
    pub tau_mem: Tensor,
    /// Resistance.
    pub r: Tensor,
    /// Potential without input.
    pub v_leak: Tensor,
    /// Firing threshold.
    pub v_threshold: Tensor,
    /// Potential after a spike; `None` is 0, in files of before nir 1.0.6.
    pub v_reset: Option<Tensor>,
    /// Factor of the input; `None` is 1.
    pub w_in: Option<Tensor>,
}
