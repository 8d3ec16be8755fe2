//! Audio as a live stream through a trained network: `[device]`.
//!
//! A network with delays and feedback learns from recordings whether a tone rises or falls. Then recordings arrive
//! sample by sample: an encoder makes events of them, every 10 ms the events of a time step are counted, and the
//! network runs one step. On the CPU, the spikes are those of the recording at once; on a GPU, a product of one row may
//! add up in another order than that of all rows, so that a potential next to the threshold may end on its other side.
//! Printed are the accuracy, the spikes that differ, and the latency from the last sample of a step to the spikes.

use spikelet::data::SampleRandom;
use spikelet::data::encode::{Bins, Cochlea, CochleaConfig, SignalEncoder, SpikeEvents};
use spikelet::layer::{Dcls1d, RadLif};
use spikelet::neuron::AdLifCell;
use spikelet::prelude::*;
use spikelet::train::{Outputs, Step, metric};
use std::time::{Duration, Instant};

const RATE: f32 = 8000.0; // samples a second
const STEP: usize = 80; // samples of a time step
const T: usize = 50; // time steps of a recording
const INPUTS: usize = 140;
const HIDDEN: usize = 64;
const N: usize = 32; // recordings of a batch

fn main() -> Result<()> {
    let device = std::env::args().nth(1).unwrap_or("auto".to_string());
    let device = spikelet::device::find(&device, 0)?;
    let exact = device.kind() == spikelet::graph::DeviceKind::Cpu;
    let norm = || BatchNorm1d::new(HIDDEN);
    let hidden = Sequential::new()
        .add(Dcls1d::new(INPUTS, HIDDEN, 15)) // delays of 0 to 140 ms
        .add(norm())
        .add(Lif::new(2.0))
        // A stream starts from zeros.
        .add(RadLif::new(HIDDEN, HIDDEN).neuron(|cell| AdLifCell {
            random_start: false,
            ..cell
        }));
    let readout = Linear::new(HIDDEN, 2);
    let step = Step::new(|cx, inputs| {
        let spikes = cx.child("hidden", |cx| hidden.forward(cx, &inputs["x"]))?;
        let scores = cx.child("readout", |cx| readout.forward(cx, &spikes))?;
        let (mean, labels) = (scores.mean(&[0]), &inputs["labels"]);
        Ok(Outputs::loss(loss::cross_entropy(&mean, labels))
            .metric("accuracy", metric::accuracy(&mean, labels))
            .output("spikes", &spikes)
            .output("scores", &scores))
    })
    .batch_size(N)
    .sequence("x", DType::F32, [T, INPUTS])
    .input("labels", DType::I64, [])
    .optimizer(Adam::new(5e-3));

    let mut cochlea = Cochlea::new(CochleaConfig::default())?;
    let mut store = VarStore::new(device);
    let mut train = step.compile(&mut store)?;
    for number in 0..30 {
        // Four batches by turns.
        let first = number % 4 * N as u32;
        let (mut x, mut labels) = (vec![0.0; T * N * INPUTS], vec![]);
        for n in 0..N {
            let (samples, label) = recording(first + n as u32);
            for (t, row) in counts(T, &cochlea.encode(&samples)?)?
                .chunks(INPUTS)
                .enumerate()
            {
                x[(t * N + n) * INPUTS..][..INPUTS].copy_from_slice(row);
            }
            labels.push(label as i64);
        }
        let found = train.run((("x", &x), ("labels", &labels)))?;
        if (number + 1) % 10 == 0 {
            println!("training step {}: {found}", number + 1);
        }
    }

    let step = step.batch_size(1);
    let mut whole = step.compile_predict(&mut store)?;
    let mut stream = step.compile_stream(&mut store)?;
    let (mut latency, mut encoding, mut right) = (vec![], Duration::ZERO, 0);
    let (mut fired, mut differ) = (0.0, 0);
    let recordings = 1000..1020;
    for seed in recordings.clone() {
        let (samples, label) = recording(seed);
        let x = counts(T, &cochlea.encode(&samples)?)?;
        whole.predict([("x", &x)])?;
        let expected = whole.output("spikes")?.to_f64();

        stream.reset(&mut store)?;
        let (mut events, mut spikes, mut scores) = (SpikeEvents::default(), vec![], [0.0; 2]);
        for (number, sample) in samples.iter().enumerate() {
            let start = Instant::now();
            cochlea.push(&[*sample], &mut events)?;
            encoding += start.elapsed();
            if (number + 1) % STEP != 0 {
                continue;
            }
            let start = Instant::now();
            // Times count from the start of the recording.
            events.time.iter_mut().for_each(|time| *time %= STEP as u64);
            let x = counts(1, &events)?;
            events.clear();
            stream.predict([("x", &x)])?;
            spikes.extend(stream.output("spikes")?.to_f64());
            latency.push(start.elapsed());
            let step_scores = stream.output("scores")?.to_f64();
            scores
                .iter_mut()
                .zip(step_scores)
                .for_each(|(sum, s)| *sum += s);
        }
        cochlea.reset();
        let pairs = || spikes.iter().zip(&expected);
        differ += pairs().filter(|(one, other)| one != other).count();
        right += usize::from(usize::from(scores[1] > scores[0]) == label);
        fired += spikes.iter().sum::<f64>();
    }
    assert!(!exact || differ == 0, "{differ} spikes differ on the CPU");
    latency.sort_unstable();
    let at = |share: usize| latency[latency.len() * share / 100].as_secs_f64() * 1e6;
    println!(
        "{right} of {} streams recognized; {fired} spikes, {differ} values not those of the recordings at once",
        recordings.len()
    );
    println!(
        "{} steps of {:.0} ms: latency {:.0} µs median, {:.0} µs in 99 %; encoder {:.1} µs a sample",
        latency.len(),
        1e3 * STEP as f32 / RATE,
        at(50),
        at(99),
        encoding.as_secs_f64() * 1e6 / (latency.len() * STEP) as f64
    );
    Ok(())
}

/// The events in each time step, `[steps, INPUTS]`; neighboring channels are one input.
fn counts(steps: usize, events: &SpikeEvents) -> Result<Vec<f32>> {
    let bins = Bins {
        steps,
        step_samples: STEP,
        group: 5,
        binary: false,
    };
    Ok(bins.count(events, 5 * INPUTS)?)
}

/// Half a second of a tone that rises (1) or falls (0), with noise.
fn recording(seed: u32) -> (Vec<f32>, usize) {
    let mut random = SampleRandom::of_sample(1, 0, seed);
    let rises = random.below(2);
    let (low, high) = (random.between(300.0, 800.0), random.between(1200.0, 3000.0));
    let (from, to) = if rises == 1 { (low, high) } else { (high, low) };
    let samples = T * STEP;
    let mut phase = 0.0;
    let sample = |n| {
        phase += (from + (to - from) * n as f32 / samples as f32) / RATE;
        0.14 * (std::f32::consts::TAU * phase).sin() + 0.01 * random.normal()
    };
    ((0..samples).map(sample).collect(), rises)
}
