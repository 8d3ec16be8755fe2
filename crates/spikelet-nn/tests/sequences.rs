//! Sequences of different lengths in one batch give what each gives alone.

use spikelet_graph::op::HostTensor;
use spikelet_nn::layer::{AxonalDelay, Dcls1d, DelayedFeedback, DelayedLinear, RadLif};
use spikelet_nn::neuron::AdLifCell;
use spikelet_nn::prelude::*;
use spikelet_nn::{device, sequence};

const INPUTS: usize = 5;
const LENGTHS: [usize; 4] = [9, 4, 1, 7];

fn network() -> Sequential {
    Sequential::new()
        .add(Rnn::new(Lif::new(2.0).v_threshold(0.2), INPUTS, 8))
        .add(DelayedLinear::new(8, 6, 3).bias(false))
        .add(Lif::new(3.0).v_threshold(0.1))
}

/// Delays in synapses, axons and feedback, normalization, adaptation.
fn delayed() -> Sequential {
    let adapted = RadLif::new(8, 6).neuron(|cell| {
        let cell = cell.v_threshold(0.02);
        AdLifCell {
            random_start: false,
            ..cell
        }
    });
    let neuron = || Lif::new(2.0).v_threshold(0.2);
    Sequential::new()
        .add(Dcls1d::new(INPUTS, 8, 5).bias(false))
        .add(BatchNorm1d::new(8))
        .add(neuron())
        .add(adapted)
        .add(AxonalDelay::new(6, 3))
        .add(Recurrent::through(neuron(), DelayedFeedback::new(6, 3)))
}

/// The input of a sequence at each of its time steps.
fn input(sample: usize, step: usize) -> Vec<f32> {
    let value = |k| ((sample * 31 + step * 17 + k * 7) % 13) as f32 / 4.0;
    (0..INPUTS).map(value).collect()
}

/// Mean, sum and last step of the network's spikes for some of the sequences, padded to `steps`, and the gradient of
/// their sum with respect to the input.
fn results(net: &Sequential, mode: Mode, samples: &[usize], steps: usize) -> Result<Vec<Vec<f32>>> {
    let count = samples.len();
    let cx = Context::new(mode, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [steps, count, INPUTS]);
    let lengths = cx.tracer().input("x_length", DType::I64, [count]);
    let spikes = cx.trace(net, x.clone())?;
    let of = [sequence::mean, sequence::sum, sequence::last].map(|of| of(&spikes, &lengths));
    let total = of
        .iter()
        .map(Var::sum_all)
        .reduce(|a, b| a + b)
        .expect("three");
    let grad = cx.tracer().gradients(&total, &[&x]).remove(0);
    for (name, value) in ["mean", "sum", "last", "grad"]
        .iter()
        .zip(of.iter().chain([&grad]))
    {
        cx.tracer().output(name, value);
    }
    let mut store = VarStore::new(device::cpu()?);
    let mut program = cx.compile(&mut store, 3)?;
    let place = |step: usize| {
        samples
            .iter()
            .flat_map(move |&sample| match step < LENGTHS[sample] {
                true => input(sample, step),
                false => vec![0.0; INPUTS],
            })
    };
    let values: Vec<f32> = (0..steps).flat_map(place).collect();
    let given: Vec<i64> = samples
        .iter()
        .map(|sample| LENGTHS[*sample] as i64)
        .collect();
    program.set("x", &values)?;
    program.set("x_length", &given)?;
    program.run()?;
    let names = ["mean", "sum", "last", "grad"].iter();
    let read = names.map(|name| {
        let value = program.get(name)?;
        Ok(value.as_f32().expect("f32").to_vec())
    });
    read.collect()
}

#[test]
fn each_sequence_of_a_padded_batch_is_as_it_is_alone() -> Result<()> {
    let all: Vec<usize> = (0..LENGTHS.len()).collect();
    for (net, mode) in [(network(), Mode::TRAIN), (delayed(), Mode::EVAL)] {
        let together = results(&net, mode, &all, 10)?;
        let mut fires = false;
        for (sample, steps) in LENGTHS.into_iter().enumerate() {
            let alone = results(&net, mode, &[sample], steps)?;
            for (found, expected) in together[..3].iter().zip(&alone) {
                let size = expected.len();
                assert_eq!(found[sample * size..][..size], expected[..]);
                fires |= expected.iter().any(|value| *value != 0.0);
            }
            for step in 0..10 {
                let found = &together[3][(step * LENGTHS.len() + sample) * INPUTS..][..INPUTS];
                match step < steps {
                    true => assert_eq!(*found, alone[3][step * INPUTS..][..INPUTS]),
                    // The padding has no gradient.
                    false => assert!(found.iter().all(|value| *value == 0.0)),
                }
            }
        }
        assert!(fires);
    }
    Ok(())
}

/// Output, gradients of the input and the weight, and running statistics of batch norm, for Σ y·g.
fn normalized(
    norm: BatchNorm1d,
    shape: [usize; 3],
    [x, g]: [&[f64]; 2],
    lengths: Option<&[i64]>,
) -> Result<Vec<Vec<f64>>> {
    let cx = Context::new(Mode::TRAIN, DType::F64);
    let t = cx.tracer();
    let x_seq = t.input("x", DType::F64, shape);
    let weights = t.input("g", DType::F64, shape);
    if let Some(lengths) = lengths {
        t.input("x_length", DType::I64, [lengths.len()]);
    }
    let y = cx.trace(&norm, x_seq.clone())?;
    let weight = t.find_input("weight").expect("a parameter");
    let grads = t.gradients(&(&y * &weights).sum_all(), &[&x_seq, &weight]);
    for (name, var) in ["y", "dx", "dw"].iter().zip([&y, &grads[0], &grads[1]]) {
        t.output(name, var);
    }
    let mut store = VarStore::new(device::cpu()?);
    let mut program = cx.compile(&mut store, 0)?;
    program.set("x", HostTensor::F64(x))?;
    program.set("g", HostTensor::F64(g))?;
    if let Some(lengths) = lengths {
        program.set("x_length", lengths)?;
    }
    program.run()?;
    let outputs = ["y", "dx", "dw"].map(|name| program.get(name));
    let running = ["running_mean", "running_var"].map(|name| store.get(name));
    let all = outputs.into_iter().chain(running);
    all.map(|tensor| Ok(tensor?.to_f64())).collect()
}

#[test]
fn batch_norm_with_lengths_is_that_of_the_sequences_without_padding() -> Result<()> {
    let (steps, batch) = (10, LENGTHS.len());
    let value = |k: usize| ((k * 7919 + 31) % 1009) as f64 / 100.0;
    let x: Vec<f64> = (0..steps * batch * INPUTS).map(value).collect();
    let mut g: Vec<f64> = x.iter().map(|x| (x * 3.7).sin()).collect();
    let places = (0..steps).flat_map(|t| (0..batch).map(move |n| (t, n)));
    let (inside, padding): (Vec<_>, Vec<_>) = places.partition(|(t, n)| *t < LENGTHS[*n]);
    let row = |(t, n): &(usize, usize)| (t * batch + n) * INPUTS..(t * batch + n + 1) * INPUTS;
    // The loss does not read the padding.
    padding.iter().for_each(|at| g[row(at)].fill(0.0));
    let pack = |all: &[f64]| -> Vec<f64> {
        let rows = inside.iter().map(|at| &all[row(at)]);
        rows.flatten().copied().collect()
    };
    let lengths = LENGTHS.map(|length| length as i64);
    let norm = BatchNorm1d::new(INPUTS);
    let masked = norm.lengths("x_length");
    let mut found = normalized(masked, [steps, batch, INPUTS], [&x, &g], Some(&lengths))?;
    assert!(
        padding
            .iter()
            .all(|at| found[1][row(at)].iter().all(|d| *d == 0.0))
    );
    for of_inputs in &mut found[..2] {
        *of_inputs = pack(of_inputs);
    }
    let shape = [1, inside.len(), INPUTS];
    let expected = normalized(norm, shape, [&pack(&x), &pack(&g)], None)?;
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-11,
                "{found}, expected {expected}"
            );
        }
    }
    Ok(())
}

#[test]
fn batch_norm_says_which_lengths_it_needs() {
    let trace = |norm: BatchNorm1d| {
        let cx = Context::new(Mode::TRAIN, DType::F32);
        let x = cx.tracer().input("x", DType::F32, [5, 3, 2]);
        cx.trace(&norm, x)
            .map(drop)
            .expect_err("no lengths")
            .to_string()
    };
    let norm = BatchNorm1d::new(2).lengths("x_length");
    let message = trace(norm);
    assert!(message.contains("no input `x_length`, i64[3]"), "{message}");
    let message = trace(norm.each_step(true));
    assert!(
        message.contains("`each_step` and `lengths` exclude each other"),
        "{message}"
    );
}

#[test]
fn a_length_for_each_sequence_is_needed() {
    let tracer = Tracer::new(DType::F32);
    let x_seq = tracer.input("x", DType::F32, [5, 3, 2]);
    let lengths = tracer.input("lengths", DType::I64, [4]);
    sequence::mean(&x_seq, &lengths);
    let message = tracer.check().expect_err("four lengths").to_string();
    assert!(
        message.contains("not a length for each sequence"),
        "{message}"
    );
}
