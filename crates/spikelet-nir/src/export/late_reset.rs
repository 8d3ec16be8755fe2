//! Neurons whose reset comes one step after the spike: snnTorch's and sparch's.

use super::constants::Constants;
use super::dynamics::{Dynamics, Equation, Fire, low_pass};
use super::refused;
use spikelet_core::Result;

/// The difference of a neuron that subtracts its threshold in the step of the spike.
const ABOVE_AFTER_RESET: &str = "a potential that is above the threshold after its reset lowers the next one by the threshold \
                                 once more; as an approximation it does not, which is the same where potentials stay below \
                                 twice the threshold";

pub(super) fn synaptic(c: &Constants<'_>) -> Result<Dynamics> {
    let equation = c.undivided_current("alpha", "beta")?;
    Ok(Dynamics {
        fire: c.fire(true)?,
        ..Dynamics::new(c, equation, c.start()?)?
    })
}

/// H = β·V + X
pub(super) fn rleaky(c: &Constants<'_>) -> Result<Dynamics> {
    let tau = c.time_constants("beta")?;
    let equation = Equation::Leaky {
        r: tau.clone(),
        tau,
        v_leak: c.all(0.0),
    };
    of_snntorch(c, equation)
}

pub(super) fn rsynaptic(c: &Constants<'_>) -> Result<Dynamics> {
    of_snntorch(c, c.undivided_current("alpha", "beta")?)
}

/// The resets of snnTorch depend on the potential V[t−1] in place of the spike S[t−1]. They are the same as long as no
/// neuron starts above its threshold or is reset to a potential above it.
fn of_snntorch(c: &Constants<'_>, equation: Equation) -> Result<Dynamics> {
    let v_start = c.get_or("v_start", 0.0)?;
    let [reset_delay, keeps_input]: [bool; 2] =
        ["reset_delay", "keeps_input"].map(|key| c.field(key));
    // A late hard reset that keeps the input is one in the step of the spike: both start the next charge from v_reset.
    let at_once = !reset_delay || (keeps_input && c.common.v_reset.is_some());
    let fire = c.fire(!at_once)?;
    let above = |fire: &Fire, potentials: &[f64]| {
        let mut pairs = potentials.iter().zip(&fire.v_threshold);
        pairs.any(|(potential, v_threshold)| potential > v_threshold)
    };
    let mut approximation = None;
    if let Some(fire) = &fire {
        let reset_above = match &fire.v_reset {
            Some(v_reset) => !reset_delay && above(fire, v_reset),
            None => false,
        };
        if above(fire, &v_start) || reset_above {
            return Err(refused::above_threshold(c.path).into());
        }
        let subtracts_at_once = fire.v_reset.is_none() && !reset_delay;
        approximation = subtracts_at_once.then_some(ABOVE_AFTER_RESET);
    }
    let own_spike = match c.field("one_to_one") {
        true => Some(c.get("feedback")?),
        false => None,
    };
    Ok(Dynamics {
        fire,
        approximation,
        own_spike,
        ..Dynamics::new(c, equation, v_start)?
    })
}

/// H = α·(V[t−1] − S[t−1]) + (1 − α)·X: the spikes of a reset in the step of the spike that subtracts 1.
pub(super) fn sparch(c: &Constants<'_>) -> Result<Dynamics> {
    let mut dynamics = low_pass(c)?;
    if let Some(fire) = &mut dynamics.fire {
        fire.v_reset = None;
        let mut thresholds = fire.v_threshold.iter();
        if let Some(v_threshold) = thresholds.find(|v_threshold| **v_threshold != 1.0) {
            return Err(refused::subtracts_one(c.path, *v_threshold).into());
        }
    }
    Ok(dynamics)
}
