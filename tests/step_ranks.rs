//! A step with own data and an own loss on two ranks, against one with the whole batch. Ranks are threads with a
//! CPU each.

use crate::ranks_support as support;

use spikelet::graph::Backend;
use spikelet::optim::{AdamW, Clip};
use spikelet::prelude::*;
use spikelet::train::step::RankInfo;
use spikelet::train::{Outputs, Step};
use spikelet_cpu::Cpu;
use std::sync::Arc;
use support::ranks;

const T: usize = 5;
const INPUTS: usize = 6;
/// Samples of a batch over all ranks.
const N: usize = 8;
/// Batches of an update.
const ACCUMULATED: usize = 2;

fn network() -> Sequential {
    Sequential::new()
        .add(Linear::new(INPUTS, 12).bias(false))
        .add(Lif::new(2.0))
        .add(Linear::new(12, 2).bias(true))
}

/// Intensities from 0 to 1, and targets.
fn batch(number: usize) -> (Vec<f32>, Vec<f32>) {
    let value = |k: usize| ((k * 7919 + number * 104_729) % 1000) as f32 / 1000.0;
    let x = (0..N * INPUTS).map(value).collect();
    (x, (0..N * 2).map(|k| value(k + 31) - 0.5).collect())
}

/// The tensors after some updates on one of `ranks` ranks. Spikes are drawn: their random numbers must be those of the
/// whole batch.
fn trained(rank: usize, ranks: usize, device: Arc<dyn Backend>) -> Result<Vec<(String, Vec<f64>)>> {
    let net = network();
    let samples = N / ranks;
    let mut store = VarStore::new(device);
    let mut step = Step::new(|cx, inputs| {
        let y = cx.trace_encoded(&net, &Poisson, &inputs["x"], T)?.mean();
        let firing = cx.recorded("1.spike_seq")?.mean_all();
        let loss = (&y - &inputs["target"]).square().mean_all() + &firing * 0.1;
        Ok(Outputs::loss(loss).metric("firing", firing))
    })
    .batch_size(samples)
    .input("x", DType::F32, [INPUTS])
    .input("target", DType::F32, [2])
    .optimizer(AdamW::new(1e-2))
    .group("2.*", Adam::new(2e-2))
    .no_weight_decay_on_vectors()
    .accumulate(ACCUMULATED)
    .clip(Clip::Norm(0.5))
    .ema(0.9)
    .rank(RankInfo { rank, ranks }, false)
    .compile(&mut store)?;
    for number in 0..4 * ACCUMULATED {
        let (x, target) = batch(number);
        let part =
            |all: &[f32]| all[rank * all.len() / ranks..(rank + 1) * all.len() / ranks].to_vec();
        let (x, target) = (part(&x), part(&target));
        step.run((("x", &x), ("target", &target)))?;
    }
    assert_eq!(step.step(), 4);
    let names = store
        .names()
        .filter(|name| !name.starts_with("accumulated."));
    let names: Vec<String> = names.map(String::from).collect();
    let each = names.into_iter().map(|name| {
        let values = store.get(&name)?.to_f64();
        Ok((name, values))
    });
    each.collect()
}

#[test]
fn two_ranks_with_a_part_of_each_batch_train_as_one_with_the_whole() -> Result<()> {
    let one = trained(0, 1, Arc::new(Cpu::new(1)?))?;
    let two = ranks(2, |rank, cpu| trained(rank, 2, cpu));
    let [a, b] = <[_; 2]>::try_from(two).expect("two ranks");
    let (a, b) = (a?, b?);
    assert_eq!(a, b, "both ranks have the same bits");
    assert!(one.iter().any(|(name, _)| name.starts_with("ema.")));
    for ((name, found), (expected_name, expected)) in a.iter().zip(&one) {
        assert_eq!(name, expected_name);
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-5,
                "{name}: {found}, expected {expected}"
            );
        }
    }
    Ok(())
}
