//! The dynamics of each neuron that has a form in NIR.

use super::constants::Constants;
use super::dynamics::{Dynamics, Equation, Fire, low_pass};
use super::late_reset;
use super::writer::Writer;
use spikelet_core::Result;
use spikelet_nn::neuron::{
    CubaLif, DecayLif, Discretization, HalfThresholdIf, Heaviside, If, LeakyIntegrator, Lif,
    Neuron, NirCubaLi, NirCubaLif, NirI, NirIf, NirLi, NirLif, NonSpikingIf, NonSpikingLif,
    NorseLif, OtttLif, Plif, RLeakyCell, RSynapticCell, RefractoryLif, SlttLif, SparchLif,
    Synaptic,
};
use std::any::Any;

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
        If => |n, c| integrator(c, c.spiking(&n.common)?),
        HalfThresholdIf => |n, c| Ok(Dynamics {
            v_start: c.get("v_start", 0.5 * n.common.v_threshold)?,
            ..integrator(c, c.spiking(n.common())?)?
        }),
        Lif => |n, c| leaky(c, n.tau, n.decay_input),
        SlttLif => |n, c| leaky(c, n.neuron.tau, n.neuron.decay_input),
        OtttLif => |n, c| leaky(c, n.neuron.tau, n.neuron.decay_input),
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
                fire: c.spiking(&n.common)?,
                ..Dynamics::new(equation, c.start()?)
            })
        },
        CubaLif => |n, c| {
            let equation = c.undivided_current(("c_decay", n.c_decay), ("v_decay", n.v_decay))?;
            Ok(Dynamics {
                fire: c.spiking(&n.common)?,
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
                fire: c.spiking(&n.common)?,
                ..Dynamics::new(equation, c.get("v_start", n.v_leak)?)
            })
        },
        NirI => |n, c| Ok(Dynamics { readout: n.readout, ..nir_integrator(c, n.r, None)? }),
        NirIf => |n, c| nir_integrator(c, n.r, c.late(&n.common, n.reset_delay)?),
        NirLi => |n, c| Ok(Dynamics { fire: None, readout: n.readout, ..nir_leaky(c, &n.neuron)? }),
        NirLif => |n, c| nir_leaky(c, n),
        NirCubaLi => |n, c| Ok(Dynamics { fire: None, readout: n.readout, ..nir_current(c, &n.neuron)? }),
        NirCubaLif => |n, c| nir_current(c, n),
        Heaviside => |n, c| Ok(Dynamics {
            fire: c.spiking(&n.common)?,
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
        fire: c.spiking(c.common)?,
        ..Dynamics::new(Equation::Leaky { tau, r, v_leak }, c.start()?)
    })
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
        fire: c.late(&n.common, n.reset_delay)?,
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
        fire: c.late(&n.common, n.reset_delay)?,
        ..Dynamics::new(equation, c.get("v_start", 0.0)?)
    })
}
