//! The node of a neuron: constants in steps become times, values of each neuron become parameters.

use super::super::choices::{FeedbackFrom, Fires, Reset, VStart};
use super::super::error::NirError;
use super::super::metadata::Recorded;
use super::dynamics::{Dynamics, Equation, Fire};
use super::refused;
use super::writer::Writer;
use crate::graph::{CubaLi, CubaLif, If, Integrator, Li, Lif, NodeKind, Scale, Threshold};
use spikelet_core::Result;
use spikelet_weights::Tensor;

/// Adds the node of a neuron, and returns its name.
pub(super) fn add(writer: &mut Writer<'_>, path: &str, dynamics: &Dynamics) -> Result<String> {
    let v_start = start(path, dynamics)?;
    let kind = node(&writer.shape, writer.options.dt, dynamics)?;
    let shape = writer.shape.clone();
    let name = writer.push(path, kind, shape.clone());
    let fire = dynamics.fire.as_ref();
    let has_steps = !matches!(dynamics.equation, Equation::Threshold);
    let recorded = Recorded {
        dt: None,
        discretization: has_steps.then_some(dynamics.discretization),
        reset: fire.filter(|_| has_steps).map(|fire| match fire.v_reset {
            Some(_) => Reset::Value,
            None => Reset::Subtract,
        }),
        reset_delay: fire.map(|fire| fire.reset_delay).filter(|late| *late),
        fires: fire.map(|fire| match fire.strict {
            true => Fires::Above,
            false => Fires::AtLeast,
        }),
        feedback: None,
        v_start: has_steps.then_some(v_start),
    };
    writer.record(&name, &recorded)?;
    if let Some(text) = dynamics.approximation {
        writer.changed(&name, "approximation", text);
    }
    if let Some(weights) = &dynamics.own_spike {
        let scale = Tensor::from_f64(&shape, weights).map_err(NirError::from)?;
        let back = writer.insert(
            &format!("{name}.feedback"),
            NodeKind::Scale(Scale { scale }),
        );
        writer.cycle(path, FeedbackFrom::Source)?;
        writer.connect(&name, &back);
        writer.connect(&back, &name);
    }
    Ok(name)
}

/// The choice of the potential before the first step.
fn start(path: &str, dynamics: &Dynamics) -> Result<VStart, NirError> {
    let v_leak = match &dynamics.equation {
        Equation::Leaky { v_leak, .. } | Equation::CurrentBased { v_leak, .. } => Some(v_leak),
        Equation::Integrator { .. } | Equation::Threshold => None,
    };
    let v_reset = dynamics
        .fire
        .as_ref()
        .and_then(|fire| fire.v_reset.as_ref());
    let half = |fire: &Fire| {
        let mut pairs = fire.v_threshold.iter().zip(&dynamics.v_start);
        pairs.all(|(v_threshold, v)| *v == 0.5 * v_threshold)
    };
    if dynamics.v_start.iter().all(|v| *v == 0.0) {
        Ok(VStart::Zero)
    } else if v_reset == Some(&dynamics.v_start) {
        Ok(VStart::Reset)
    } else if v_leak == Some(&dynamics.v_start) {
        Ok(VStart::Leak)
    } else if dynamics.fire.as_ref().is_some_and(half) {
        Ok(VStart::HalfThreshold)
    } else {
        Err(refused::start(path))
    }
}

fn node(shape: &[usize], dt: f64, dynamics: &Dynamics) -> Result<NodeKind, NirError> {
    let tensor = |values: &[f64]| Tensor::from_f64(shape, values);
    let time = |steps: &[f64]| tensor(&steps.iter().map(|tau| tau * dt).collect::<Vec<_>>());
    let rate = |r: &[f64]| tensor(&r.iter().map(|r| r / dt).collect::<Vec<_>>());
    let zeros = vec![0.0; shape.iter().product()];
    let reset = |fire: &Fire| tensor(fire.v_reset.as_ref().unwrap_or(&zeros)).map(Some);
    Ok(match (&dynamics.equation, &dynamics.fire) {
        (Equation::Integrator { r }, None) => NodeKind::I(Integrator { r: rate(r)? }),
        (Equation::Integrator { r }, Some(fire)) => NodeKind::If(If {
            r: rate(r)?,
            v_threshold: tensor(&fire.v_threshold)?,
            v_reset: reset(fire)?,
        }),
        (Equation::Leaky { tau, r, v_leak }, None) => NodeKind::Li(Li {
            tau: time(tau)?,
            r: tensor(r)?,
            v_leak: tensor(v_leak)?,
        }),
        (Equation::Leaky { tau, r, v_leak }, Some(fire)) => NodeKind::Lif(Lif {
            tau: time(tau)?,
            r: tensor(r)?,
            v_leak: tensor(v_leak)?,
            v_threshold: tensor(&fire.v_threshold)?,
            v_reset: reset(fire)?,
        }),
        (
            Equation::CurrentBased {
                tau_syn,
                tau_mem,
                r,
                v_leak,
                w_in,
            },
            None,
        ) => NodeKind::CubaLi(CubaLi {
            tau_syn: time(tau_syn)?,
            tau_mem: time(tau_mem)?,
            r: tensor(r)?,
            v_leak: tensor(v_leak)?,
            w_in: Some(tensor(w_in)?),
        }),
        (
            Equation::CurrentBased {
                tau_syn,
                tau_mem,
                r,
                v_leak,
                w_in,
            },
            Some(fire),
        ) => NodeKind::CubaLif(CubaLif {
            tau_syn: time(tau_syn)?,
            tau_mem: time(tau_mem)?,
            r: tensor(r)?,
            v_leak: tensor(v_leak)?,
            w_in: Some(tensor(w_in)?),
            v_threshold: tensor(&fire.v_threshold)?,
            v_reset: reset(fire)?,
        }),
        (Equation::Threshold, fire) => NodeKind::Threshold(Threshold {
            threshold: tensor(fire.as_ref().map_or(&zeros, |fire| &fire.v_threshold))?,
        }),
    })
}
