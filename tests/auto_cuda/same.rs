//! Neurons of auto_cuda against those that are built in: the same spikes, the same gradients.

use crate::auto_cuda::nodes::{Kind, Node, gpu, run};
use crate::largest::larger;
use spikelet::device;
use spikelet::graph::{Data, f16};
use spikelet::neuron::{self, Inputs};
use spikelet::prelude::*;
use spikelet::surrogate::{self, SURROGATES};
use std::collections::BTreeMap;
use std::sync::Arc;

const STEPS: usize = 5;

/// Multiples of 1/8 in `shift` ± 2: with τ = 2 all potentials are exact, also in f16.
fn eighths(shape: &[usize], seed: u32, shift: f64) -> Tensor {
    let values = (0..shape.iter().product::<usize>() as u32).map(|k| {
        let drawn = (k.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 16) % 33;
        (f64::from(drawn) / 8.0 - 2.0 + shift) as f32
    });
    Tensor::f32(shape, values.collect::<Vec<f32>>())
}

fn halves(tensor: Tensor) -> Tensor {
    let values = tensor.to_f64().into_iter().map(f16::from_f64);
    Tensor {
        data: Data::F16(values.collect()),
        shape: tensor.shape,
    }
}

/// A sequence, a start and gradients for so many neurons.
fn inputs(step: &[usize], dtype: DType) -> Inputs {
    let sequence = |seed, shift| {
        let shape = [&[STEPS], step].concat();
        let drawn = eighths(&shape, seed, shift);
        match dtype {
            DType::F16 => halves(drawn),
            _ => drawn,
        }
    };
    Inputs {
        x_seq: Some(sequence(1, 0.75)),
        grad_spike_seq: Some(sequence(2, 0.0)),
        grad_v_seq: Some(sequence(3, 0.0)),
        states: BTreeMap::from([("v".to_string(), eighths(step, 4, 0.0))]),
        ..Inputs::default()
    }
}

/// The tolerance of gradients, relative to the largest.
fn share(dtype: DType, backend: &dyn Backend) -> f64 {
    match (dtype, backend.name() == "cpu") {
        // Every operation of the kernel rounds to eleven bits.
        (DType::F16, false) => 2e-2,
        (DType::F16, true) => 2e-3,
        // CUDA's exponential is not the CPU's.
        (_, false) => 1e-5,
        (_, true) => 1e-6,
    }
}

fn compare(node: &Node, inputs: &Inputs, backend: &Arc<dyn Backend>) -> Result<()> {
    let dtype = inputs.x_seq.as_ref().expect("a sequence").ty().dtype;
    let made = run(&|cx, x| node.sequences(cx, x), inputs, backend.clone())?;
    let expected = neuron::run(&*node.built_in(), inputs, device::cpu()?)?;
    let what = format!("{node:?} of {dtype} on {}", backend.name());
    let fired: f64 = expected["spike_seq"].to_f64().iter().sum();
    assert!(fired > 0.0, "{what}: nothing fired");
    for (name, expected) in &expected {
        let given = &made[name];
        if !name.starts_with("grad") {
            assert_eq!(given.to_f64(), expected.to_f64(), "{name} of {what}");
            continue;
        }
        assert_eq!(given.shape, expected.shape, "{name} of {what}");
        let (given, expected) = (given.to_f64(), expected.to_f64());
        let largest = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
        let pairs = given.iter().zip(&expected);
        let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, larger);
        // The gradient of w is a sum over all neurons and steps, in which terms cancel.
        let largest = match name.as_str() {
            "grad_w" => largest.max(made["spike_seq"].len() as f64 / 20.0),
            _ => largest,
        };
        assert!(
            apart <= share(dtype, &**backend) * largest,
            "{name} of {what}: apart by {apart}, largest {largest}"
        );
    }
    Ok(())
}

fn commons() -> Vec<Common> {
    let mut all = vec![];
    for v_reset in [Some(0.0), Some(-0.25), None] {
        for reset_grad in [ResetGrad::Surrogate, ResetGrad::Detach] {
            for surrogate in ["sigmoid", "atan"] {
                all.push(Common {
                    v_reset,
                    reset_grad,
                    surrogate: surrogate::from_spec(&surrogate.into()).expect("known"),
                    ..Common::default()
                });
            }
        }
    }
    all
}

fn all_resets(backend: &Arc<dyn Backend>, dtype: DType, step: &[usize]) -> Result<()> {
    let inputs = inputs(step, dtype);
    for kind in Kind::ALL {
        for common in commons() {
            compare(&Node { kind, common }, &inputs, backend)?;
        }
    }
    Ok(())
}

fn all_surrogates(backend: &Arc<dyn Backend>) -> Result<()> {
    let inputs = inputs(&[2, 20], DType::F32);
    for name in SURROGATES.names() {
        let surrogate = surrogate::from_spec(&name.into()).expect("known");
        // The kernels fire with Θ.
        if surrogate.needs_noise() || !surrogate.is_binary() {
            continue;
        }
        let common = Common {
            surrogate,
            ..Common::default()
        };
        let kind = Kind::Lif { decay_input: true };
        compare(&Node { kind, common }, &inputs, backend)?;
    }
    Ok(())
}

#[test]
fn every_reset_of_every_neuron_gives_the_built_in_ones_spikes_and_gradients() -> Result<()> {
    let cpu = device::cpu()?;
    all_resets(&cpu, DType::F32, &[3, 11])?;
    all_resets(&cpu, DType::F32, &[600])
}

#[test]
fn halves_are_taken_in_pairs_on_the_cpu_too() -> Result<()> {
    let cpu = device::cpu()?;
    all_resets(&cpu, DType::F16, &[2, 20])?;
    all_resets(&cpu, DType::F16, &[3, 11])
}

#[test]
fn every_surrogates_gradient_is_that_of_its_expression() -> Result<()> {
    all_surrogates(&device::cpu()?)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn kernels_of_float_give_the_built_in_neurons_spikes_and_gradients_on_a_gpu() -> Result<()> {
    let gpu = gpu();
    all_resets(&gpu, DType::F32, &[3, 11])?;
    all_resets(&gpu, DType::F32, &[1, 1100])
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn kernels_of_half2_give_the_built_in_neurons_spikes_and_gradients_on_a_gpu() -> Result<()> {
    let gpu = gpu();
    all_resets(&gpu, DType::F16, &[2, 20])?;
    all_resets(&gpu, DType::F16, &[1, 1100])
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_odd_number_of_neurons_of_half2_gets_one_that_nobody_sees_on_a_gpu() -> Result<()> {
    let gpu = gpu();
    all_resets(&gpu, DType::F16, &[3, 11])?;
    all_resets(&gpu, DType::F16, &[1])
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn every_surrogates_text_has_the_derivative_of_its_expression_on_a_gpu() -> Result<()> {
    let gpu = gpu();
    all_surrogates(&gpu)
}
