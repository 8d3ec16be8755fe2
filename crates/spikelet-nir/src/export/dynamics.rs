//! Neurons: the equations of NIR that they have, with constants in steps.

use super::super::error::NirError;
use super::constants::Constants;
use super::refused;
use spikelet_core::Result;
use spikelet_nn::neuron::{Discretization, FireOn, Readout};

/// A neuron in the form of NIR. Each constant has a value for each neuron.
#[derive(Clone, Debug)]
pub(super) struct Dynamics {
    pub(super) equation: Equation,
    pub(super) discretization: Discretization,
    /// Threshold and reset of a neuron that fires.
    pub(super) fire: Option<Fire>,
    /// The potential before the first step.
    pub(super) v_start: Vec<f64>,
    /// What differs from the neuron, if it is an approximation.
    pub(super) approximation: Option<&'static str>,
    /// The weights of each neuron's own spike of the step before, which is added to its input.
    pub(super) own_spike: Option<Vec<f64>>,
    /// The readout over time, which is not part of the node.
    pub(super) readout: Option<Readout>,
}

impl Dynamics {
    /// The form of a neuron with the default reset, which may come one step after the spike.
    pub(super) fn new(c: &Constants<'_>, equation: Equation, v_start: Vec<f64>) -> Result<Self> {
        let neuron = c.neuron;
        let euler = Discretization::EulerSeq;
        Ok(Self {
            equation,
            discretization: *neuron.get("discretization").unwrap_or(&euler),
            fire: c.fire(*neuron.get("reset_delay").unwrap_or(&false))?,
            v_start,
            approximation: None,
            own_spike: None,
            readout: c.common.readout,
        })
    }
}

/// The differential equations. Time constants are in steps, r of an integrator is that of a step.
#[derive(Clone, Debug)]
pub(super) enum Equation {
    Integrator {
        r: Vec<f64>,
    },
    Leaky {
        tau: Vec<f64>,
        r: Vec<f64>,
        v_leak: Vec<f64>,
    },
    CurrentBased {
        tau_syn: Vec<f64>,
        tau_mem: Vec<f64>,
        r: Vec<f64>,
        v_leak: Vec<f64>,
        w_in: Vec<f64>,
    },
    /// A threshold without a state.
    Threshold,
}

#[derive(Clone, Debug)]
pub(super) struct Fire {
    pub(super) v_threshold: Vec<f64>,
    /// `None`: the threshold is subtracted.
    pub(super) v_reset: Option<Vec<f64>>,
    /// Whether a potential that equals the threshold causes no spike.
    pub(super) strict: bool,
    /// Whether the reset comes one step after the spike.
    pub(super) reset_delay: bool,
}

/// V = α·V + (1 − α)·X
pub(super) fn low_pass(c: &Constants<'_>) -> Result<Dynamics> {
    let equation = Equation::Leaky {
        tau: c.time_constants("alpha")?,
        r: c.all(1.0),
        v_leak: c.all(0.0),
    };
    Dynamics::new(c, equation, c.get_or("v_start", 0.0)?)
}

impl Constants<'_> {
    /// Threshold and reset; none of a neuron that does not fire.
    pub(super) fn fire(&self, reset_delay: bool) -> Result<Option<Fire>, NirError> {
        let common = self.common;
        if !common.fires {
            return Ok(None);
        }
        if !common.resets {
            return Err(refused::no_reset(self.path));
        }
        if common.fire_on != FireOn::Charged {
            return Err(refused::fires_on_previous(self.path));
        }
        if !common.spiking || !common.surrogate.is_binary() {
            return Err(refused::not_spikes(self.path));
        }
        let v_reset = |v_reset| self.get_or("v_reset", v_reset);
        Ok(Some(Fire {
            v_threshold: self.get("v_threshold")?,
            v_reset: common.v_reset.map(v_reset).transpose()?,
            strict: common.strict,
            reset_delay,
        }))
    }

    /// The potential before the first step: that of the hard reset, or a trained one.
    pub(super) fn start(&self) -> Result<Vec<f64>, NirError> {
        self.get_or("v_start", self.common.v_start())
    }

    /// I = α·I + X, H = β·V + I, with the names of α and β. Input and current are not scaled: a·τ = 1.
    pub(super) fn undivided_current(
        &self,
        alpha: &'static str,
        beta: &'static str,
    ) -> Result<Equation, NirError> {
        let tau_syn = self.time_constants(alpha)?;
        let tau_mem = self.time_constants(beta)?;
        Ok(Equation::CurrentBased {
            r: tau_mem.clone(),
            w_in: tau_syn.clone(),
            tau_syn,
            tau_mem,
            v_leak: self.all(0.0),
        })
    }

    /// The Euler time constants 1/(1 − d) of decay factors d.
    pub(super) fn time_constants(&self, name: &'static str) -> Result<Vec<f64>, NirError> {
        let decays = self.get(name)?;
        match decays.iter().find(|decay| **decay >= 1.0) {
            Some(decay) => Err(refused::no_decay(self.path, name, *decay)),
            None => Ok(decays
                .into_iter()
                .map(|decay| 1.0 / (1.0 - decay))
                .collect()),
        }
    }

    /// Refuses initial values that NIR does not have: random ones, and trained ones of states other than the potential.
    pub(super) fn check_start(&self) -> Result<(), NirError> {
        let names = self.common.trainable.keys();
        let mut others = names.filter(|name| name.ends_with("_start") && *name != "v_start");
        match others.next() {
            Some(name) => Err(refused::other_start(self.path, name)),
            None if self.neuron.get("random_start") == Some(&true) => {
                Err(refused::random_start(self.path))
            }
            None => Ok(()),
        }
    }
}
