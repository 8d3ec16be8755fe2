//! A recording that arrives sample by sample: an encoder, and a network that runs time step by time step.

use spikelet::data::encode::{Bins, Cochlea, CochleaConfig, SignalEncoder, SpikeEvents};
use spikelet::layer::{AxonalDelay, Dcls1d, DelayedFeedback, RadLif};
use spikelet::neuron::AdLifCell;
use spikelet::prelude::*;
use spikelet::train::{Outputs, Step};

const T: usize = 20;
/// Samples of a time step.
const STEP: usize = 40;
const INPUTS: usize = 12;

/// All kinds of states: potentials, adaptation, spikes that are fed back, delay lines of synapses, axons and feedback.
fn network() -> Sequential {
    let neuron = || Lif::new(2.0).v_threshold(0.03);
    Sequential::new()
        .add(Dcls1d::new(INPUTS, 16, 7).bias(false))
        .add(BatchNorm1d::new(16))
        .add(neuron())
        .add(RadLif::new(16, 14).neuron(|cell| {
            let cell = cell.v_threshold(0.02);
            AdLifCell {
                random_start: false,
                ..cell
            }
        }))
        .add(AxonalDelay::new(14, 4))
        .add(Linear::new(14, 10).bias(false))
        .add(Recurrent::through(neuron(), DelayedFeedback::new(10, 5)))
}

/// A tone whose frequency changes.
fn recording(number: usize) -> Vec<f32> {
    let phase = |n: usize| n as f32 * (0.1 + 0.05 * number as f32 + n as f32 * 2e-4);
    (0..T * STEP).map(|n| 0.5 * phase(n).sin()).collect()
}

fn counts(steps: usize, events: &SpikeEvents) -> Result<Vec<f32>> {
    let bins = Bins {
        steps,
        step_samples: STEP,
        ..Bins::default()
    };
    Ok(bins.count(events, INPUTS)?)
}

#[test]
fn a_recording_sample_by_sample_has_the_spikes_of_the_recording_at_once() -> Result<()> {
    let net = network();
    let readout = Linear::new(10, 2).bias(false);
    let step = Step::new(|cx, inputs| {
        let spikes = cx.child("net", |cx| net.forward(cx, &inputs["x"]))?;
        let scores = cx.child("readout", |cx| readout.forward(cx, &spikes))?;
        let loss = loss::cross_entropy(&scores.mean(&[0]), &inputs["labels"]);
        Ok(Outputs::loss(loss).output("spikes", &spikes))
    })
    .batch_size(1)
    .sequence("x", DType::F32, [T, INPUTS])
    .input("labels", DType::I64, [])
    .optimizer(Adam::new(1e-2));
    let mut cochlea = Cochlea::new(CochleaConfig {
        channels: INPUTS,
        ..CochleaConfig::default()
    })?;
    let mut store = VarStore::new(spikelet::device::cpu()?);
    let mut train = step.compile(&mut store)?;
    for number in 0..6 {
        let x = counts(T, &cochlea.encode(&recording(number))?)?;
        let labels = [(number % 2) as i64];
        train.run((("x", &x), ("labels", &labels)))?;
    }
    let mut whole = step.compile_predict(&mut store)?;
    let mut stream = step.compile_stream(&mut store)?;
    for number in 0..3 {
        let samples = recording(number);
        let x = counts(T, &cochlea.encode(&samples)?)?;
        whole.predict([("x", &x)])?;
        let expected = whole.output("spikes")?.to_f64();
        let fired: f64 = expected.iter().sum();
        assert!(fired > 0.0 && fired < 200.0, "{fired} spikes");

        stream.reset(&mut store)?;
        let (mut events, mut found) = (SpikeEvents::default(), vec![]);
        for (at, sample) in samples.iter().enumerate() {
            cochlea.push(&[*sample], &mut events)?;
            if (at + 1) % STEP == 0 {
                // Times count from the start of the recording.
                events.time.iter_mut().for_each(|time| *time %= STEP as u64);
                let x = counts(1, &events)?;
                events.clear();
                stream.predict([("x", &x)])?;
                found.extend(stream.output("spikes")?.to_f64());
            }
        }
        cochlea.reset();
        assert_eq!(found, expected, "recording {number}");
    }
    Ok(())
}
