//! Sequences of different lengths: learned delays of synapses, and recurrent connections with learned delays.

use spikelet::data::{DataLoader, Dataset, Field, InMemory, SampleRandom, held_out};
use spikelet::layer::{Dcls1d, DelayWidth, DelayedFeedback};
use spikelet::prelude::*;
use spikelet::sequence;
use spikelet::train::{Outputs, Step, metric};
use std::sync::Arc;

fn main() -> Result<()> {
    let (train, test) = held_out(&recordings()?, 0.2)?;
    let (train, test) = (DataLoader::new(train, 32)?, DataLoader::new(test, 32)?);
    let neuron = Lif::new(2.0).v_threshold(0.3);
    let net = Sequential::new()
        .add(Dcls1d::new(8, 64, 15).width(7.0))
        .add(Recurrent::through(neuron, DelayedFeedback::new(64, 10)))
        .add(Linear::new(64, 4));
    let step = Step::from_loader(&train, |cx, batch| {
        let y = net.forward(cx, &batch["x"])?;
        let scores = sequence::mean(&y, &batch["x_length"]); // without the padding
        let loss = loss::cross_entropy(&scores, &batch["labels"]);
        Ok(Outputs::loss(loss).metric("accuracy", metric::accuracy(&scores, &batch["labels"])))
    })?
    .optimizer(Adam::new(1e-2));

    let mut store = VarStore::new(spikelet::device::find("auto", 0)?);
    let mut training = step.compile(&mut store)?;
    let width = DelayWidth::new(5.0, 0.5, 6); // of the kernels, epoch by epoch
    for epoch in 0..8 {
        width.set(&mut store, epoch)?;
        for batch in train.epoch(epoch as u64, 0) {
            training.run_batch(&batch?)?;
        }
        let tested = step.evaluate(&test, &mut store)?;
        println!("epoch {epoch}: {}", tested.values());
    }
    Ok(())
}

/// Recordings of 20 to 39 time steps, in which two of eight channels spike more often.
fn recordings() -> Result<Arc<dyn Dataset>> {
    let (mut x, mut labels, mut lengths) = (vec![], vec![], vec![]);
    for sample in 0..640 {
        let mut random = SampleRandom::of_sample(0, 0, sample);
        let (label, length) = (sample as usize % 4, 20 + sample as usize * 7 % 20);
        x.extend((0..length * 8).map(|at| {
            let often = at % 8 / 2 == label;
            f32::from(random.chance(if often { 0.6 } else { 0.1 }))
        }));
        labels.push(label as i64);
        lengths.push(length);
    }
    let field = Field::new("x", DType::F32, [39, 8]).sequence().pad(0.0);
    let data = InMemory::new("recordings").with_lengths(field, x, &lengths)?;
    Ok(Arc::new(
        data.with(Field::new("labels", DType::I64, []), labels)?,
    ))
}
