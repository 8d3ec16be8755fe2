//! Sequences of different lengths in one batch give what each gives alone.

use spikelet_graph::op::HostTensor;
use spikelet_nn::prelude::*;
use spikelet_nn::{device, sequence};

const INPUTS: usize = 5;
const LENGTHS: [usize; 4] = [9, 4, 1, 7];

fn network() -> Sequential {
    Sequential::new()
        .add(Rnn::new(Lif::new(2.0).v_threshold(0.2), INPUTS, 8))
        .add(DelayedLinear::new(8, 6, 3))
        .add(Lif::new(3.0).v_threshold(0.1))
}

/// The input of a sequence at each of its time steps.
fn input(sample: usize, step: usize) -> Vec<f32> {
    let value = |k| ((sample * 31 + step * 17 + k * 7) % 13) as f32 / 4.0;
    (0..INPUTS).map(value).collect()
}

/// Mean, sum and last step of the network's spikes for some of the sequences, padded to `steps`, and the gradient of
/// their sum with respect to the input.
fn results(samples: &[usize], steps: usize) -> Result<Vec<Vec<f32>>> {
    let net = network();
    let count = samples.len();
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [steps, count, INPUTS]);
    let lengths = cx.tracer().input("x_length", DType::I64, [count]);
    let spikes = cx.trace(&net, x.clone())?;
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
    program.set("x", HostTensor::F32(&values))?;
    program.set("x_length", HostTensor::I64(&given))?;
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
    let together = results(&all, 10)?;
    let mut fires = false;
    for (sample, steps) in LENGTHS.into_iter().enumerate() {
        let alone = results(&[sample], steps)?;
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
    Ok(())
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
