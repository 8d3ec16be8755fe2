//! Neurons: the equations of NIR that they have, with constants in steps.

use super::super::error::NirError;
use super::constants::Constants;
use super::refused;
use spikelet_core::Result;
use spikelet_nn::neuron::{Common, Discretization, FireOn, Readout};

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
    /// Forward Euler, without spikes.
    pub(super) fn new(equation: Equation, v_start: Vec<f64>) -> Self {
        Self {
            equation,
            discretization: Discretization::EulerSeq,
            fire: None,
            v_start,
            approximation: None,
            own_spike: None,
            readout: None,
        }
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
pub(super) fn low_pass(c: &Constants<'_>, alpha: f64) -> Result<Dynamics> {
    let equation = Equation::Leaky {
        tau: c.time_constants("alpha", alpha)?,
        r: c.all(1.0),
        v_leak: c.all(0.0),
    };
    Ok(Dynamics::new(equation, c.get("v_start", 0.0)?))
}

impl Constants<'_> {
    /// Threshold and reset of a neuron with the default reset.
    pub(super) fn spiking(&self, common: &Common) -> Result<Option<Fire>, NirError> {
        if !common.resets {
            return Err(refused::no_reset(self.path));
        }
        if common.fire_on != FireOn::Charged {
            return Err(refused::fires_on_previous(self.path));
        }
        if !common.spiking || !common.surrogate.is_binary() {
            return Err(refused::not_spikes(self.path));
        }
        Ok(Some(Fire {
            v_threshold: self.get("v_threshold", common.v_threshold)?,
            v_reset: match common.v_reset {
                Some(v_reset) => Some(self.get("v_reset", v_reset)?),
                None => None,
            },
            strict: common.strict,
            reset_delay: false,
        }))
    }

    /// The same of a neuron whose reset may come one step after the spike.
    pub(super) fn late(
        &self,
        common: &Common,
        reset_delay: bool,
    ) -> Result<Option<Fire>, NirError> {
        let fire = self.spiking(common)?;
        Ok(fire.map(|fire| Fire {
            reset_delay,
            ..fire
        }))
    }

    /// The potential before the first step: that of the hard reset, or a trained one.
    pub(super) fn start(&self) -> Result<Vec<f64>, NirError> {
        self.get("v_start", self.common.v_start())
    }

    /// I = α·I + X, H = β·V + I, with the names and values of α and β. Input and current are not scaled: a·τ = 1.
    pub(super) fn undivided_current(
        &self,
        alpha: (&'static str, f64),
        beta: (&'static str, f64),
    ) -> Result<Equation, NirError> {
        let tau_syn = self.time_constants(alpha.0, alpha.1)?;
        let tau_mem = self.time_constants(beta.0, beta.1)?;
        Ok(Equation::CurrentBased {
            r: tau_mem.clone(),
            w_in: tau_syn.clone(),
            tau_syn,
            tau_mem,
            v_leak: self.all(0.0),
        })
    }

    /// The Euler time constants 1/(1 − d) of decay factors d.
    pub(super) fn time_constants(
        &self,
        name: &'static str,
        value: f64,
    ) -> Result<Vec<f64>, NirError> {
        let decays = self.get(name, value)?;
        match decays.iter().find(|decay| **decay >= 1.0) {
            Some(decay) => Err(refused::no_decay(self.path, name, *decay)),
            None => Ok(decays
                .into_iter()
                .map(|decay| 1.0 / (1.0 - decay))
                .collect()),
        }
    }

    /// Refuses trained initial values of states other than the potential.
    pub(super) fn no_other_start(&self) -> Result<(), NirError> {
        let names = self.common.trainable.keys();
        let mut others = names.filter(|name| name.ends_with("_start") && *name != "v_start");
        match others.next() {
            Some(name) => Err(refused::other_start(self.path, name)),
            None => Ok(()),
        }
    }

    pub(super) fn no_random_start(&self, has_one: bool) -> Result<(), NirError> {
        match has_one {
            true => Err(refused::random_start(self.path)),
            false => Ok(()),
        }
    }
}
