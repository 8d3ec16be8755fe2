//! Neurons: the equations of NIR that they have, with constants in steps.

use super::super::error::NirError;
use super::constants::Constants;
use super::writer::Writer;
use super::{late_reset, refused};
use spikelet_core::Result;
use spikelet_nn::neuron::{
    Common, CubaLif, DecayLif, Discretization, HalfThresholdIf, Heaviside, If, LeakyIntegrator,
    Lif, Neuron, NirCubaLi, NirCubaLif, NirI, NirIf, NirLi, NirLif, NonSpikingIf, NonSpikingLif,
    NorseLif, OtttLif, Plif, RLeakyCell, RSynapticCell, Readout, RefractoryLif, SlttLif,
    SoftPulseIf, SoftPulseLif, SparchLif, Synaptic,
};
use std::any::Any;

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

/// The dynamics of the neurons that have a form in NIR.
pub(super) fn find(writer: &Writer<'_>, path: &str, any: &dyn Any) -> Result<Option<Dynamics>> {
    macro_rules! neurons {
        ($($type:ty => $dynamics:expr,)*) => {
            $(if let Some(neuron) = any.downcast_ref::<$type>() {
                let constants = Constants { writer, path, common: neuron.common() };
                constants.no_other_start()?;
                let of: fn(&$type, &Constants<'_>) -> Result<Dynamics> = $dynamics;
                return Ok(Some(of(neuron, &constants)?));
            })*
        };
    }
    neurons! {
        If => |n, c| integrator(c, c.spiking(&n.common, false)?),
        SoftPulseIf => |n, c| integrator(c, c.spiking(n.common(), false)?),
        HalfThresholdIf => |n, c| Ok(Dynamics {
            v_start: c.all(0.0),
            approximation: Some("V starts at half its threshold, which NIR cannot say; as an approximation it starts at 0"),
            ..integrator(c, c.spiking(n.common(), false)?)?
        }),
        Lif => |n, c| leaky(c, n.tau, n.decay_input),
        SlttLif => |n, c| leaky(c, n.neuron.tau, n.neuron.decay_input),
        OtttLif => |n, c| leaky(c, n.neuron.tau, n.neuron.decay_input),
        SoftPulseLif => |n, c| leaky(c, n.neuron.tau, n.neuron.decay_input),
        RefractoryLif => |n, c| Ok(Dynamics {
            approximation: Some("NIR has no refractory period; as an approximation there is none"),
            ..leaky(c, n.neuron.tau, n.neuron.decay_input)?
        }),
        Plif => |n, c| {
            let rates = c.parameter("w", n.granularity)?.into_iter().map(|w| 1.0 / (1.0 + (-w).exp()));
            let tau = rates.map(|rate| 1.0 / rate).collect();
            leaky_from(c, tau, n.decay_input)
        },
        NonSpikingLif => |n, c| Ok(Dynamics {
            fire: None,
            readout: n.readout,
            ..leaky(c, n.neuron.tau, n.neuron.decay_input)?
        }),
        NonSpikingIf => |n, c| Ok(Dynamics { readout: n.readout, ..integrator(c, None)? }),
        LeakyIntegrator => |n, c| {
            c.no_random_start(n.random_start)?;
            Ok(Dynamics { readout: n.readout, ..low_pass(c, n.alpha)? })
        },
        DecayLif => |n, c| {
            let equation = Equation::Leaky {
                tau: c.get("tau_u", n.tau_u)?,
                r: c.all(1.0),
                v_leak: c.all(0.0),
            };
            Ok(Dynamics {
                discretization: Discretization::ExactSeq,
                fire: c.spiking(&n.common, true)?,
                ..Dynamics::new(equation, c.start()?)
            })
        },
        CubaLif => |n, c| {
            let equation = c.undivided_current(("c_decay", n.c_decay), ("v_decay", n.v_decay))?;
            Ok(Dynamics {
                fire: c.spiking(&n.common, false)?,
                ..Dynamics::new(equation, c.start()?)
            })
        },
        Synaptic => |n, c| late_reset::synaptic(c, n),
        RLeakyCell => |n, c| late_reset::rleaky(c, n),
        RSynapticCell => |n, c| late_reset::rsynaptic(c, n),
        SparchLif => |n, c| late_reset::sparch(c, n),
        NorseLif => |n, c| {
            // The current before its decay, I[t−1] + X[t], is that of a neuron with w_in = τ_syn.
            let dt = c.get("dt", n.dt)?;
            let tau = |name, value| -> Result<Vec<f64>> {
                let rates = c.get(name, value)?;
                Ok(rates.iter().zip(&dt).map(|(rate, dt)| 1.0 / (rate * dt)).collect())
            };
            let tau_syn = tau("tau_syn_inv", n.tau_syn_inv)?;
            let equation = Equation::CurrentBased {
                tau_mem: tau("tau_mem_inv", n.tau_mem_inv)?,
                r: c.all(1.0),
                v_leak: c.get("v_leak", n.v_leak)?,
                w_in: tau_syn.clone(),
                tau_syn,
            };
            Ok(Dynamics {
                fire: c.spiking(&n.common, true)?,
                ..Dynamics::new(equation, c.get("v_start", n.v_leak)?)
            })
        },
        NirI => |n, c| Ok(Dynamics { readout: n.readout, ..nir_integrator(c, n.r, None)? }),
        NirIf => |n, c| nir_integrator(c, n.r, c.late(&n.common, n.strict, n.reset_delay)?),
        NirLi => |n, c| Ok(Dynamics { fire: None, readout: n.readout, ..nir_leaky(c, &n.neuron)? }),
        NirLif => |n, c| nir_leaky(c, n),
        NirCubaLi => |n, c| Ok(Dynamics { fire: None, readout: n.readout, ..nir_current(c, &n.neuron)? }),
        NirCubaLif => |n, c| nir_current(c, n),
        Heaviside => |n, c| Ok(Dynamics {
            fire: c.spiking(&n.common, n.strict)?,
            ..Dynamics::new(Equation::Threshold, c.all(0.0))
        }),
    }
    Ok(None)
}

/// H = V + X
fn integrator(c: &Constants<'_>, fire: Option<Fire>) -> Result<Dynamics> {
    let equation = Equation::Integrator { r: c.all(1.0) };
    Ok(Dynamics {
        fire,
        ..Dynamics::new(equation, c.start()?)
    })
}

/// H = V + (X − (V − v_rest))/τ, or with X undivided.
fn leaky(c: &Constants<'_>, tau: f64, decay_input: bool) -> Result<Dynamics> {
    let tau = c.get("tau", tau)?;
    leaky_from(c, tau, decay_input)
}

fn leaky_from(c: &Constants<'_>, tau: Vec<f64>, decay_input: bool) -> Result<Dynamics> {
    let r = match decay_input {
        true => c.all(1.0),
        false => tau.clone(),
    };
    let v_leak = match c.common.v_reset {
        Some(v_reset) => c.get("v_reset", v_reset)?,
        None => c.all(0.0),
    };
    Ok(Dynamics {
        fire: c.spiking(c.common, false)?,
        ..Dynamics::new(Equation::Leaky { tau, r, v_leak }, c.start()?)
    })
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

fn nir_integrator(c: &Constants<'_>, r: f64, fire: Option<Fire>) -> Result<Dynamics> {
    let equation = Equation::Integrator { r: c.get("r", r)? };
    Ok(Dynamics {
        fire,
        ..Dynamics::new(equation, c.get("v_start", 0.0)?)
    })
}

fn nir_leaky(c: &Constants<'_>, n: &NirLif) -> Result<Dynamics> {
    let equation = Equation::Leaky {
        tau: c.get("tau", n.tau)?,
        r: c.get("r", n.r)?,
        v_leak: c.get("v_leak", n.v_leak)?,
    };
    Ok(Dynamics {
        discretization: n.discretization,
        fire: c.late(&n.common, n.strict, n.reset_delay)?,
        ..Dynamics::new(equation, c.get("v_start", 0.0)?)
    })
}

fn nir_current(c: &Constants<'_>, n: &NirCubaLif) -> Result<Dynamics> {
    let equation = Equation::CurrentBased {
        tau_syn: c.get("tau_syn", n.tau_syn)?,
        tau_mem: c.get("tau_mem", n.tau_mem)?,
        r: c.get("r", n.r)?,
        v_leak: c.get("v_leak", n.v_leak)?,
        w_in: c.get("w_in", n.w_in)?,
    };
    Ok(Dynamics {
        discretization: n.discretization,
        fire: c.late(&n.common, n.strict, n.reset_delay)?,
        ..Dynamics::new(equation, c.get("v_start", 0.0)?)
    })
}

impl Constants<'_> {
    /// Threshold and reset of a neuron with the default reset.
    pub(super) fn spiking(&self, common: &Common, strict: bool) -> Result<Option<Fire>, NirError> {
        if !common.spiking || !common.surrogate.is_binary() {
            return Err(refused::not_spikes(self.path));
        }
        Ok(Some(Fire {
            v_threshold: self.get("v_threshold", common.v_threshold)?,
            v_reset: match common.v_reset {
                Some(v_reset) => Some(self.get("v_reset", v_reset)?),
                None => None,
            },
            strict,
            reset_delay: false,
        }))
    }

    /// The same of a neuron whose reset may come one step after the spike.
    pub(super) fn late(
        &self,
        common: &Common,
        strict: bool,
        reset_delay: bool,
    ) -> Result<Option<Fire>, NirError> {
        let fire = self.spiking(common, strict)?;
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
    fn no_other_start(&self) -> Result<(), NirError> {
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
