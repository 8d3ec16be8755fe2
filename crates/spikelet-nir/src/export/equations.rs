//! The dynamics of each neuron that has a form in NIR.

use super::constants::Constants;
use super::dynamics::{Dynamics, Equation, low_pass};
use super::late_reset;
use super::writer::Writer;
use spikelet_core::Result;
use spikelet_nn::neuron::{Discretization, Neuron};

/// The dynamics of a neuron, if it has a form in NIR.
pub(super) fn find(
    writer: &Writer<'_>,
    path: &str,
    neuron: &dyn Neuron,
) -> Result<Option<Dynamics>> {
    let c = &Constants {
        writer,
        path,
        neuron,
        common: neuron.common(),
    };
    let dynamics: fn(&Constants<'_>) -> Result<Dynamics> = match neuron.known_name() {
        Some("if") => |c| integrator(c, c.all(1.0), c.start()?),
        Some("half_threshold_if") => |c| {
            let v_start = c.get_or("v_start", 0.5 * c.common.v_threshold)?;
            integrator(c, c.all(1.0), v_start)
        },
        Some("lif" | "ottt_lif") => |c| leaky(c, c.get("tau")?),
        Some("refractory_lif") => |c| {
            Ok(Dynamics {
                approximation: Some(
                    "NIR has no refractory period; the approximation leaves it out",
                ),
                ..leaky(c, c.get("tau")?)?
            })
        },
        Some("plif") => |c| {
            let w = c.parameter("w", c.field("granularity"))?.into_iter();
            let rates = w.map(|w| 1.0 / (1.0 + (-w).exp()));
            leaky(c, rates.map(|rate| 1.0 / rate).collect())
        },
        Some("leaky_integrator") => low_pass,
        Some("decay_lif") => |c| {
            let equation = Equation::Leaky {
                tau: c.get("tau_u")?,
                r: c.all(1.0),
                v_leak: c.all(0.0),
            };
            Ok(Dynamics {
                discretization: Discretization::ExactSeq,
                ..Dynamics::new(c, equation, c.start()?)?
            })
        },
        Some("cuba_lif") => |c| {
            let equation = c.undivided_current("c_decay", "v_decay")?;
            Dynamics::new(c, equation, c.start()?)
        },
        Some("synaptic") => late_reset::synaptic,
        Some("rleaky_cell") => late_reset::rleaky,
        Some("rsynaptic_cell") => late_reset::rsynaptic,
        Some("sparch_lif") => late_reset::sparch,
        Some("norse_lif") => norse,
        Some("nir_if") => |c| integrator(c, c.get("r")?, c.get_or("v_start", 0.0)?),
        Some("nir_lif") => |c| {
            let equation = Equation::Leaky {
                tau: c.get("tau")?,
                r: c.get("r")?,
                v_leak: c.get("v_leak")?,
            };
            Dynamics::new(c, equation, c.get_or("v_start", 0.0)?)
        },
        Some("nir_cuba_lif") => |c| {
            let equation = Equation::CurrentBased {
                tau_syn: c.get("tau_syn")?,
                tau_mem: c.get("tau_mem")?,
                r: c.get("r")?,
                v_leak: c.get("v_leak")?,
                w_in: c.get("w_in")?,
            };
            Dynamics::new(c, equation, c.get_or("v_start", 0.0)?)
        },
        Some("heaviside") => |c| Dynamics::new(c, Equation::Threshold, c.all(0.0)),
        _ => return Ok(None),
    };
    c.check_start()?;
    dynamics(c).map(Some)
}

/// H = V + r·X
fn integrator(c: &Constants<'_>, r: Vec<f64>, v_start: Vec<f64>) -> Result<Dynamics> {
    Dynamics::new(c, Equation::Integrator { r }, v_start)
}

/// H = V + (X − (V − v_rest))/τ, or with X undivided.
fn leaky(c: &Constants<'_>, tau: Vec<f64>) -> Result<Dynamics> {
    let r = match c.field("decay_input") {
        true => c.all(1.0),
        false => tau.clone(),
    };
    let v_leak = match c.common.v_reset {
        Some(v_reset) => c.get_or("v_reset", v_reset)?,
        None => c.all(0.0),
    };
    Dynamics::new(c, Equation::Leaky { tau, r, v_leak }, c.start()?)
}

/// The current before its decay, I[t−1] + X[t], is that of a neuron with w_in = τ_syn.
fn norse(c: &Constants<'_>) -> Result<Dynamics> {
    let dt = c.get("dt")?;
    let tau = |name| -> Result<Vec<f64>> {
        let rates = c.get(name)?;
        Ok(rates
            .iter()
            .zip(&dt)
            .map(|(rate, dt)| 1.0 / (rate * dt))
            .collect())
    };
    let tau_syn = tau("tau_syn_inv")?;
    let equation = Equation::CurrentBased {
        tau_mem: tau("tau_mem_inv")?,
        r: c.all(1.0),
        v_leak: c.get("v_leak")?,
        w_in: tau_syn.clone(),
        tau_syn,
    };
    Dynamics::new(c, equation, c.get_or("v_start", c.field("v_leak"))?)
}
