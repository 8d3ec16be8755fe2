//! A memory budget changes what is kept, not what is computed.

use spikelet::MemoryBudget;
use spikelet::data::{Loader, synthetic};
use spikelet::device;
use spikelet::network::{Csnn, Network};
use spikelet::prelude::*;
use spikelet::train::{Shape, TrainStep};
use std::sync::Arc;

/// Layers between which much is kept: convolutions, pooling that is not taken into a neuron, and a
/// neuron's spikes.
fn network() -> Network {
    Network::Csnn(Csnn {
        channels: 12,
        hidden: 20,
        ..Csnn::default()
    })
}

fn settings(budget: Option<MemoryBudget>, precision: Precision) -> Settings {
    Settings {
        time_steps: 6,
        batch_size: 96,
        memory_budget: budget,
        precision,
        ..Csnn::settings()
    }
}

/// The losses of some steps, all tensors after them, and the peak.
fn train(backend: Arc<dyn Backend>, settings: &Settings) -> Result<(Vec<f64>, Vec<Tensor>, usize)> {
    let mut store = Store::new(backend);
    let shape = Shape {
        batch: settings.batch_size,
        image: [1, 28, 28],
    };
    let module = network().module()?;
    let mut step = TrainStep::new(&*module, settings, shape, &mut store)?;
    let digits = synthetic::digits_of(1, 288, 1).train;
    let loader = Loader::new(digits, settings.training_batches())?;
    let mut losses = vec![];
    for (k, batch) in loader.epoch(0, 0).enumerate() {
        losses.push(step.run(&batch, k as u64 + 1, 0.0)?.loss);
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
    let at = |share: f64| {
        let budget = Some(MemoryBudget::Share(share));
        let lean = train(backend.clone(), &settings(budget, precision));
        lean.ok().map(|lean| (share, lean))
    };
    let found = [0.6, 0.7, 0.8, 0.9, 0.95].into_iter().find_map(at);
    let (share, lean) = found.expect("some of what is kept can be let go");
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
fn a_tight_budget_gives_the_same_bits_on_a_gpu() -> Result<()> {
    let gpu: Arc<dyn Backend> = match device::cuda(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("skipped: {error}");
            return Ok(());
        }
    };
    check(&gpu, Precision::F32)?;
    check(&gpu, Precision::Bf16)
}

#[test]
fn a_budget_that_cannot_be_kept_says_what_could() -> Result<()> {
    let budget = MemoryBudget::Bytes(1 << 20);
    let refused = train(device::cpu()?, &settings(Some(budget), Precision::F32));
    let text = refused
        .map(|_| ())
        .expect_err("it cannot be kept")
        .to_string();
    assert!(text.contains("1.0 MiB were allowed"), "{text}");
    assert!(text.contains("are the least that was found"), "{text}");
    Ok(())
}
