//! Neurons whose potential runs away: infinities and NaN as IEEE has them, the same on every device,
//! held against plain loops over f32.

use crate::gpu;

use gpu::gpu;
use spikelet::device;
use spikelet::expr::math::Real;
use spikelet::neuron::{Eif, Inputs, Izhikevich, Qif, run};
use spikelet::prelude::*;
use std::sync::Arc;

const STEPS: usize = 6;

/// A column for each neuron: calm, large, larger, negative, infinite, and no number.
fn inputs() -> Vec<[f32; STEPS]> {
    vec![
        [0.5, 0.7, 0.9, 1.1, 0.2, 0.4],
        [30.0, 30.0, 30.0, 30.0, 30.0, 30.0],
        [1e20, 1.0, 1.0, 1.0, 1.0, 1.0],
        [-1e20, 0.5, -1e20, 0.5, 0.5, 0.5],
        [f32::NEG_INFINITY, 1.0, f32::INFINITY, 1.0, 1.0, 1.0],
        [0.5, f32::NAN, 3.0, 3.0, 3.0, 3.0],
        [2.0, -40.0, 700.0, -9e30, 9e30, 0.0],
    ]
}

/// Spikes and potentials of every neuron, `[T][N]`.
type Made = (Vec<f32>, Vec<f32>);

/// Fires at 1, and resets.
fn fire(h: f32, v_reset: Option<f32>) -> (f32, f32) {
    let s = if h - 1.0 >= 0.0 { 1.0 } else { 0.0 };
    match v_reset {
        Some(v_reset) => (s, if s == 1.0 { v_reset } else { h }),
        None => (s, h - s),
    }
}

/// Runs `step(x, v, w)`, which gives H and W, over all inputs.
fn plain(v_reset: Option<f32>, b: f32, step: impl Fn(f32, f32, f32) -> (f32, f32)) -> Made {
    let columns = inputs();
    let count = columns.len();
    let (mut spikes, mut potentials) = (vec![0.0; STEPS * count], vec![0.0; STEPS * count]);
    for (n, column) in columns.iter().enumerate() {
        let (mut v, mut w) = (v_reset.unwrap_or(0.0), 0.0);
        for (t, &x) in column.iter().enumerate() {
            let (h, next_w) = step(x, v, w);
            let (s, after) = fire(h, v_reset);
            (v, w) = (after, next_w + b * s);
            (spikes[t * count + n], potentials[t * count + n]) = (s, v);
        }
    }
    (spikes, potentials)
}

fn on_device(neuron: &dyn Neuron, backend: Arc<dyn Backend>) -> Result<Made> {
    let columns = inputs();
    let x: Vec<f32> = (0..STEPS)
        .flat_map(|t| columns.iter().map(move |c| c[t]))
        .collect();
    let inputs = Inputs {
        x_seq: Some(Tensor::f32([STEPS, columns.len()], x)),
        ..Inputs::default()
    };
    let made = run(neuron, &inputs, backend)?;
    let of = |name: &str| made[name].as_f32().expect("f32").to_vec();
    Ok((of("spike_seq"), of("v_seq")))
}

fn check(
    backend: &Arc<dyn Backend>,
    name: &str,
    neuron: &dyn Neuron,
    expected: &Made,
) -> Result<()> {
    let device = backend.name();
    let made = on_device(neuron, backend.clone())?;
    // A potential that has become no number is none on every device, at the same step.
    let same = |a: &f32, b: &f32| a == b || (a.is_nan() && b.is_nan());
    for (what, given, wanted) in [("S", &made.0, &expected.0), ("V", &made.1, &expected.1)] {
        let apart = (0..given.len()).find(|&k| !same(&given[k], &wanted[k]));
        let at = |k: usize| (k / inputs().len(), k % inputs().len(), given[k], wanted[k]);
        assert_eq!(
            apart.map(at),
            None,
            "{name} on {device}: step and neuron of {what}"
        );
    }
    let v = &expected.1;
    assert!(v.iter().any(|v| v.is_nan()), "{name} gives no NaN");
    assert!(
        v.iter().any(|v| v.abs() > 1e18),
        "{name} does not run away: {v:?}"
    );
    Ok(())
}

#[test]
fn a_quadratic_neuron_runs_away_as_plain_arithmetic_does() -> Result<()> {
    check_quadratic(&device::cpu()?)
}

#[test]
fn an_exponential_neuron_runs_away_as_plain_arithmetic_does() -> Result<()> {
    check_exponential(&device::cpu()?)
}

#[test]
fn an_adapting_neuron_runs_away_as_plain_arithmetic_does() -> Result<()> {
    check_adapting(&device::cpu()?)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn neurons_run_away_on_a_gpu_as_plain_arithmetic_does() -> Result<()> {
    check_quadratic(&gpu())?;
    check_exponential(&gpu())?;
    check_adapting(&gpu())
}

fn check_quadratic(backend: &Arc<dyn Backend>) -> Result<()> {
    for v_reset in [Some(-0.1_f32), None] {
        let expected = plain(v_reset, 0.0, |x, v, w| {
            (v + (x + (v - 0.0) * (v - 0.8)) / 2.0, w)
        });
        let neuron = Qif::new(2.0).v_reset(v_reset.map(f64::from));
        check(backend, "qif", &neuron, &expected)?;
    }
    Ok(())
}

fn check_exponential(backend: &Arc<dyn Backend>) -> Result<()> {
    for v_reset in [Some(-0.1_f32), None] {
        let expected = plain(v_reset, 0.0, |x, v, w| {
            let onset = 0.5 * Real::exp((v - 0.8) / 0.5);
            (v + (x + 0.25 - v + onset) / 3.0, w)
        });
        let neuron = Eif {
            tau: 3.0,
            delta_t: 0.5,
            v_rest: 0.25,
            ..Eif::default()
        };
        check(
            backend,
            "eif",
            &neuron.v_reset(v_reset.map(f64::from)),
            &expected,
        )?;
    }
    Ok(())
}

fn check_adapting(backend: &Arc<dyn Backend>) -> Result<()> {
    for v_reset in [Some(0.0_f32), None] {
        let expected = plain(v_reset, 0.2, |x, v, w| {
            let h = v + (x + 1.5 * (v + 0.1) * (v - 0.8) - w) / 2.0;
            (h, w + (0.1 * (h + 0.1) - w) / 3.0)
        });
        let neuron = Izhikevich {
            a0: 1.5,
            tau_w: 3.0,
            a: 0.1,
            b: 0.2,
            ..Izhikevich::default()
        };
        check(
            backend,
            "izhikevich",
            &neuron.v_reset(v_reset.map(f64::from)),
            &expected,
        )?;
    }
    Ok(())
}
