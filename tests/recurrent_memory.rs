//! Recurrent layers under a memory budget: what they carry through time is stored every few steps, and the steps
//! between are recomputed.

use crate::feedback_block;
use crate::gpu;
use crate::sequence_training;

use feedback_block::feedback_block;
use gpu::gpu;
use sequence_training::{Case, INPUTS, Trained, train};
use spikelet::device;
use spikelet::layer::{RLif, RadLif, SparchReadout};
use spikelet::prelude::*;

const HIDDEN: usize = 64;

fn lif() -> Lif {
    Lif::new(2.0).v_threshold(0.3)
}

/// Two layers, each of which is one recurrent scan; the first has trained constants and random initial states.
fn fused() -> Sequential {
    Sequential::new()
        .add(RadLif::new(INPUTS, HIDDEN).normalize(false))
        .add(Rnn::new(lif(), HIDDEN, HIDDEN).bias(true))
        .add(Linear::new(HIDDEN, 3).bias(false))
}

/// Two layers, which feed back through two products each: they stay loops.
fn looped() -> Sequential {
    let linear = || Linear::new(HIDDEN, HIDDEN).bias(true);
    let body = || Sequential::new().add(linear()).add(lif());
    Sequential::new()
        .add(Linear::new(INPUTS, HIDDEN).bias(false))
        .add(Recurrent::new(body(), HIDDEN))
        .add(Linear::new(HIDDEN, HIDDEN).bias(false))
        .add(Recurrent::new(body(), HIDDEN))
        .add(Linear::new(HIDDEN, 3).bias(false))
}

/// Normalization over time, dropout at each step, a layer in both directions, the last step.
fn published() -> Sequential {
    Sequential::new()
        .add(RadLif::new(INPUTS, 24).dropout(0.1))
        .add(RLif::new(24, 20).bidirectional(true))
        .add(SparchReadout::new(40, 3))
}

/// Images through a block with feedback between two convolutions.
fn images() -> Sequential {
    feedback_block(lif()).add(Linear::new(32, 3).bias(false))
}

/// Compares two runs, of which one has sums of gradients in another order: the first update is nearly the same. Later
/// a neuron can fire a step earlier or later.
#[track_caller]
fn assert_close(name: &str, lean: &Trained, whole: &Trained, tolerance: f64) {
    assert_eq!(lean.losses[0], whole.losses[0], "{name}: before any update");
    for (a, b) in lean.tensors[0].iter().zip(&whole.tensors[0]) {
        for (a, b) in a.to_f64().iter().zip(b.to_f64()) {
            let near = (a - b).abs() <= tolerance * (1.0 + b.abs());
            assert!(near, "{name}: {a}, expected {b}");
        }
    }
    for (a, b) in lean.losses.iter().zip(&whole.losses) {
        assert!((a - b).abs() <= 1e-3, "{name}: losses {a} and {b}");
    }
}

fn networks() -> [(&'static str, &'static str, Sequential); 2] {
    [
        ("fused", "recurrent_lif", fused()),
        ("looped", "loop[T=", looped()),
    ]
}

#[test]
fn a_quarter_of_the_memory_is_enough_for_recurrent_layers() -> Result<()> {
    let cpu = device::find("cpu", 2)?;
    for (name, kernel, net) in &networks() {
        for precision in [Precision::F32, Precision::Bf16] {
            let case = Case {
                precision,
                ..Case::new(net, 200)
            };
            let whole = train(&cpu, case)?;
            assert!(whole.plan.contains(kernel), "{name}: {}", whole.plan);
            assert!(!whole.plan.contains("time chunks"));
            assert!(whole.losses.iter().any(|loss| *loss != whole.losses[0]));
            let lean = train(&cpu, case.budget(0.25))?;
            assert!(4 * lean.peak <= whole.peak, "{name}: {}", lean.peak);
            assert!(lean.plan.contains("time chunks"), "{name}: {}", lean.plan);
            assert!(lean.plan.contains(kernel), "{name}: {}", lean.plan);
            let tolerance = if precision == Precision::F32 {
                1e-6
            } else {
                1e-3
            };
            assert_close(name, &lean, &whole, tolerance);
        }
    }
    Ok(())
}

#[test]
fn a_budget_that_needs_no_time_chunks_changes_no_bit() -> Result<()> {
    let cpu = device::find("cpu", 2)?;
    for (name, _, net) in &networks() {
        let case = Case::new(net, 40);
        let whole = train(&cpu, case)?;
        let lean = train(&cpu, case.budget(0.85))?;
        assert!(!lean.plan.contains("time chunks"), "{name}: {}", lean.plan);
        assert!(lean.peak < whole.peak);
        assert_eq!(lean.losses, whole.losses, "{name}");
        assert!(lean.tensors == whole.tensors, "{name}");
    }
    Ok(())
}

#[test]
fn loops_over_a_longer_sequence_need_no_more_kernels() -> Result<()> {
    let cpu = device::find("cpu", 2)?;
    let net = looped();
    let kernels = |steps: usize| -> Result<Trained> {
        let case = Case {
            batch: 16,
            ..Case::new(&net, steps)
        };
        train(&cpu, case.budget(0.3))
    };
    let (short, long) = (kernels(100)?, kernels(1000)?);
    assert!(long.plan.contains("time chunks"), "{}", long.plan);
    assert!(
        long.kernels <= short.kernels,
        "{} and {}",
        long.kernels,
        short.kernels
    );
    Ok(())
}

#[test]
fn the_least_memory_of_any_recurrent_network_has_its_results() -> Result<()> {
    let cpu = device::find("cpu", 2)?;
    let networks = [
        ("fused", fused(), 15),
        ("published", published(), 12),
        ("images", images(), 24),
        ("looped", looped(), 18),
    ];
    for (name, net, steps) in &networks {
        let case = Case::new(net, *steps);
        let whole = train(&cpu, case)?;
        let refused = train(&cpu, case.budget(0.01));
        let Err(Error::Graph(spikelet::graph::Error::Budget { least, .. })) = refused else {
            panic!("{name}: a hundredth of the memory was enough, or refused for another reason");
        };
        let share = (least as f64 + 0.5) / whole.peak as f64;
        let lean = train(&cpu, case.budget(share))?;
        assert!(lean.peak <= least, "{name}: {} and {least}", lean.peak);
        assert!(lean.peak < whole.peak, "{name}");
        assert_close(name, &lean, &whole, 1e-6);
        println!("{name}: {} of {} bytes", lean.peak, whole.peak);
    }
    Ok(())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_quarter_of_the_memory_is_enough_on_a_gpu() -> Result<()> {
    let gpu = gpu();
    for (name, _, net) in &networks() {
        let case = Case::new(net, 200);
        let whole = train(&gpu, case)?;
        let lean = train(&gpu, case.budget(0.25))?;
        assert!(4 * lean.peak <= whole.peak, "{name}: {}", lean.peak);
        // Products of another number of rows can be summed in another order.
        for (a, b) in lean.losses.iter().zip(&whole.losses) {
            assert!((a - b).abs() <= 1e-3, "{name}: losses {a} and {b}");
        }
    }
    Ok(())
}
