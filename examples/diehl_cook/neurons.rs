//! The neurons, as equations of one time step, and their synapses.
//!
//! Excitatory and inhibitory neurons have the same form, with conductances gₑ and gᵢ as synapses:
//!
//! τ dV/dt = (v_rest − V) + gₑ·(E_e − V) + gᵢ·(E_i − V),  τ_e dgₑ/dt = −gₑ,  τ_i dgᵢ/dt = −gᵢ
//!
//! After a spike V is v_reset for the refractory period. Conductances decay by forward Euler steps, as in the authors'
//! program. Potentials move by exponential Euler steps, towards (v_rest + gₑ·E_e + gᵢ·E_i) / (1 + gₑ + gᵢ): the inhibition by
//! more than 23 spikes of one step makes forward Euler steps unstable, and all neurons fire.

use spikelet::graph::op::Recurrence;
use spikelet::prelude::*;
use std::sync::Arc;

/// The duration of a step in ms.
pub const DT: f64 = 0.5;

/// The constants of a neuron: times in ms, potentials in mV.
#[derive(Clone, Copy, Debug)]
pub struct ConductanceLif {
    pub name: &'static str,
    pub tau: f64,
    pub v_rest: f64,
    pub v_reset: f64,
    /// Without what [homeostasis](Theta) adds.
    pub v_threshold: f64,
    pub refractory: f64,
    pub reversal_e: f64,
    pub reversal_i: f64,
}

/// The time constants of conductances.
const TAU_E: f64 = 1.0;
const TAU_I: f64 = 2.0;

pub const EXCITATORY: ConductanceLif = ConductanceLif {
    name: "excitatory",
    tau: 100.0,
    v_rest: -65.0,
    v_reset: -65.0,
    v_threshold: -52.0 - 20.0,
    refractory: 5.0,
    reversal_e: 0.0,
    reversal_i: -100.0,
};

pub const INHIBITORY: ConductanceLif = ConductanceLif {
    name: "inhibitory",
    tau: 10.0,
    v_rest: -60.0,
    v_reset: -45.0,
    v_threshold: -40.0,
    refractory: 2.0,
    reversal_e: 0.0,
    reversal_i: -85.0,
};

/// The weight of an excitatory neuron's synapse to its inhibitory neuron.
const E_TO_I: f64 = 10.4;
/// The weight of an inhibitory neuron's synapses to all excitatory neurons but its own.
const I_TO_E: f64 = 17.0;

impl ConductanceLif {
    /// A step: the spike, and the next states. `excitation` and `inhibition` are what spikes that arrive add to the
    /// conductances, `theta` what is added to the threshold.
    fn step(&self) -> Recurrence {
        let [v, g_e, g_i, silent] = ["v", "g_e", "g_i", "silent"].map(Expr::symbol);
        let [excitation, inhibition, theta] =
            ["excitation", "inhibition", "theta"].map(Expr::symbol);
        let (g_e, g_i) = (g_e + excitation, g_i + inhibition);
        let total = 1.0 + &g_e + &g_i;
        let target = (self.v_rest + self.reversal_e * &g_e + self.reversal_i * &g_i) / &total;
        let kept = (total * (-DT / self.tau)).exp();
        let charged = &target + (&v - &target) * kept;
        let is_silent = silent.gt(0.0);
        let above = charged.gt(self.v_threshold + theta);
        let spike = Expr::select(&is_silent, 0.0, above);
        let held = Expr::select(&is_silent, &v, charged);
        let refractory = self.refractory / DT;
        let next = vec![
            Expr::select(&spike, self.v_reset, held),
            g_e * (1.0 - DT / TAU_E),
            g_i * (1.0 - DT / TAU_I),
            Expr::select(&spike, refractory, (silent - 1.0).max(0.0)),
        ];
        Recurrence::new(
            self.name,
            ["excitation", "inhibition"],
            ["v", "g_e", "g_i", "silent"],
        )
        .params(["theta"])
        .output("spike", spike, true)
        .next(next)
    }

    /// The spikes of one step, `[1, N, neurons]`. The states start at rest.
    fn run(&self, cx: &Context, excitation: &Var, inhibition: &Var, theta: &Var) -> Result<Var> {
        cx.child(self.name, |cx| {
            let shape = &excitation.shape()[1..];
            let starts = [
                ("v", self.v_rest),
                ("g_e", 0.0),
                ("g_i", 0.0),
                ("silent", 0.0),
            ];
            let states = starts.map(|(name, start)| cx.state(name, shape, start));
            let inputs = [excitation, inhibition];
            let step = Arc::new(self.step());
            let made = Var::scan(&step, 1, &inputs, &states.each_ref(), &[theta]);
            let [outputs, lasts, _] = step.split_results(&made);
            for (state, last) in states.iter().zip(lasts) {
                cx.set_state(state, last);
            }
            Ok(outputs[0].clone())
        })
    }
}

/// Homeostasis: a spike raises the threshold of its neuron, in training only.
#[derive(Clone, Copy, Debug)]
pub struct Theta {
    /// θ at the beginning.
    pub start: f64,
    /// The increase by a spike.
    pub increase: f64,
    /// The time constant of its decay.
    pub tau: f64,
}

pub const THETA: Theta = Theta {
    start: 20.0,
    increase: 0.05,
    tau: 1e7,
};

/// Excitatory neurons of which each excites an inhibitory neuron, which inhibits all others: `[T, N, neurons]`, the
/// conductance that the input adds, to the spikes of the excitatory neurons.
#[derive(Clone, Copy, Debug)]
pub struct Competition;

impl Competition {
    fn step(cx: &Context, drive: &Var) -> Result<Var> {
        let (batch, neurons) = (drive.dim(1), drive.dim(2));
        // Spikes between the populations arrive in the step after.
        let before = ["excitatory", "inhibitory"]
            .map(|name| cx.state(&format!("{name}_spikes"), [batch, neurons], 0.0));
        let [excitatory, inhibitory] = before
            .each_ref()
            .map(|spikes| spikes.expand([batch, neurons]).unsqueeze(0));
        let excitation = excitatory * E_TO_I;
        let others = inhibitory.sum(&[2]).unsqueeze(2) - inhibitory;
        let theta = cx.buffer("theta", [neurons], Init::Constant(THETA.start));
        let zero = cx.tracer().fill(cx.tracer().float(), [], 0.0);
        let spikes = EXCITATORY.run(cx, drive, &(others * I_TO_E), &theta)?;
        let inhibitory = INHIBITORY.run(cx, &excitation, &zero.expand(drive.shape()), &zero)?;
        for (state, next) in before.iter().zip([&spikes, &inhibitory]) {
            cx.set_state(state, &next.reshape([batch, neurons]));
        }
        if cx.mode().training {
            // The sum over the samples, as the changes of the weights.
            let fired = spikes.sum(&[0, 1]);
            let next = &theta * (1.0 - DT / THETA.tau) + fired * THETA.increase;
            cx.set_buffer(&theta, &next);
        }
        Ok(spikes)
    }
}

impl Module for Competition {
    fn forward(&self, cx: &Context, drive: &Var) -> Result<Var> {
        let steps = cx.step_loop(drive, |drive| Self::step(cx, &drive))?;
        Ok(steps.join())
    }
}
