//! Reference networks of other frameworks, of spikelet's layers and neurons.

mod norse;
mod snntorch;
mod spikingjelly;

use spikelet::graph::{Backend, DType, Tensor};
use spikelet::module::observer;
use spikelet::prelude::*;
use spikelet::runtime::host;
use spikelet::weights::Weights;
use spikelet::weights::{Framework, WeightMap, strip_prefixes};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The names of the networks.
pub const NAMES: [&str; 5] = [
    "spikingjelly_csnn",
    "spikingjelly_class",
    "snntorch_mlp",
    "snntorch_conv",
    "norse_recurrent",
];

/// A network of a framework.
struct Reference {
    framework: Framework,
    module: Sequential,
    /// The layers of neurons: their names in the results, and the paths of their neurons.
    layers: Vec<(&'static str, &'static str)>,
    /// The recorded values that are `v/<layer>`: layers, and names of values.
    potentials: Vec<(&'static str, &'static str)>,
}

/// The sizes and constants of a file with weights.
struct Sizes<'a>(&'a Weights);

impl Sizes<'_> {
    fn shape<const D: usize>(&self, name: &str) -> Result<[usize; D]> {
        let shape = self.0.get(name).map(|tensor| tensor.shape());
        let wrong = |problem: String| {
            Error::invalid("weights", problem, "give the weights of this network")
        };
        let Some(shape) = shape else {
            return Err(wrong(format!("the tensor `{name}` is missing")));
        };
        <[usize; D]>::try_from(shape).map_err(|_| {
            wrong(format!(
                "`{name}` has the shape {shape:?}; expected {D} axes"
            ))
        })
    }

    fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    /// The first value of a tensor.
    fn value(&self, name: &str) -> Option<f64> {
        self.0.get(name)?.to_f64().first().copied()
    }

    fn linear(&self, name: &str) -> Result<Linear> {
        let [outputs, inputs] = self.shape(&format!("{name}.weight"))?;
        Ok(Linear::new(inputs, outputs).bias(self.has(&format!("{name}.bias"))))
    }

    fn conv(&self, name: &str) -> Result<Conv2d> {
        let [outputs, inputs, height, width] = self.shape(&format!("{name}.weight"))?;
        let conv = Conv2d::new(inputs, outputs, [height, width]);
        Ok(conv.bias(self.has(&format!("{name}.bias"))))
    }

    fn batch_norm(&self, name: &str) -> Result<BatchNorm2d> {
        let [channels] = self.shape(&format!("{name}.weight"))?;
        Ok(BatchNorm2d::new(channels))
    }
}

/// Runs a network on `x`, `[T, N, …]`: `spikes/<layer>` and `v/<layer>`.
pub fn run(
    network: &str,
    mut weights: Weights,
    x: &Tensor,
    backend: Arc<dyn Backend>,
) -> Result<BTreeMap<String, Tensor>> {
    let (build, known): (fn(&Sizes<'_>) -> Result<Reference>, _) = match network {
        "spikingjelly_csnn" => (spikingjelly::csnn, "0.weight"),
        "spikingjelly_class" => (spikingjelly::class, "static.0.weight"),
        "snntorch_mlp" => (snntorch::mlp, "fc1.weight"),
        "snntorch_conv" => (snntorch::conv, "conv1.weight"),
        "norse_recurrent" => (norse::recurrent, "0.weight"),
        other => {
            return Err(Error::invalid(
                "network",
                format!("`{other}` is unknown"),
                format!("use one of {}", NAMES.join(", ")),
            ));
        }
    };
    strip_prefixes(&mut weights, |weights| weights.get(known).is_some());
    let reference = build(&Sizes(&weights))?;
    let map = WeightMap::new(reference.framework, &reference.module, &x.shape)?;
    let tensors = map.import(&weights).complete()?;

    let cx = Context::new(Mode::EVAL, DType::F32).observer(observer::States);
    let x = x.cast(DType::F32);
    let input = cx.tracer().input("x", DType::F32, x.shape.clone());
    cx.trace(&reference.module, input)?;
    let mut results = vec![];
    let mut output = |name: String, recorded: &str| -> Result<()> {
        cx.tracer().output(&name, &cx.recorded(recorded)?);
        results.push(name);
        Ok(())
    };
    for (layer, path) in &reference.layers {
        output(format!("spikes/{layer}"), &format!("{path}.spike_seq"))?;
    }
    for (layer, recorded) in &reference.potentials {
        output(format!("v/{layer}"), recorded)?;
    }
    let mut store = VarStore::new(backend);
    let mut program = cx.compile(&mut store, 0)?;
    for (name, tensor) in &tensors {
        store.set(name, tensor)?;
    }
    program.run_with([("x", host(&x))])?;
    let result = |name: String| {
        let tensor = program.get(&name)?.cast(DType::F32);
        Ok((name, tensor))
    };
    results.into_iter().map(result).collect()
}
