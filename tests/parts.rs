//! Operations on long sequences run in time chunks, with the same results.

use crate::dividing;
use crate::gpu;

use dividing::Dividing;
use gpu::gpu;
use spikelet::data::Batch;
use spikelet::network::Network;
use spikelet::prelude::*;
use spikelet::train::{BatchShape, Step};
use spikelet::{MemoryBudget, device};
use std::sync::Arc;

/// The results of training steps.
struct Trained {
    losses: Vec<f64>,
    tensors: Vec<Tensor>,
    peak: usize,
    reports: Vec<String>,
}

const STEPS: usize = 24;
const BATCH: usize = 4;

fn train(
    backend: &Arc<dyn Backend>,
    elements: usize,
    precision: Precision,
    encoder: &str,
    memory_budget: Option<MemoryBudget>,
) -> Result<Trained> {
    let network = Network::model(
        "cifar10-net",
        [
            ("inputs", 1.into()),
            ("size", 24.into()),
            ("channels", 16.into()),
        ],
    )?;
    let settings = Settings {
        time_steps: STEPS,
        batch_size: BATCH,
        precision,
        memory_budget,
        encoder: encoder.parse().expect("an encoder"),
        ..Settings::of_network(&network)
    };
    let mut store = VarStore::new(Arc::new(Dividing {
        backend: backend.clone(),
        elements,
        overlap: None,
    }));
    let shape = BatchShape {
        batch: BATCH,
        image: [1, 24, 24],
    };
    let module = network.module()?;
    let mut step = Step::classifier(&*module, &settings, shape)?.compile(&mut store)?;
    let mut losses = vec![];
    for k in 0..3_u32 {
        let pixel = |i: u32| ((i + k) * 37 % 101) as f32 / 101.0;
        let images = (0..(BATCH * 24 * 24) as u32).map(pixel).collect();
        let labels = (0..BATCH as i64).map(|i| (i + i64::from(k)) % 10).collect();
        let batch = Batch::of_images([1, 24, 24], images, labels);
        losses.push(step.run_batch(&batch)?.loss);
    }
    let plan = step.program().plan();
    assert!(plan.is_sound());
    let names: Vec<String> = store.names().map(String::from).collect();
    Ok(Trained {
        losses,
        peak: plan.peak_bytes(),
        reports: plan.reports.iter().map(|r| r.summary.clone()).collect(),
        tensors: names.iter().map(|n| store.get(n)).collect::<Result<_>>()?,
    })
}

/// Compares whole sequences, parts, and parts under budgets.
///
/// The number of budgets that needed time chunks.
fn check(backend: &Arc<dyn Backend>, precision: Precision, encoder: &str) -> Result<usize> {
    let elements = 1 << 17;
    let cut = train(backend, elements, precision, encoder, None)?;
    let reported = |t: &Trained, text: &str| t.reports.iter().any(|r| r.contains(text));
    assert!(
        reported(&cut, "long sequences run in time chunks"),
        "{:?}",
        cut.reports
    );
    let whole = train(backend, usize::MAX, precision, encoder, None)?;
    // Sums over all steps are taken in another order, so only the first loss is the same.
    assert!((cut.losses[0] - whole.losses[0]).abs() < 1e-5 * whole.losses[0].abs());
    let (mut in_parts, mut refused) = (0, 0);
    for share in [0.7, 0.6, 0.5, 0.4, 0.3] {
        let budget = Some(MemoryBudget::Fraction(share));
        let lean = match train(backend, elements, precision, encoder, budget) {
            Err(Error::Graph(spikelet::graph::Error::Budget { allowed, least, .. })) => {
                assert!(least > allowed, "{share}: {least} bytes were refused");
                refused += 1;
                continue;
            }
            made => made?,
        };
        assert!(lean.peak as f64 <= share * cut.peak as f64);
        assert_eq!(
            lean.losses, cut.losses,
            "losses at {share}: {:?}",
            lean.reports
        );
        assert!(lean.tensors == cut.tensors, "tensors at {share}");
        in_parts += usize::from(reported(&lean, "sequences in up to"));
        println!("{share}: {}", lean.reports.concat());
    }
    assert!(refused < 5, "no budget can be kept");
    Ok(in_parts)
}

#[test]
fn parts_give_the_same_bits_on_the_cpu() -> Result<()> {
    let cpu = device::find("cpu", 2)?;
    assert!(check(&cpu, Precision::F32, "poisson")? > 0);
    assert!(check(&cpu, Precision::F32, "direct")? > 0);
    assert!(check(&cpu, Precision::Bf16, "poisson")? > 0);
    Ok(())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn parts_give_the_same_bits_on_a_gpu() -> Result<()> {
    let gpu = gpu();
    let mut in_parts = check(&gpu, Precision::F32, "poisson")?;
    in_parts += check(&gpu, Precision::Bf16, "direct")?;
    in_parts += check(&gpu, Precision::Bf16, "poisson")?;
    assert!(in_parts > 0);
    Ok(())
}
