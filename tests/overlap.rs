//! Recurrent layers behind each other that overlap in time: the second one works on a chunk while the first one works on
//! the next.

use crate::dividing;
use crate::gpu;
use crate::sequence_training;

use dividing::Dividing;
use gpu::gpu;
use sequence_training::{Case, INPUTS, Trained};
use spikelet::device;
use spikelet::graph::Backend;
use spikelet::layer::{RLif, RadLif, SparchReadout};
use spikelet::prelude::*;
use std::sync::Arc;

/// Training on a device that overlaps layers in so many chunks.
fn train(backend: &Arc<dyn Backend>, case: Case<'_>, overlap: Option<usize>) -> Result<Trained> {
    let dividing: Arc<dyn Backend> = Arc::new(Dividing {
        backend: backend.clone(),
        elements: usize::MAX,
        overlap,
    });
    sequence_training::train(&dividing, case)
}

fn lif() -> Lif {
    Lif::new(2.0).v_threshold(0.3)
}

/// So many recurrent layers of one size.
fn layers(count: usize, neurons: usize) -> Sequential {
    let mut net = Sequential::new().add(Linear::new(INPUTS, neurons).bias(false));
    for _ in 0..count {
        net = net.add(Rnn::new(lif(), neurons, neurons).bias(true));
    }
    net.add(Linear::new(neurons, 3).bias(false))
}

/// The number of scans in the lines of a graph that contain a text.
fn scans(graph: &str, text: &str) -> usize {
    let lines = graph.lines();
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
                batch: 32,
                precision,
                ..Case::new(&net, 20)
            };
            let whole = train(&cpu, case, None)?;
            for chunks in [2, 5, 20] {
                let overlap = train(&cpu, case, Some(chunks))?;
                assert_eq!(scans(&overlap.graph, "recurrent_scan["), beside * chunks);
                assert_eq!(
                    scans(&overlap.graph, "recurrent_scan_grad["),
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
        batch: 32,
        updates: 1,
        ..Case::new(&net, 12)
    };
    let whole = train(&cpu, case, None)?;
    let overlap = train(&cpu, case, Some(4))?;
    assert!(
        scans(&overlap.graph, "recurrent_scan_grad[") > 0,
        "{}",
        overlap.graph
    );
    assert_eq!(overlap.losses, whole.losses);
    for (a, b) in overlap.tensors[0].iter().zip(&whole.tensors[0]) {
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
        .add(Linear::new(32, 3).bias(false));
    let case = Case {
        batch: 32,
        updates: 2,
        ..Case::new(&net, 12)
    };
    let overlap = train(&cpu, case, Some(4))?;
    assert!(
        !overlap.graph.contains("half of the device"),
        "{}",
        overlap.graph
    );
    Ok(())
}

#[test]
fn layers_of_unaligned_sizes_and_prime_lengths_stay_whole() -> Result<()> {
    let cpu = device::find("cpu", 2)?;
    let net = layers(2, 9);
    for (steps, chunks) in [(10, 5), (11, 5), (11, 2)] {
        let case = Case {
            batch: 3,
            updates: 2,
            ..Case::new(&net, steps)
        };
        let (whole, overlap) = (train(&cpu, case, None)?, train(&cpu, case, Some(chunks))?);
        assert!(
            !overlap.graph.contains("half of the device"),
            "{}",
            overlap.graph
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
                batch,
                precision,
                updates: 12,
                ..Case::new(&net, steps)
            };
            let whole = train(&gpu, case, None)?;
            let first = train(&gpu, case, Some(chunks))?;
            assert_eq!(scans(&first.graph, "recurrent_scan["), 2 * chunks);
            for _ in 0..2 {
                let again = train(&gpu, case, Some(chunks))?;
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
