//! A delay for each channel: snnTorch's SynapticDelay.

use super::Spec;
use super::program::Trace;
use crate::case::{bounded, wrong};
use serde::Deserialize;
use spikelet::layer::{AxonalDelay, DelayInterpolation};
use spikelet::prelude::*;

#[derive(Deserialize)]
struct Constants {
    max_delay: usize,
    kernel: String,
    #[serde(default = "super::one")]
    sigma: f64,
}

pub fn layer(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    let c: Constants = spec.constants()?;
    let interpolation = match c.kernel.as_str() {
        "linear" => DelayInterpolation::Linear,
        "gaussian" => DelayInterpolation::Gaussian { sigma: c.sigma },
        other => {
            return Err(wrong(
                format!("the kernel is `{other}`"),
                "use linear or gaussian",
            ));
        }
    };
    let x = trace.sequence(0)?;
    let channels = x.dim(2);
    bounded(&[x.dim(0).saturating_add(c.max_delay), x.dim(1), channels])?;
    bounded(&[c.max_delay.saturating_add(1), channels])?;
    let layer = AxonalDelay::new(channels, c.max_delay).interpolation(interpolation);
    let y = trace.module("layer", &layer, x)?;
    trace.bind_all("layer", "param", "", &[("delay", "delay")]);
    trace.outputs_of("layer", "", &[("kernel", "kernel")])?;
    trace.output("y", &y);
    trace.weighted_loss(&[("y", &y)])
}
