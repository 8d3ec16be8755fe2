//! Data of your own: recordings of 16 channels over 20 time steps, of which one group of four channels is most active.
//!
//! `impl Dataset` describes the samples and reads one; the loader shuffles, transforms on its threads and stacks them
//! to batches `[T, N, C]`; a [`Step`](spikelet::train::Step) takes the batches.

use spikelet::data::{
    self, DataLoader, Dataset, Field, LoaderConfig, Sample, SampleRandom, SampleTensor, Transform,
    Values, pack_bits, split, unpack_bits,
};
use spikelet::prelude::*;
use spikelet::train::step::EpochMetrics;
use spikelet::train::{Outputs, Step, metric};
use std::sync::Arc;

const T: usize = 20;
const CHANNELS: usize = 16;

/// Generated recordings. A data set in files would read the file of sample `index` here.
#[derive(Debug)]
struct Recordings {
    len: usize,
}

impl Dataset for Recordings {
    fn name(&self) -> &str {
        "recordings"
    }

    fn len(&self) -> usize {
        self.len
    }

    fn fields(&self) -> Vec<Field> {
        vec![
            Field::new("spikes", DType::Bits, [T, CHANNELS]).sequence(),
            Field::new("labels", DType::I64, []),
        ]
    }

    fn sample(&self, index: usize) -> data::Result<Sample<'_>> {
        let label = index % 4;
        let mut random = SampleRandom::of_sample(1, 0, index as u32);
        let spikes: Vec<bool> = (0..T * CHANNELS)
            .map(|at| {
                random.chance(if at % CHANNELS / 4 == label {
                    0.3
                } else {
                    0.15
                })
            })
            .collect();
        let shape = [T, CHANNELS];
        Ok(Sample::new()
            .with(
                "spikes",
                SampleTensor::bits(&shape, pack_bits(&spikes, &shape)),
            )
            .with("labels", SampleTensor::i64(&[], vec![label as i64])))
    }
}

/// Augmentation: each spike is lost with this probability.
#[derive(Debug)]
struct LoseSpikes(f32);

impl Transform for LoseSpikes {
    fn apply(&self, sample: &mut Sample<'_>, random: &mut SampleRandom) -> data::Result<()> {
        let tensor = sample.require_mut("spikes")?;
        if let Values::Bits(words) = &mut tensor.values {
            let mut spikes = unpack_bits(words, &tensor.shape);
            for spike in &mut spikes {
                *spike &= !random.chance(self.0);
            }
            *words = pack_bits(&spikes, &tensor.shape).into();
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let parts = split(Arc::new(Recordings { len: 4000 }), &[0.8, 0.2], 0)?;
    let config = LoaderConfig {
        batch_size: 32,
        drop_last: true,
        threads: 2,
        ..LoaderConfig::default()
    };
    let train = DataLoader::new(parts[0].clone(), config.clone())?.transform(LoseSpikes(0.1))?;
    let test = DataLoader::new(parts[1].clone(), config)?;

    let net = Sequential::new()
        .add(Linear::new(CHANNELS, 32))
        .add(Lif::new(4.0))
        .add(Linear::new(32, 4));
    let step = Step::from_loader(&train, |cx, batch| {
        let scores = net.forward(cx, &batch["spikes"])?.mean(&[0]); // over time
        let labels = &batch["labels"];
        let loss = loss::cross_entropy(&scores, labels);
        Ok(Outputs::loss(loss).metric("accuracy", metric::accuracy(&scores, labels)))
    })?
    .optimizer(Adam::new(1e-2));

    let mut store = VarStore::new(spikelet::device::cpu()?);
    let mut training = step.compile(&mut store)?;
    let mut evaluation = step.compile_eval(&mut store)?;
    let mut accuracy = 0.0;
    for epoch in 0..3 {
        let mut batches = train.epoch(epoch, 0);
        let mut metrics = EpochMetrics::default();
        // An error of a sample ends the epoch here, and names the sample.
        while let Some(batch) = batches.next().transpose()? {
            metrics.add(&training.run_batch(&batch)?);
            batches.recycle(batch); // its memory goes to a later batch
        }
        let mut tested = EpochMetrics::default();
        for batch in test.epoch(0, 0) {
            let batch = batch?;
            tested.add(&evaluation.run_batch(&batch)?);
        }
        accuracy = tested.get("accuracy").unwrap_or(0.0);
        println!(
            "epoch {epoch}: loss {:.3}, test accuracy {accuracy:.3}",
            metrics.loss()
        );
    }
    assert!(accuracy > 0.8);
    Ok(())
}
