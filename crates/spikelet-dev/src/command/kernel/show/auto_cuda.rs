//! Kernels of SpikingJelly's auto_cuda.

use super::{Dtype, Pass, Show, Written};
use serde_json::{Map, Value, json};
use spikelet::auto_cuda::neuron_kernel::{
    IFNodeBPTTKernel, IFNodeFPTTKernel, LIFNodeBPTTKernel, LIFNodeFPTTKernel,
    ParametricLIFNodeBPTTKernel, ParametricLIFNodeFPTTKernel,
};
use spikelet::auto_cuda::{self, Kernel, SurrogateCodes};
use spikelet::neuron::{FireOn, Neuron, ResetGrad};
use spikelet_cli::failure::Failure;
use std::sync::Arc;

/// The neurons with kernels.
const NEURONS: [&str; 3] = ["if", "lif", "plif"];

/// Writes the kernel, if there is one.
///
/// # Errors
/// When there is no such kernel; the message lists the existing ones.
pub fn write(
    show: &Show,
    neuron: &dyn Neuron,
    constants: &Map<String, Value>,
) -> Result<Written, Failure> {
    let name = show.name.as_str();
    if !NEURONS.contains(&name) {
        return Err(Failure::argument(
            format!(
                "auto_cuda has no kernel for `{name}`, only for {}",
                NEURONS.join(", ")
            ),
            "--style fused prints the kernel of training, for every neuron",
        ));
    }
    check_size(show)?;
    let dtype = dtype(show.dtype)?;
    let detach = check(neuron, constants)?;
    let common = neuron.common();
    let hard = common.v_reset.is_some();
    let surrogate: Arc<dyn SurrogateCodes> = match show.same_bits {
        true => Arc::new(auto_cuda::surrogate(&*common.surrogate).map_err(spikelet::Error::from)?),
        false => Arc::new(auto_cuda::reference(&*common.surrogate).map_err(spikelet::Error::from)?),
    };
    let decays = constants.get("decay_input").and_then(Value::as_bool);
    let decays = decays.unwrap_or(true);
    let kernel: Box<dyn Kernel> = match (name, show.pass) {
        ("if", Pass::Fptt) => Box::new(IFNodeFPTTKernel::new(hard, dtype)),
        ("if", Pass::Bptt) => Box::new(IFNodeBPTTKernel::new(surrogate, hard, detach, dtype)),
        ("lif", Pass::Fptt) => Box::new(LIFNodeFPTTKernel::new(decays, hard, dtype)),
        ("lif", Pass::Bptt) => {
            let kernel = LIFNodeBPTTKernel::new(decays, surrogate, hard, detach, dtype);
            Box::new(kernel)
        }
        (_, Pass::Fptt) => Box::new(ParametricLIFNodeFPTTKernel::new(decays, hard, dtype)),
        (_, Pass::Bptt) => {
            let kernel = ParametricLIFNodeBPTTKernel::new(decays, surrogate, hard, detach, dtype);
            Box::new(kernel)
        }
    };
    Ok(Written {
        name: kernel.kernel_name().to_string(),
        source: if show.markers {
            kernel.full_codes_marked()
        } else {
            kernel.full_codes()
        },
        parameters: parameters(&*kernel, neuron, constants),
        more: Map::new(),
    })
}

/// The parameters in call order; those that are constants of the neuron have a value.
fn parameters(
    kernel: &dyn Kernel,
    neuron: &dyn Neuron,
    constants: &Map<String, Value>,
) -> Vec<Value> {
    let common = neuron.common();
    let tau = ["tau", "init_tau"].map(|key| constants.get(key).and_then(Value::as_f64));
    let value = |name: &str| match name {
        "v_th" => Some(common.v_threshold),
        "v_reset" => common.v_reset,
        "decay" => tau.into_iter().flatten().next().map(|tau| 1.0 / tau),
        _ => None,
    };
    let params = kernel.cparams().iter();
    params
        .map(|(name, ctype)| {
            let mut parameter = json!({"type": ctype, "name": name});
            if let Some(value) = value(name) {
                parameter["value"] = Value::from(value);
            }
            parameter
        })
        .collect()
}

fn dtype(asked: Dtype) -> Result<auto_cuda::Dtype, Failure> {
    match asked {
        Dtype::Float => Ok(auto_cuda::Dtype::Float),
        Dtype::Half2 => Ok(auto_cuda::Dtype::Half2),
        Dtype::Half | Dtype::Bf16 => Err(Failure::argument(
            "auto_cuda's kernels compute with float or half2",
            "use --dtype float or --dtype half2; --style fused has half and bf16",
        )),
    }
}

/// T, N and the architecture do not affect the source.
fn check_size(show: &Show) -> Result<(), Failure> {
    let size = &show.size;
    let given = [
        ("--time-steps", size.time_steps.is_some()),
        ("--neurons", size.neurons.is_some()),
        ("--arch", size.arch.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => Err(Failure::argument(
            format!(
                "{name} has no effect on a kernel of auto_cuda, which runs with any size and GPU"
            ),
            "leave it out, or use --style fused",
        )),
    }
}

/// Checks that the equations are those of the kernels; returns whether the reset is detached.
fn check(neuron: &dyn Neuron, constants: &Map<String, Value>) -> Result<bool, Failure> {
    let fused = "--style fused has a kernel for it";
    let common = neuron.common();
    // The kernels have the derivative of the surrogate, and the step function forward.
    if !(common.spiking && common.fires) {
        return Err(Failure::argument(
            "auto_cuda's kernels fire with the step Θ(H − v_threshold), this neuron does not",
            fused,
        ));
    }
    let common_kind = (common.strict, common.resets, common.fire_on);
    if common_kind != (false, true, FireOn::Charged) {
        return Err(Failure::argument(
            "auto_cuda's kernels fire where H ≥ v_threshold and reset then, this neuron has another `strict`, `resets` or `fire_on`",
            fused,
        ));
    }
    if constants.get("granularity").is_some_and(|g| g != "layer") {
        return Err(Failure::argument(
            "auto_cuda's kernels of plif have one decay for the layer",
            "leave `granularity` out, or use --style fused",
        ));
    }
    if let Some(name) = common.trainable.keys().next() {
        return Err(Failure::argument(
            format!("`{name}` is not trainable in auto_cuda's kernels"),
            fused,
        ));
    }
    match common.reset_grad {
        ResetGrad::Surrogate => Ok(false),
        ResetGrad::Detach => Ok(true),
        ResetGrad::Soft => Err(Failure::argument(
            "auto_cuda's kernels have no soft reset gradient, only surrogate and detach",
            fused,
        )),
    }
}
