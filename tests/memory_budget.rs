//! A memory budget changes what is kept, not what is computed.

use crate::gpu;

use gpu::gpu;
use spikelet::MemoryBudget;
use spikelet::data::{DataLoader, synthetic};
use spikelet::device;
use spikelet::network::Network;
use spikelet::prelude::*;
use spikelet::train::{BatchShape, Step};
use std::sync::Arc;

/// Layers between which much is kept: convolutions, pooling that is not taken into a neuron, and a
/// neuron's spikes.
fn network() -> Network {
    Network::model("csnn", [("channels", 12.into()), ("hidden", 20.into())]).expect("it is sound")
}

fn settings(budget: Option<MemoryBudget>, precision: Precision) -> Settings {
    Settings {
        time_steps: 6,
        batch_size: 96,
        memory_budget: budget,
        precision,
        ..Settings::of_network(&network())
    }
}

/// The losses of some steps, all tensors after them, and the peak.
fn train(backend: Arc<dyn Backend>, settings: &Settings) -> Result<(Vec<f64>, Vec<Tensor>, usize)> {
    let mut store = VarStore::new(backend);
    let shape = BatchShape {
        batch: settings.batch_size,
        image: [1, 28, 28],
    };
    let module = network().module()?;
    let mut step = Step::classifier(&*module, settings, shape)?.compile(&mut store)?;
    let digits = synthetic::digits_of(1, 288, 1).train;
    let loader = DataLoader::new(digits, settings.training_batches())?;
    let mut losses = vec![];
    for batch in loader.epoch(0, 0) {
        losses.push(step.run_batch(&batch?)?.loss);
    }
    let names: Vec<String> = store.names().map(String::from).collect();
    let tensors = names
        .iter()
        .map(|name| store.get(name))
        .collect::<Result<_>>()?;
    Ok((losses, tensors, step.program().plan().peak_bytes()))
}

/// Compares with the unlimited step at the tightest of these budgets that can be kept.
fn check(backend: &Arc<dyn Backend>, precision: Precision) -> Result<()> {
    let natural = train(backend.clone(), &settings(None, precision))?;
    let mut found = None;
    for share in [0.6, 0.7, 0.8, 0.9, 0.95] {
        let budget = Some(MemoryBudget::Fraction(share));
        match train(backend.clone(), &settings(budget, precision)) {
            Err(Error::Graph(spikelet::graph::Error::Budget { .. })) => {}
            made => {
                found = Some((share, made?));
                break;
            }
        }
    }
    let (share, lean) = found.expect("a budget below the natural peak can be kept");
    assert!(
        lean.2 as f64 <= share * natural.2 as f64,
        "{share}: {} of {}",
        lean.2,
        natural.2
    );
    assert_eq!(lean.0, natural.0, "losses at {share}");
    assert!(lean.1 == natural.1, "tensors at {share}");
    println!("{share} of {} bytes in {precision}", natural.2);
    Ok(())
}

#[test]
fn a_tight_budget_gives_the_same_bits_on_the_cpu() -> Result<()> {
    check(&device::find("cpu", 2)?, Precision::F32)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_tight_budget_gives_the_same_bits_on_a_gpu() -> Result<()> {
    let gpu = gpu();
    check(&gpu, Precision::F32)?;
    check(&gpu, Precision::Bf16)
}

#[test]
fn a_budget_that_cannot_be_kept_says_what_could() -> Result<()> {
    let budget = MemoryBudget::Bytes(1 << 20);
    let refused = train(device::cpu()?, &settings(Some(budget), Precision::F32));
    let Err(Error::Graph(spikelet::graph::Error::Budget { allowed, least, .. })) = refused else {
        panic!("a budget of 1 MiB was kept or refused for another reason");
    };
    assert_eq!(allowed, 1 << 20);
    let enough = settings(Some(MemoryBudget::Bytes(least as u64)), Precision::F32);
    train(device::cpu()?, &enough)?;
    Ok(())
}
