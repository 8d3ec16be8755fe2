//! Dilated convolutions with learnable spacings over time, and the networks of SNN-delays.

use super::program::{Part, Trace};
use super::{Spec, batch_norm, layer_count, masked, membrane_readout};
use crate::case::{bounded, limited, wrong};
use serde::Deserialize;
use spikelet::layer::{Dcls1d, DclsVersion};
use spikelet::prelude::*;

/// The limits of a case: a kernel, and the multiplications of a layer.
const MOST_TAPS: usize = 1 << 12;

#[derive(Deserialize)]
struct Constants {
    #[serde(rename = "K")]
    kernel_size: usize,
    left: usize,
    right: usize,
    version: String,
    #[serde(default)]
    sig: f64,
}

#[derive(Deserialize)]
struct Neurons {
    tau: f64,
    alpha: f64,
    threshold: f64,
}

impl Constants {
    fn version(&self) -> Result<DclsVersion> {
        match self.version.as_str() {
            "gauss" => Ok(DclsVersion::Gaussian),
            "max" => Ok(DclsVersion::Max),
            "v1" => Ok(DclsVersion::V1),
            other => Err(wrong(
                format!("the version of dcls is `{other}`"),
                "use gauss, max or v1",
            )),
        }
    }

    /// Whether positions are those of an evaluation: rounded, without a width.
    fn evaluates(&self, trace: &Trace<'_>, prefixes: &[String]) -> Result<bool> {
        let half = (self.kernel_size / 2) as f64;
        let mut whole = self.version == "max" && self.sig == 0.0;
        for prefix in prefixes {
            let positions = trace.values(&format!("param.{prefix}P"))?;
            whole &= positions
                .iter()
                .all(|p| p.fract() == 0.0 && p.abs() <= half);
        }
        Ok(whole)
    }

    /// Traces a layer under a path, whose tensors in the case start with `prefix`.
    fn layer(&self, trace: &mut Trace<'_>, path: &str, prefix: &str, x: Var) -> Result<Var> {
        let name = format!("param.{prefix}weight");
        let &[outputs, inputs, count] = trace.shape(&name)? else {
            return Err(wrong(
                format!("`{name}` is not [out, in, count]"),
                "give weights of the sizes of the spec",
            ));
        };
        let taps = self.kernel_size;
        if !(1..=MOST_TAPS).contains(&taps) || self.left.max(self.right) > MOST_TAPS {
            return Err(wrong(
                format!("K is {taps}, left {} and right {}", self.left, self.right),
                &format!("use 1 to {MOST_TAPS}"),
            ));
        }
        bounded(&[outputs, inputs, count, taps])?;
        let steps = x.dim(0) + self.left + self.right;
        let products = [steps, x.dim(1), outputs, inputs, taps];
        limited(&products, crate::case::MOST_PRODUCTS / 4, "products")?;
        bounded(&[steps, x.dim(1), inputs.max(outputs)])?;
        let fixed = format!("param.{prefix}SIG@fixed");
        if trace.has(&fixed) {
            let widths = trace.values(&fixed)?;
            if widths.iter().any(|w| *w != widths[0]) {
                return Err(wrong(
                    format!("`{fixed}` has different values"),
                    "give one width for all synapses",
                ));
            }
        }
        let bias = trace.has(&format!("param.{prefix}bias"));
        let layer = Dcls1d::new(inputs, outputs, taps)
            .kernel_count(count)
            .version(self.version()?)
            .bias(bias);
        // The layer has K − 1 zeros before the sequence.
        let before = self.left.saturating_sub(taps - 1);
        let x = x.pad(0, before, self.right, 0.0);
        let y = trace.module(path, &layer, x)?;
        let dropped = (taps - 1).saturating_sub(self.left);
        if dropped >= y.dim(0) {
            return Err(wrong(
                "the kernel is longer than the sequence",
                "give a longer sequence",
            ));
        }
        let y = y.slice(0, dropped..y.dim(0));
        trace.bind_all(
            path,
            "param",
            prefix,
            &[("weight", "weight"), ("bias", "bias")],
        );
        let position = format!("param.{prefix}P");
        trace.bind(format!("{path}.position"), position, Part::Reshaped);
        trace.bind(format!("{path}.delay_width"), fixed, Part::First);
        trace.outputs_of(path, prefix, &[("kernel", "kernel")])?;
        Ok(y)
    }
}

pub fn layer(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    let constants: Constants = spec.constants()?;
    if constants.evaluates(trace, &[String::new()])? {
        trace.evaluate();
    }
    let outputs = trace.shape("param.weight")?.first().copied().unwrap_or(0);
    let x = trace.sequence(outputs)?;
    let y = constants.layer(trace, "layer", "", x)?;
    trace.output("y", &y);
    trace.weighted_loss(&[("y", &y)])
}

pub fn network(spec: &Spec, trace: &mut Trace<'_>) -> Result<()> {
    let constants: Constants = spec.constants()?;
    let neurons: Neurons = spec.constants()?;
    let weight = |k: usize| format!("param.{k}.weight");
    let count = layer_count(trace, "weight")?;
    let prefixes: Vec<String> = (0..count).map(|k| format!("{k}.")).collect();
    match (
        constants.version.as_str(),
        constants.evaluates(trace, &prefixes)?,
    ) {
        (_, true) => trace.evaluate(),
        ("max", false) => {
            return Err(wrong(
                "the version is max, with positions that are not whole numbers or a width",
                "give the positions of an evaluation, rounded, with `sig` 0",
            ));
        }
        _ => {}
    }
    let mut widest = 0;
    for k in 0..count {
        widest = widest.max(trace.shape(&weight(k))?.first().copied().unwrap_or(0));
    }
    let mut x = trace.sequence(widest)?;
    let lif = |threshold: f64| {
        let lif = Lif {
            decay_input: false,
            ..Lif::new(neurons.tau)
        };
        let alpha = neurons.alpha;
        lif.v_threshold(threshold)
            .v_reset(Some(0.0))
            .detach_reset(true)
            .surrogate(Atan { alpha })
    };
    for (k, prefix) in prefixes.iter().enumerate() {
        let y = constants.layer(trace, &k.to_string(), prefix, x)?;
        let (norm, neuron) = (format!("norm{k}"), format!("neuron{k}"));
        if k + 1 == count {
            // A neuron that never fires: its membrane is the output.
            x = trace.module(&neuron, &lif(1e9), y)?;
            continue;
        }
        let y = batch_norm(trace, &norm, &format!("{prefix}bn."), y)?;
        let s = trace.module(&neuron, &lif(neurons.threshold), y)?;
        trace.output(format!("{k}.s"), &s);
        trace.outputs_of(&neuron, prefix, &[("h", "h_seq"), ("v", "v_seq")])?;
        x = masked(trace, k, s)?;
    }
    membrane_readout(trace, &format!("neuron{}", count - 1))
}
