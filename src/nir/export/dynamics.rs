//! Neurons: the equations of NIR that they have, with constants in steps.

use super::super::error::NirError;
use super::constants::Constants;
use super::refused;
use super::writer::Writer;
use spikelet_core::Result;
use spikelet_nn::neuron::{
    Common, CubaLif, DecayLif, Discretization, HalfThresholdIf, Heaviside, If, LeakyIntegrator,
    Lif, Neuron, NirCubaLi, NirCubaLif, NirI, NirIf, NirLi, NirLif, NonSpikingIf, NonSpikingLif,
    NorseLif, OtttLif, Plif, RefractoryLif, SlttLif, SoftPulseIf, SoftPulseLif,
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
            leaky_from(c, tau, n.decay_input, Discretization::EulerSeq)
        },
        NonSpikingLif => |n, c| {
            c.no_readout(n.readout.is_some())?;
            leaky(c, n.neuron.tau, n.neuron.decay_input).map(|made| Dynamics { fire: None, ..made })
        },
        NonSpikingIf => |n, c| {
            c.no_readout(n.readout.is_some())?;
            integrator(c, None)
        },
        LeakyIntegrator => |n, c| {
            c.no_readout(n.readout.is_some())?;
            c.no_random_start(n.random_start)?;
            let alpha = c.get("alpha", n.alpha)?;
            Ok(Dynamics {
                v_start: c.get("v_start", 0.0)?,
                ..low_pass(c, alpha, c.all(1.0))?
            })
        },
        DecayLif => |n, c| Ok(Dynamics {
            equation: Equation::Leaky {
                tau: c.get("tau_u", n.tau_u)?,
                r: c.all(1.0),
                v_leak: c.all(0.0),
            },
            discretization: Discretization::ExactSeq,
            fire: c.spiking(&n.common, true)?,
            v_start: c.start()?,
            approximation: None,
        }),
        CubaLif => |n, c| {
            let tau_syn = c.time_constants("c_decay", n.c_decay)?;
            let tau_mem = c.time_constants("v_decay", n.v_decay)?;
            Ok(Dynamics {
                // a·τ = 1: the input and the current are not scaled.
                equation: Equation::CurrentBased {
                    r: tau_mem.clone(),
                    w_in: tau_syn.clone(),
                    tau_syn,
                    tau_mem,
                    v_leak: c.all(0.0),
                },
                discretization: Discretization::EulerSeq,
                fire: c.spiking(&n.common, false)?,
                v_start: c.start()?,
                approximation: None,
            })
        },
        NorseLif => |n, c| {
            // The current before its decay, I[t−1] + X[t], is that of a neuron with w_in = τ_syn.
            let dt = c.get("dt", n.dt)?;
            let tau = |name, value| -> Result<Vec<f64>> {
                let rates = c.get(name, value)?;
                Ok(rates.iter().zip(&dt).map(|(rate, dt)| 1.0 / (rate * dt)).collect())
            };
            let tau_syn = tau("tau_syn_inv", n.tau_syn_inv)?;
            Ok(Dynamics {
                equation: Equation::CurrentBased {
                    tau_mem: tau("tau_mem_inv", n.tau_mem_inv)?,
                    r: c.all(1.0),
                    v_leak: c.get("v_leak", n.v_leak)?,
                    w_in: tau_syn.clone(),
                    tau_syn,
                },
                discretization: Discretization::EulerSeq,
                fire: c.spiking(&n.common, true)?,
                v_start: c.get("v_start", n.v_leak)?,
                approximation: None,
            })
        },
        NirI => |n, c| {
            c.no_readout(n.readout.is_some())?;
            nir_integrator(c, n.r, None)
        },
        NirIf => |n, c| nir_integrator(c, n.r, c.late(&n.common, n.strict, n.reset_delay)?),
        NirLi => |n, c| {
            c.no_readout(n.readout.is_some())?;
            nir_leaky(c, &n.neuron).map(|made| Dynamics { fire: None, ..made })
        },
        NirLif => |n, c| nir_leaky(c, n),
        NirCubaLi => |n, c| {
            c.no_readout(n.readout.is_some())?;
            nir_current(c, &n.neuron).map(|made| Dynamics { fire: None, ..made })
        },
        NirCubaLif => |n, c| nir_current(c, n),
        Heaviside => |n, c| Ok(Dynamics {
            equation: Equation::Threshold,
            discretization: Discretization::default(),
            fire: c.spiking(&n.common, n.strict)?,
            v_start: c.all(0.0),
            approximation: None,
        }),
    }
    Ok(None)
}

/// H = V + X
fn integrator(c: &Constants<'_>, fire: Option<Fire>) -> Result<Dynamics> {
    Ok(Dynamics {
        equation: Equation::Integrator { r: c.all(1.0) },
        discretization: Discretization::EulerSeq,
        fire,
        v_start: c.start()?,
        approximation: None,
    })
}

/// H = V + (X − (V − v_rest))/τ, or with X undivided.
fn leaky(c: &Constants<'_>, tau: f64, decay_input: bool) -> Result<Dynamics> {
    let tau = c.get("tau", tau)?;
    leaky_from(c, tau, decay_input, Discretization::EulerSeq)
}

fn leaky_from(
    c: &Constants<'_>,
    tau: Vec<f64>,
    decay_input: bool,
    discretization: Discretization,
) -> Result<Dynamics> {
    let r = match decay_input {
        true => c.all(1.0),
        false => tau.clone(),
    };
    let v_leak = match c.common.v_reset {
        Some(v_reset) => c.get("v_reset", v_reset)?,
        None => c.all(0.0),
    };
    Ok(Dynamics {
        equation: Equation::Leaky { tau, r, v_leak },
        discretization,
        fire: c.spiking(c.common, false)?,
        v_start: c.start()?,
        approximation: None,
    })
}

/// V = α·V + (1 − α)·r·X
fn low_pass(c: &Constants<'_>, alpha: Vec<f64>, r: Vec<f64>) -> Result<Dynamics> {
    let tau = c.of_decays("alpha", alpha)?;
    Ok(Dynamics {
        equation: Equation::Leaky {
            tau,
            r,
            v_leak: c.all(0.0),
        },
        discretization: Discretization::EulerSeq,
        fire: None,
        v_start: c.all(0.0),
        approximation: None,
    })
}

fn nir_integrator(c: &Constants<'_>, r: f64, fire: Option<Fire>) -> Result<Dynamics> {
    Ok(Dynamics {
        equation: Equation::Integrator { r: c.get("r", r)? },
        discretization: Discretization::EulerSeq,
        fire,
        v_start: c.get("v_start", 0.0)?,
        approximation: None,
    })
}

fn nir_leaky(c: &Constants<'_>, n: &NirLif) -> Result<Dynamics> {
    Ok(Dynamics {
        equation: Equation::Leaky {
            tau: c.get("tau", n.tau)?,
            r: c.get("r", n.r)?,
            v_leak: c.get("v_leak", n.v_leak)?,
        },
        discretization: n.discretization,
        fire: c.late(&n.common, n.strict, n.reset_delay)?,
        v_start: c.get("v_start", 0.0)?,
        approximation: None,
    })
}

fn nir_current(c: &Constants<'_>, n: &NirCubaLif) -> Result<Dynamics> {
    Ok(Dynamics {
        equation: Equation::CurrentBased {
            tau_syn: c.get("tau_syn", n.tau_syn)?,
            tau_mem: c.get("tau_mem", n.tau_mem)?,
            r: c.get("r", n.r)?,
            v_leak: c.get("v_leak", n.v_leak)?,
            w_in: c.get("w_in", n.w_in)?,
        },
        discretization: n.discretization,
        fire: c.late(&n.common, n.strict, n.reset_delay)?,
        v_start: c.get("v_start", 0.0)?,
        approximation: None,
    })
}

impl Constants<'_> {
    /// Threshold and reset of a neuron with the default reset.
    fn spiking(&self, common: &Common, strict: bool) -> Result<Option<Fire>, NirError> {
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
    fn late(
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
    fn start(&self) -> Result<Vec<f64>, NirError> {
        self.get("v_start", self.common.v_start())
    }

    /// The Euler time constants of decay factors.
    fn time_constants(&self, name: &'static str, value: f64) -> Result<Vec<f64>, NirError> {
        let decays = self.get(name, value)?;
        self.of_decays(name, decays)
    }

    /// 1/(1 − d): a decay factor d of forward Euler.
    fn of_decays(&self, name: &'static str, decays: Vec<f64>) -> Result<Vec<f64>, NirError> {
        match decays.iter().find(|decay| **decay >= 1.0) {
            Some(decay) => Err(refused::no_decay(self.path, name, *decay)),
            None => Ok(decays
                .into_iter()
                .map(|decay| 1.0 / (1.0 - decay))
                .collect()),
        }
    }

    fn no_readout(&self, has_one: bool) -> Result<(), NirError> {
        match has_one {
            true => Err(refused::readout(self.path)),
            false => Ok(()),
        }
    }

    fn no_random_start(&self, has_one: bool) -> Result<(), NirError> {
        match has_one {
            true => Err(refused::random_start(self.path)),
            false => Ok(()),
        }
    }
}
