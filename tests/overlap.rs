//! Recurrent layers behind each other that overlap in time: the second one works on a chunk while the first one works on
//! the next.

#[path = "support/dividing.rs"]
mod dividing;
#[path = "support/gpu.rs"]
mod gpu;

use dividing::Dividing;
use gpu::gpu;
use spikelet::device;
use spikelet::graph::Backend;
use spikelet::graph::op::HostTensor;
use spikelet::prelude::*;
use spikelet::train::{Outputs, Step};
use std::sync::Arc;

const INPUTS: usize = 16;

/// A network, and how it is trained.
#[derive(Clone, Copy)]
struct Case<'a> {
    net: &'a Sequential,
    steps: usize,
    batch: usize,
    precision: Precision,
}

/// What training comes to.
struct Trained {
    losses: Vec<f64>,
    tensors: Vec<Tensor>,
    plan: String,
}

/// Some steps of training on a device that overlaps layers in so many chunks.
fn train(
    backend: &Arc<dyn Backend>,
    case: Case<'_>,
    updates: usize,
    overlap: Option<usize>,
) -> Result<Trained> {
    let backend = Arc::new(Dividing {
        backend: backend.clone(),
        elements: usize::MAX,
        overlap,
    });
    let Case { steps, batch, .. } = case;
    let mut store = VarStore::new(backend);
    let mut step = Step::new(|cx, inputs| {
        let y = cx.trace(case.net, inputs["x"].clone())?.mean(&[0]);
        Ok(Outputs::loss((&y - &inputs["target"]).square().mean_all()))
    })
    .batch_size(batch)
    .sequence("x", DType::F32, [steps, INPUTS])
    .input("target", DType::F32, [3])
    .optimizer(Sgd::default(), 0.1)
    .precision(case.precision)
    .compile(&mut store)?;
    let mut losses = vec![];
    for number in 0..updates {
        let value = |k: usize| ((k * 7919 + number * 104_729) % 1000) as f32 / 1000.0;
        let x = (0..steps * batch * INPUTS).map(|k| 3.0 * value(k));
        let target = (0..batch * 3).map(|k| value(k + 31) - 0.5);
        let (x, target): (Vec<f32>, Vec<f32>) = (x.collect(), target.collect());
        let found = step.run([
            ("x", HostTensor::F32(&x)),
            ("target", HostTensor::F32(&target)),
        ])?;
        losses.push(found.loss);
    }
    let names: Vec<String> = store.names().map(String::from).collect();
    let plan = step.program().plan();
    assert!(plan.is_sound());
    Ok(Trained {
        losses,
        tensors: names
            .iter()
            .map(|name| store.get(name))
            .collect::<Result<_>>()?,
        plan: plan.graph.to_string(),
    })
}

fn lif() -> Lif {
    Lif::new(2.0).v_threshold(0.3)
}

/// So many recurrent layers of one size.
fn layers(count: usize, neurons: usize) -> Sequential {
    let mut net = Sequential::new().add(Linear::new(INPUTS, neurons));
    for _ in 0..count {
        net = net.add(Rnn::new(lif(), neurons, neurons).bias(true));
    }
    net.add(Linear::new(neurons, 3))
}

/// The number of scans in the lines of a plan that contain a text.
fn scans(plan: &str, text: &str) -> usize {
    let lines = plan.lines();
    let lines = lines.filter(|line| line.contains(text) && line.contains("half of the device"));
    lines.count()
}

#[test]
fn layers_that_overlap_have_the_bits_of_layers_one_after_the_other() -> Result<()> {
    let cpu = device::find("cpu", 2)?;
    // Layers, and the scans that run beside another.
    for (count, beside) in [(1, 0), (2, 2), (3, 2), (4, 4)] {
        let net = layers(count, 64);
        for precision in [Precision::F32, Precision::Bf16] {
            let case = Case {
                net: &net,
                steps: 20,
                batch: 32,
                precision,
            };
            let whole = train(&cpu, case, 4, None)?;
            for chunks in [2, 5, 20] {
                let overlap = train(&cpu, case, 4, Some(chunks))?;
                assert_eq!(scans(&overlap.plan, "recurrent_scan["), beside * chunks);
                assert_eq!(
                    scans(&overlap.plan, "recurrent_scan_grad["),
                    beside * chunks
                );
                assert_eq!(
                    overlap.losses, whole.losses,
                    "{count} layers, {chunks} chunks"
                );
                assert!(overlap.tensors == whole.tensors);
            }
            assert!(whole.losses[0] != whole.losses[3]);
        }
    }
    Ok(())
}

#[test]
fn gradients_of_trained_constants_are_sums_over_the_chunks() -> Result<()> {
    let cpu = device::find("cpu", 2)?;
    let net = Sequential::new()
        .add(RadLif::new(INPUTS, 24).normalize(false).dropout(0.1))
        .add(RadLif::new(24, 32).normalize(false))
        .add(RLif::new(32, 20).normalize(false).bidirectional(true))
        .add(SparchReadout::new(40, 3));
    let case = Case {
        net: &net,
        steps: 12,
        batch: 32,
        precision: Precision::F32,
    };
    let whole = train(&cpu, case, 1, None)?;
    let overlap = train(&cpu, case, 1, Some(4))?;
    assert!(
        scans(&overlap.plan, "recurrent_scan_grad[") > 0,
        "{}",
        overlap.plan
    );
    assert_eq!(overlap.losses, whole.losses);
    for (a, b) in overlap.tensors.iter().zip(&whole.tensors) {
        for (a, b) in a.to_f64().iter().zip(b.to_f64()) {
            assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "{a}, expected {b}");
        }
    }
    Ok(())
}

#[test]
fn layers_with_statistics_over_all_steps_between_them_do_not_overlap() -> Result<()> {
    let cpu = device::find("cpu", 2)?;
    let net = Sequential::new()
        .add(RLif::new(INPUTS, 32))
        .add(RLif::new(32, 32))
        .add(Linear::new(32, 3));
    let case = Case {
        net: &net,
        steps: 12,
        batch: 32,
        precision: Precision::F32,
    };
    let overlap = train(&cpu, case, 2, Some(4))?;
    assert!(
        !overlap.plan.contains("half of the device"),
        "{}",
        overlap.plan
    );
    Ok(())
}

#[test]
fn layers_of_unaligned_sizes_and_prime_lengths_stay_whole() -> Result<()> {
    let cpu = device::find("cpu", 2)?;
    let net = layers(2, 9);
    for (steps, chunks) in [(10, 5), (11, 5), (11, 2)] {
        let case = Case {
            net: &net,
            steps,
            batch: 3,
            precision: Precision::F32,
        };
        let (whole, overlap) = (
            train(&cpu, case, 2, None)?,
            train(&cpu, case, 2, Some(chunks))?,
        );
        assert!(
            !overlap.plan.contains("half of the device"),
            "{}",
            overlap.plan
        );
        assert_eq!(overlap.losses, whole.losses);
    }
    Ok(())
}

/// Kernels that run at the same time without being ordered would show as results that differ from run to run, or as
/// other results than those of kernels one after the other.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn overlapping_layers_have_the_same_bits_in_every_run_on_a_gpu() -> Result<()> {
    let gpu = gpu();
    let sizes = [(250, 256, 512, 5), (40, 16, 128, 2), (100, 64, 256, 10)];
    for (steps, batch, neurons, chunks) in sizes {
        let net = layers(2, neurons);
        for precision in [Precision::F32, Precision::Bf16] {
            let case = Case {
                net: &net,
                steps,
                batch,
                precision,
            };
            let whole = train(&gpu, case, 12, None)?;
            let first = train(&gpu, case, 12, Some(chunks))?;
            assert_eq!(scans(&first.plan, "recurrent_scan["), 2 * chunks);
            for _ in 0..2 {
                let again = train(&gpu, case, 12, Some(chunks))?;
                assert_eq!(again.losses, first.losses, "{neurons} neurons");
                assert!(again.tensors == first.tensors, "{neurons} neurons");
            }
            for (a, b) in first.losses.iter().zip(&whole.losses) {
                assert!(
                    (a - b).abs() <= 2e-3 * (1.0 + b.abs()),
                    "losses {a} and {b}"
                );
            }
        }
    }
    Ok(())
}
