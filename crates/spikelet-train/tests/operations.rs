//! Counts of operations against loops over the recorded spikes.

use spikelet_core::Result;
use spikelet_data::{DataLoader, LoaderConfig, synthetic};
use spikelet_graph::Tensor;
use spikelet_nn::energy::{
    CostTable, Estimate, NetworkCounts, NeuroBench, NeuronOps, NumberFormat, WeightReads,
};
use spikelet_train::prelude::*;
use spikelet_train::{Inputs, Outputs, Step, count_operations, evaluate};
use std::sync::Arc;

const T: usize = 3;
/// Images; not a multiple of the batches.
const N: usize = 23;
/// Channels, and the size after a window of 3 with stride 2 and padding 1 in 28 × 28.
const C: usize = 4;
const S: usize = 14;
const CLASSES: usize = 10;

fn net() -> Sequential {
    Sequential::new()
        .add(Conv2d::new(1, C, 3).bias(false).stride(2).padding(1))
        .add(BatchNorm2d::new(C))
        .add(Lif::new(1.5))
        .add(
            Conv2d::new(C, C, [3, 2])
                .bias(false)
                .stride([1, 3])
                .padding([1, 0])
                .groups(2),
        )
        .add(If::new())
        .add(Flatten)
        .add(Linear::new(C * S * 5, CLASSES).bias(true))
}

/// Weights of which some are 0.
fn weights(len: usize, seed: usize) -> Vec<f32> {
    let value = |k: usize| ((k * 7919 + seed) % 23) as f32 / 11.0 - 0.7;
    let zero = |k: usize| (k * k + seed).is_multiple_of(4);
    (0..len)
        .map(|k| if zero(k) { 0.0 } else { value(k) })
        .collect()
}

fn step(propagation: Propagation) -> Step<'static> {
    let net = net();
    Step::new(move |cx: &Context, inputs: &Inputs| {
        let x = (&inputs["images"] * 2.0).repeat_over_time(T);
        let scores = cx.trace(&net, x.clone())?.mean(&[0]);
        let loss = loss::cross_entropy(&scores, &inputs["labels"]);
        Ok(Outputs::loss(loss).output("x_seq", &x))
    })
    .batch_size(N)
    .input("images", DType::F32, [1, 28, 28])
    .input("labels", DType::I64, [])
    .optimizer(Adam::new(1e-3))
    .propagation(propagation)
}

struct Known {
    conv: Vec<f32>,
    grouped: Vec<f32>,
    linear: Vec<f32>,
}

fn known(store: &mut VarStore) -> Result<Known> {
    let known = Known {
        conv: weights(C * 9, 1),
        grouped: weights(C * 2 * 6, 2),
        linear: weights(CLASSES * C * S * 5, 3),
    };
    store.set("0.weight", &Tensor::f32([C, 1, 3, 3], known.conv.clone()))?;
    store.set(
        "3.weight",
        &Tensor::f32([C, 2, 3, 2], known.grouped.clone()),
    )?;
    let linear = Tensor::f32([CLASSES, C * S * 5], known.linear.clone());
    store.set("6.weight", &linear)?;
    Ok(known)
}

/// Products of nonzero weights and nonzero inputs, by loops over outputs; with `dense`, all products.
struct Looped<'a> {
    channels: [usize; 2],
    size: [usize; 2],
    out: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    groups: usize,
    weight: &'a [f32],
}

impl Looped<'_> {
    /// The products of one image `[C, H, W]`.
    fn products(&self, x: &[f32], dense: bool) -> u64 {
        let [ins, outs] = self.channels.map(|channels| channels / self.groups);
        let mut sum = 0;
        for o in 0..self.channels[1] {
            for row in 0..self.out[0] {
                for column in 0..self.out[1] {
                    for i in 0..ins {
                        for a in 0..self.kernel[0] {
                            for b in 0..self.kernel[1] {
                                let h = (row * self.stride[0] + a).wrapping_sub(self.padding[0]);
                                let w = (column * self.stride[1] + b).wrapping_sub(self.padding[1]);
                                if h >= self.size[0] || w >= self.size[1] {
                                    continue;
                                }
                                let k = ((o * ins + i) * self.kernel[0] + a) * self.kernel[1] + b;
                                let channel = o / outs * ins + i;
                                let at = (channel * self.size[0] + h) * self.size[1] + w;
                                sum += u64::from(dense || x[at] != 0.0 && self.weight[k] != 0.0);
                            }
                        }
                    }
                }
            }
        }
        sum
    }
}

fn nonzero(values: &[f32]) -> u64 {
    values.iter().filter(|value| **value != 0.0).count() as u64
}

fn zeros(values: &[f32]) -> u64 {
    values.len() as u64 - nonzero(values)
}

fn f32s(tensor: Tensor) -> Vec<f32> {
    tensor.to_f64().into_iter().map(|v| v as f32).collect()
}

#[test]
fn counts_equal_loops_over_the_recorded_spikes() -> Result<()> {
    let digits = synthetic::digits_of(3, 8, N).test;
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let recorded = step(Propagation::default()).read_activations("*.spike_seq");
    let mut eval = recorded.compile_eval(&mut store)?;
    let known = known(&mut store)?;
    let loader = DataLoader::new(
        digits,
        LoaderConfig {
            batch_size: N,
            shuffle: false,
            ..LoaderConfig::default()
        },
    )?;
    let batch = loader.epoch(0, 0).next().expect("a batch")?;
    eval.run_batch(&batch)?;
    let images = f32s(eval.output("x_seq")?);
    let first = f32s(eval.activation("2.spike_seq")?);
    let second = f32s(eval.activation("4.spike_seq")?);

    let conv = Looped {
        channels: [1, C],
        size: [28, 28],
        out: [S, S],
        kernel: [3, 3],
        stride: [2, 2],
        padding: [1, 1],
        groups: 1,
        weight: &known.conv,
    };
    let grouped = Looped {
        channels: [C, C],
        size: [S, S],
        out: [S, 5],
        kernel: [3, 2],
        stride: [1, 3],
        padding: [1, 0],
        groups: 2,
        weight: &known.grouped,
    };
    let sum = |looped: &Looped<'_>, inputs: &[f32]| -> u64 {
        let each = inputs.chunks(looped.channels[0] * looped.size[0] * looped.size[1]);
        each.map(|x| looped.products(x, false)).sum()
    };
    let features = C * S * 5;
    let mut of_linear = 0;
    for x in second.chunks(features) {
        for row in known.linear.chunks(features) {
            let both = x.iter().zip(row);
            of_linear += both.filter(|(x, w)| **x != 0.0 && **w != 0.0).count() as u64;
        }
    }
    assert!(of_linear > 0 && nonzero(&first) > 0);

    for propagation in [Propagation::LayerByLayer, Propagation::StepByStep] {
        let counts = step(propagation).count_operations(&loader, &mut store)?;
        assert_eq!(counts.samples, N as u64);
        let [a, b, c] = &counts.layers[..] else {
            panic!("{counts:?}");
        };
        assert_eq!([&a.name, &b.name, &c.name], ["0", "3", "6"]);

        // The image is not binary, and the same at each step.
        let of_image = sum(&conv, &images);
        assert_eq!([a.accumulates, a.multiply_accumulates], [0, of_image]);
        let dense = conv.products(&images[..784], true);
        assert_eq!([a.connections, a.passes], [dense, T as u64]);
        assert_eq!(
            [a.weights, a.zero_weights],
            [C as u64 * 9, zeros(&known.conv)]
        );
        // Scale and shift of the normalization, its mean and variance.
        let parameters = [C as u64 * 9 + 2 * C as u64, 2 * C as u64];
        assert_eq!([a.parameters, a.buffers], parameters);
        assert_eq!([a.inputs, a.outputs, a.neurons], [784, 784, 784]);
        assert_eq!([a.analog_inputs, a.analog_outputs], [true, false]);
        assert_eq!(a.nonzero_outputs, nonzero(&first));
        assert_eq!(a.ops, NeuronOps::of(&Lif::new(1.5))?);

        let of_spikes = sum(&grouped, &first);
        assert_eq!([b.accumulates, b.multiply_accumulates], [of_spikes, 0]);
        assert_eq!(b.connections, grouped.products(&first[..784], true));
        assert_eq!([b.inputs, b.outputs, b.neurons], [784, 280, 280]);
        assert_eq!(b.nonzero_outputs, nonzero(&second));
        assert_eq!(b.zero_weights, zeros(&known.grouped));
        assert_eq!([b.analog_inputs, b.analog_outputs], [false, false]);

        assert_eq!([c.accumulates, c.multiply_accumulates], [of_linear, 0]);
        assert_eq!(c.connections, 2800);
        assert_eq!([c.weights, c.parameters, c.neurons], [2800, 2810, 0]);
        assert_eq!(c.zero_weights, zeros(&known.linear));
        assert_eq!([c.inputs, c.outputs, c.nonzero_outputs], [280, 10, 0]);
        assert!(c.analog_outputs && !c.analog_inputs);
        energies(&counts)?;
    }
    Ok(())
}

/// The energies of a network without memory, from the figures of the publication.
fn energies(counts: &NetworkCounts) -> Result<()> {
    let table = CostTable::find("horowitz-45nm")?;
    let [a, b, c] = &counts.layers[..] else {
        panic!("{counts:?}");
    };
    let near = |x: f64, y: f64| assert!((x - y).abs() <= 1e-9 * y, "{x} is not {y}");
    let (samples, steps) = (N as f64, T as f64);
    let snn = Estimate::spiking(
        counts,
        &table,
        NumberFormat::F32,
        WeightReads::EachOperation,
    )?;
    let synapses =
        a.multiply_accumulates as f64 * 4.6 + (b.accumulates + c.accumulates) as f64 * 0.9;
    // LIF: 3 additions, a multiplication, a comparison; IF: 2 additions and a comparison.
    let neurons = 784.0 * steps * (4.0 * 0.9 + 3.7) + 280.0 * steps * 3.0 * 0.9;
    near(snn.total().high, synapses / samples + neurons);
    let ann = Estimate::artificial(
        counts,
        &table,
        NumberFormat::F32,
        WeightReads::EachOperation,
    )?;
    let connections = (a.connections + b.connections + c.connections) as f64;
    near(ann.total().high, connections * 4.6 + (784.0 + 280.0) * 0.9);
    let ann8 = Estimate::artificial(counts, &table, NumberFormat::I8, WeightReads::EachOperation)?;
    near(
        ann8.total().high,
        connections * 0.3 + (784.0 + 280.0) * 0.03,
    );

    let metrics = NeuroBench::of(counts, NumberFormat::F32)?;
    let operations = metrics.synaptic_operations;
    near(
        operations.effective_macs * samples,
        a.multiply_accumulates as f64,
    );
    near(
        operations.effective_acs * samples,
        (b.accumulates + c.accumulates) as f64,
    );
    near(operations.dense, connections * steps);
    Ok(())
}

#[test]
fn counts_of_a_classifier_do_not_depend_on_the_batch() -> Result<()> {
    let digits: Arc<_> = synthetic::digits_of(3, 8, N).test;
    let net = net();
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let mut settings = Settings {
        time_steps: T,
        ..Settings::default()
    };
    let mut found = vec![];
    for batch in [None, Some(5), Some(1)] {
        settings.evaluation_batch = batch;
        let (evaluation, counts) = count_operations(&net, &settings, &digits, &mut store)?;
        let expected = evaluate(&net, &settings, &digits, &mut store)?;
        assert_eq!(evaluation, expected);
        found.push(counts);
    }
    // A Poisson encoder sends spikes.
    assert!(found[0].layers[0].accumulates > 0 && !found[0].layers[0].analog_inputs);
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
    Ok(())
}

#[test]
fn recurrent_layers_and_neurons_alone_are_counted() -> Result<()> {
    let net = Sequential::new()
        .add(Flatten)
        .add(Lif::new(2.0))
        .add(Linear::new(784, 10).bias(false))
        .add(Recurrent::new(If::new(), 10));
    let digits = synthetic::digits_of(3, 8, 10).test;
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let settings = Settings {
        time_steps: T,
        encoder: Direct.into(),
        ..Settings::default()
    };
    let (_, counts) = count_operations(&net, &settings, &digits, &mut store)?;
    let names: Vec<&str> = counts
        .layers
        .iter()
        .map(|layer| layer.name.as_str())
        .collect();
    assert_eq!(names, ["1", "2", "3.feedback"]);
    let [alone, linear, feedback] = &counts.layers[..] else {
        panic!("{counts:?}");
    };
    assert_eq!(
        [alone.neurons, alone.connections, alone.passes],
        [784, 0, T as u64]
    );
    assert_eq!([linear.neurons, linear.connections], [0, 7840]);
    assert_eq!([feedback.neurons, feedback.connections], [10, 100]);
    assert_eq!([feedback.passes, feedback.parameters], [T as u64, 100]);
    // The spikes of a step are the input of the next one.
    assert!(feedback.accumulates <= feedback.nonzero_outputs * 10);
    Ok(())
}
