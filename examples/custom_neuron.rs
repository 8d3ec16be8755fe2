//! A custom neuron in about ten lines, and a check of its derived gradient.
//!
//! The potential decays by a factor, and the input enters as its signed square:
//! H[t] = a·V[t−1] + X[t]·|X[t]|

use spikelet::graph::Tensor;
use spikelet::neuron::{Inputs, run};
use spikelet::prelude::*;

/// A neuron with a squared input.
#[derive(Clone, Debug, Schema)]
struct Squaring {
    /// Decay factor of the potential.
    #[schema(default = 0.9, from = 0.0, to = 1.0)]
    decay: f64,
    /// Threshold, reset, surrogate.
    #[schema(flatten)]
    common: Common,
}

impl Neuron for Squaring {
    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.state("v") * self.decay + &x * x.abs()
    }
}

fn main() -> Result<()> {
    let neuron = Squaring {
        decay: 0.5,
        ..Squaring::default()
    };
    let step = spikelet::neuron::derive(&neuron)?;
    println!("S = {}", step.outputs[0].value);
    println!("V = {}", step.next[0]);
    println!("dL/dx = {}", step.step_gradients()[0]);
    println!(
        "spikes {:?}",
        neuron.run(&[[0.9, 0.5], [0.9, -0.5], [0.9, 1.2]])?
    );

    // Central differences of the smooth forward pass in f64 must equal the derived gradient.
    let neuron = neuron.spiking(false);
    let cpu = spikelet::device::cpu()?;
    let x = [0.9, 0.5, 0.8, -0.6, 0.7, 1.2];
    let forward = |x: &[f64]| -> Result<f64> {
        let inputs = Inputs {
            x_seq: Some(Tensor::f64([3, 2], x)),
            ..Inputs::default()
        };
        Ok(run(&neuron, &inputs, cpu.clone())?["spike_seq"]
            .to_f64()
            .iter()
            .sum())
    };
    let inputs = Inputs {
        x_seq: Some(Tensor::f64([3, 2], x)),
        grad_spike_seq: Some(Tensor::f64([3, 2], [1.0; 6])),
        ..Inputs::default()
    };
    let derived = run(&neuron, &inputs, cpu.clone())?["grad_x_seq"].to_f64();
    for k in 0..x.len() {
        let (mut up, mut down) = (x, x);
        up[k] += 1e-6;
        down[k] -= 1e-6;
        let difference = (forward(&up)? - forward(&down)?) / 2e-6;
        println!(
            "dL/dx[{k}]: derived {:+.8}, differences {difference:+.8}",
            derived[k]
        );
        assert!((derived[k] - difference).abs() < 1e-7);
    }
    Ok(())
}
