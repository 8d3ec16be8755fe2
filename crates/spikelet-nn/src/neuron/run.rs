//! Runs a single neuron: forward, and backward from given gradients.

use super::spiking::spiking;
use super::{Neuron, NeuronExt};
use crate::RuntimeError;
use crate::device;
use crate::module::{Context, Mode, Traced};
use crate::runtime::{VarStore, host};
use spikelet_core::{Error, Result};
use spikelet_graph::{Backend, Tensor, Var};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The inputs of a neuron. All tensors but `x_seq` are optional.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// `[T, N, …]`
    pub x_seq: Option<Tensor>,
    /// Initial states by name, `[N, …]`; others start at their reset values.
    pub states: BTreeMap<String, Tensor>,
    /// Parameters by name; others start at their initial values.
    pub params: BTreeMap<String, Tensor>,
    /// dL/d(spike_seq), `[T, N, …]`
    pub grad_spike_seq: Option<Tensor>,
    /// dL/d(v_seq), `[T, N, …]`
    pub grad_v_seq: Option<Tensor>,
    /// dL/d(out), `[N, …]`, of a neuron with a readout; it has no `grad_spike_seq`.
    pub grad_out: Option<Tensor>,
}

impl Inputs {
    /// The given gradients by name.
    fn weights(&self) -> Vec<(&'static str, &Tensor)> {
        let all = [
            ("grad_spike_seq", &self.grad_spike_seq),
            ("grad_v_seq", &self.grad_v_seq),
            ("grad_out", &self.grad_out),
        ];
        let given = all
            .into_iter()
            .map(|(name, grad)| Some((name, grad.as_ref()?)));
        given.flatten().collect()
    }
}

/// Runs a neuron over `x_seq` and, where gradients are given, backward through
/// L = Σ spike_seq·grad_spike_seq + Σ v_seq·grad_v_seq, or Σ out·grad_out in place of the first.
///
/// The result has `spike_seq` (the output, spikes or not), or `out` of a neuron with a readout;
/// `<state>_seq` of every state, such as `v_seq`; and with gradients `grad_x_seq`,
/// `grad_<state>_init` and `grad_<parameter>`.
///
/// # Errors
/// When shapes do not match or the neuron's definition is wrong.
pub fn run(
    neuron: &dyn Neuron,
    inputs: &Inputs,
    backend: Arc<dyn Backend>,
) -> Result<BTreeMap<String, Tensor>> {
    let Some(x) = &inputs.x_seq else {
        return Err(Error::invalid(
            "neuron run",
            "there is no `x_seq`",
            "set the input sequence [T, N]",
        ));
    };
    // A 16-bit type is that of stored sequences; states and parameters are f32.
    let float = x.ty().dtype.arithmetic();
    let cx = Context::new(Mode::STREAM, float);
    let x_var = cx.tracer().input("x_seq", x.ty().dtype, x.shape.clone());
    let made = spiking(neuron, &cx, &x_var)?;
    let mut names = vec![];
    let mut output = |name: &str, var: &Var| {
        cx.tracer().output(name, var);
        names.push(name.to_string());
    };
    let decoded = neuron.common().readout.is_some();
    let (out_name, out) = match decoded {
        true => ("out", made.out.reshape(&made.out.shape()[1..])),
        false => ("spike_seq", made.out.clone()),
    };
    output(out_name, &out);
    for (state, sequence) in &made.state_seqs {
        output(&format!("{state}_seq"), sequence);
    }
    let weights = inputs.weights();
    let weighted = |(name, given): &(&str, &Tensor)| {
        let value = match *name {
            "grad_v_seq" => made.state_seq("v"),
            "grad_out" => Some(&out).filter(|_| decoded),
            _ => Some(&out).filter(|_| !decoded),
        };
        let value = value.ok_or_else(|| {
            Error::invalid(
                format!("`{name}` of neuron `{}`", neuron.name()),
                "the neuron has no such output",
                "remove it",
            )
        })?;
        let weight = cx
            .tracer()
            .input(name, given.ty().dtype, given.shape.clone());
        Ok((value.cast(float) * weight.cast(float)).sum_all())
    };
    let losses: Vec<Var> = weights.iter().map(weighted).collect::<Result<_>>()?;
    let traced = cx.traced();
    if let Some(loss) = losses.into_iter().reduce(|a, b| a + b) {
        let state_names = traced.states.iter().map(|state| &state.name);
        let param_names = traced.parameters.iter().map(|p| &p.name);
        let found: Vec<(String, Var)> = std::iter::once(("grad_x_seq".to_string(), x_var))
            .chain(
                state_names
                    .filter_map(|n| Some((format!("grad_{n}_init"), cx.tracer().find_input(n)?))),
            )
            .chain(
                param_names.filter_map(|n| Some((format!("grad_{n}"), cx.tracer().find_input(n)?))),
            )
            .collect();
        let vars: Vec<&Var> = found.iter().map(|(_, v)| v).collect();
        for ((name, _), grad) in found.iter().zip(cx.tracer().gradients(&loss, &vars)) {
            output(name, &grad);
        }
    }
    let mut store = VarStore::new(backend);
    let mut program = cx.compile(&mut store, 0)?;
    set_all(&mut store, &traced, inputs)?;
    let given = [("x_seq", x)].into_iter().chain(weights);
    let given: Vec<_> = given
        .filter(|(name, _)| program.has_input(name))
        .map(|(name, tensor)| (name, host(tensor)))
        .collect();
    program.run_with(given)?;
    names
        .into_iter()
        .map(|name| Ok((name.clone(), program.get(&name)?)))
        .collect()
}

fn set_all(store: &mut VarStore, traced: &Traced, inputs: &Inputs) -> Result<()> {
    for (name, tensor) in inputs.states.iter().chain(&inputs.params) {
        let known = traced
            .states
            .iter()
            .map(|s| &s.name)
            .chain(traced.parameters.iter().map(|p| &p.name));
        if !known.clone().any(|n| n == name) {
            return Err(RuntimeError::unknown(name, known.map(String::as_str)));
        }
        store.set(name, tensor)?;
    }
    Ok(())
}

/// Runs a neuron on an array.
pub trait Run: Neuron + Sized {
    /// The output, spikes or not, for the sequence `x_seq [T][N]`, from the reset potential.
    ///
    /// # Errors
    /// When the neuron's definition is wrong.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// assert_eq!(If::new().run(&[[1.0, 0.5], [0.0, 0.5]])?, [[1.0, 0.0], [0.0, 1.0]]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    fn run<const T: usize, const N: usize>(&self, x_seq: &[[f32; N]; T]) -> Result<[[f32; N]; T]> {
        let inputs = Inputs {
            x_seq: Some(Tensor::f32([T, N], x_seq.as_flattened())),
            ..Inputs::default()
        };
        let made = run(self, &inputs, device::cpu()?)?;
        let Some(values) = made.get("spike_seq").and_then(Tensor::as_f32) else {
            return Err(Error::invalid(
                format!("`{}`", self.name()),
                "the neuron has a readout: its output is one value for all time steps",
                "use `neuron::run`, which returns it as `out`",
            ));
        };
        let mut spikes = [[0.0; N]; T];
        spikes.as_flattened_mut().copy_from_slice(values);
        Ok(spikes)
    }
}

impl<N: NeuronExt> Run for N {}
