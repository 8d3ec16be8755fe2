//! A training step of a network with two recurrent layers on random spikes: its time, its memory, and the time to the first
//! result: `[layer] [device] [precision] [time steps] [batch size] [neurons of a layer] [profile | epoch]`; with
//! `profile` the time of each kernel as well, with `epoch` that of as many sequences as the Spiking Speech Commands have
//! for training, copied from host memory batch by batch.
//!
//! The network is Linear(140, H) – recurrent layer – Linear(H, H) – recurrent layer – Linear(H, 35); the loss is the cross
//! entropy of the mean over time; the optimizer is Adam. The initial input weights of a layer are doubled until 5 % of
//! its neurons fire in a step, since the time depends on the spikes where they are bits. Layers: `lif`, `rlif`, `radlif`, `se-adlif`, `rleaky` with
//! feedback, `lif-feed-forward`, `silif` without.

use spikelet::data::{Batch, BatchTensor, SampleRandom};
use spikelet::graph::op::Operation;
use spikelet::layer::{RLeaky, RLif, RadLif, SeAdLif, SiLif};
use spikelet::prelude::*;
use spikelet::timing::Timing;
use spikelet::train::step::PendingMetrics;
use spikelet::train::{Outputs, Step};
use std::time::Instant;

const INPUTS: usize = 140;
const CLASSES: usize = 35;
const SSC_SEQUENCES: usize = 75_466;
const LAYERS: [&str; 2] = ["first", "second"];

fn layer(name: &str, inputs: usize, features: usize) -> Result<Box<dyn Module>> {
    Ok(match name {
        "lif" => Box::new(Rnn::new(Lif::new(2.0), inputs, features)),
        "lif-feed-forward" => Box::new(
            Sequential::new()
                .add(Linear::new(inputs, features).bias(false))
                .add(Lif::new(2.0)),
        ),
        "rlif" => Box::new(RLif::new(inputs, features)),
        "radlif" => Box::new(RadLif::new(inputs, features)),
        "se-adlif" => Box::new(SeAdLif::new(inputs, features)),
        "rleaky" => Box::new(RLeaky::new(inputs, features)),
        "silif" => Box::new(SiLif::new(inputs, features)),
        _ => {
            return Err(spikelet::Error::other(format!(
                "no layer is called `{name}`; there are lif, lif-feed-forward, rlif, radlif, se-adlif, rleaky, silif"
            )));
        }
    })
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let mut word = |otherwise: &str| words.next().unwrap_or(otherwise.to_string());
    let name = word("lif");
    let device = spikelet::device::find(&word("auto"), 0)?;
    let precision: Precision = word("f32").parse().map_err(spikelet::Error::other)?;
    let mut size = |otherwise| {
        word(otherwise)
            .parse::<usize>()
            .map_err(spikelet::Error::other)
    };
    let (time_steps, samples, features) = (size("250")?, size("256")?, size("512")?);
    let more = word("");

    let first = layer(&name, INPUTS, features)?;
    let second = layer(&name, features, features)?;
    let readout = Linear::new(features, CLASSES).bias(false);
    let start = Instant::now();
    let step = |with_rates: bool| {
        let (first, second, readout) = (&first, &second, &readout);
        Step::new(move |cx, inputs| {
            let x = cx.child("first", |cx| first.forward(cx, &inputs["spikes"]))?;
            let y = cx.child("second", |cx| second.forward(cx, &x))?;
            let scores = cx.child("readout", |cx| readout.forward(cx, &y))?;
            let loss = loss::cross_entropy(&scores.mean(&[0]), &inputs["labels"]);
            let mut outputs = Outputs::loss(loss);
            for (name, spikes) in LAYERS.iter().zip([x, y]).filter(|_| with_rates) {
                outputs = outputs.metric(*name, spikes.mean(&[0, 1, 2]));
            }
            Ok(outputs)
        })
        .batch_size(samples)
        .sequence("spikes", DType::F32, [time_steps, INPUTS])
        .input("labels", DType::I64, [])
        .precision(precision)
        .optimizer(Adam::new(1e-3))
    };
    let mut store = VarStore::new(device.clone());
    let mut train = step(false).compile(&mut store)?;
    let batch = random_spikes(0, time_steps, samples);
    let made = start.elapsed();
    let result = train.run_batch(&batch)?;
    let first_result = start.elapsed();
    let rates = fire(&step(true), &mut store, &batch)?;

    // The inputs stay on the device.
    let timing = Timing::default();
    let time = timing.measure(|| Ok(device.synchronize()?), || train.program_mut().run())?;
    let profile = match more == "profile" {
        true => train.program_mut().profile()?,
        false => vec![],
    };
    if more == "epoch" {
        let batches: Vec<Batch> = (0..8)
            .map(|seed| random_spikes(seed, time_steps, samples))
            .collect();
        let start = Instant::now();
        let steps = SSC_SEQUENCES.div_ceil(samples);
        let mut pending = None;
        for batch in batches.iter().cycle().take(steps) {
            let next = train.start_batch(batch)?;
            if let Some(before) = pending.replace(next) {
                PendingMetrics::wait(before)?;
            }
        }
        pending.map(PendingMetrics::wait).transpose()?;
        println!(
            "an epoch of {SSC_SEQUENCES} sequences, {steps} steps: {:.2} s",
            start.elapsed().as_secs_f64()
        );
    }
    let plan = train.plan();
    println!(
        "{name}, T = {time_steps}, batch {samples}, {features} neurons, {precision}, {}: {:.3} ms a step",
        device.name(),
        time.median.as_secs_f64() * 1e3
    );
    println!(
        "{} kernels, {:.0} MiB; first result ({result}) after {:.2} s, of which {:.2} s to plan and load",
        plan.kernels.len(),
        plan.peak_bytes() as f64 / (1 << 20) as f64,
        first_result.as_secs_f64(),
        made.as_secs_f64()
    );
    println!(
        "{:.0} and {:.0} % of the neurons fire in a step",
        100.0 * rates[0],
        100.0 * rates[1]
    );
    for (kernel, seconds) in plan.kernels.iter().zip(profile) {
        let node = &plan.graph.nodes[kernel.node];
        let backward = if node.backward { ", backward" } else { "" };
        println!(
            "{:9.4} ms  {}{backward}  {}",
            seconds * 1e3,
            node.op.name(),
            node.layer
        );
    }
    Ok(())
}

/// Doubles the input weights of each layer until its neurons fire; returns the firing rates.
fn fire(step: &Step<'_>, store: &mut VarStore, batch: &Batch) -> Result<[f64; 2]> {
    let mut evaluate = step.compile_eval(store)?;
    let mut rates = [0.0; 2];
    for (rate, layer) in rates.iter_mut().zip(LAYERS) {
        for _ in 0..12 {
            let metrics = evaluate.run_batch(batch)?;
            *rate = metrics.get(layer).unwrap_or(0.0);
            if *rate >= 0.05 {
                break;
            }
            let names: Vec<String> = store.names().map(str::to_string).collect();
            for name in names {
                let inputs = [".input.", ".linear.", ".0."]
                    .iter()
                    .any(|part| name.contains(part));
                if name.starts_with(layer) && inputs && name.ends_with(".weight") {
                    let weight = store.get(&name)?;
                    let doubled: Vec<f32> = weight
                        .as_f32()
                        .into_iter()
                        .flatten()
                        .map(|w| 2.0 * w)
                        .collect();
                    store.insert(&name, &Tensor::f32(weight.shape.clone(), doubled))?;
                }
            }
        }
    }
    Ok(rates)
}

/// Spikes of 2 % density.
fn random_spikes(seed: u64, time_steps: usize, samples: usize) -> Batch {
    let mut random = SampleRandom::of_batch(seed, 0, 0);
    let spikes = (0..time_steps * samples * INPUTS).map(|_| f32::from(random.chance(0.02)));
    let spikes: Vec<f32> = spikes.collect();
    let labels = (0..samples).map(|n| (n % CLASSES) as i64).collect();
    Batch::new((0..samples as u32).collect())
        .with(
            "spikes",
            BatchTensor::f32(&[time_steps, samples, INPUTS], spikes).sequence(),
        )
        .with("labels", BatchTensor::i64(&[samples], labels))
}
