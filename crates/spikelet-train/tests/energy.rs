//! The energy figures of one network, recomputed from its written spikes and potentials and from its weights, and its
//! metrics against those of NeuroBench's harness (`tools/baselines/neurobench_counts.py`).
//!
//! The network has a convolution with stride and padding, a grouped convolution, a linear layer, and leaky neurons. It
//! runs over images, which are not binary, and over spikes.

use serde_json::Value;
use spikelet_core::Result;
use spikelet_data::{ArrayFiles, DType, DataLoader, Dataset, Field, InMemory, LoaderConfig};
use spikelet_graph::Tensor;
use spikelet_nn::energy::{
    CostTable, Energy, Estimate, NetworkCounts, NeuroBench, NumberFormat, WeightReads,
};
use spikelet_train::prelude::*;
use spikelet_train::{Inputs, Outputs, Recorded, Recording, Step};
use std::path::Path;
use std::sync::Arc;

const T: usize = 5;
const N: usize = 12;
const REFERENCE: &str = include_str!("data/neurobench.json");

/// Multiples of 1/8 from −1 to 1, of which a third can be 0; as in the script.
fn eighths(len: usize, seed: usize, zeros: bool) -> Vec<f32> {
    let value = |k: usize| ((k * 7919 + seed * 104_729) % 17) as f32 / 8.0 - 1.0;
    let is_zero = |k: usize| zeros && (k * k + seed).is_multiple_of(3);
    (0..len)
        .map(|k| if is_zero(k) { 0.0 } else { value(k) })
        .collect()
}

/// The values of weights and biases, so large that every layer fires.
fn scaled(len: usize, seed: usize, zeros: bool) -> Vec<f32> {
    let values = eighths(len, seed, zeros).into_iter();
    values.map(|value| 6.0 * value).collect()
}

/// H = V/2 + X; a spike if H is above 1, as in snnTorch, and V = 0 after it. All potentials are multiples of 2⁻¹⁰.
fn neuron() -> Lif {
    Lif {
        decay_input: false,
        common: Common {
            v_threshold: 1.0 + 2_f64.powi(-20),
            ..Common::default()
        },
        ..Lif::new(2.0)
    }
}

fn step() -> Step<'static> {
    let net = Sequential::new()
        .add(Conv2d::new(1, 2, 3).stride(2).padding(1).bias(true))
        .add(neuron())
        .add(
            Conv2d::new(2, 4, [3, 2])
                .bias(false)
                .padding([1, 0])
                .groups(2),
        )
        .add(neuron())
        .add(Flatten)
        .add(Linear::new(48, 6).bias(true))
        .add(neuron());
    Step::new(move |cx: &Context, inputs: &Inputs| {
        Ok(Outputs::loss(net.forward(cx, &inputs["x"])?.mean_all()))
    })
    .sequence("x", DType::F32, [T, 1, 8, 8])
    .optimizer(Sgd::new(0.1))
}

/// The inputs of a case, `[N, T, 8, 8]`.
fn inputs(case: &str) -> Vec<f32> {
    if case == "spikes" {
        let values = eighths(N * T * 64, 12, false).into_iter();
        return values.map(|v| f32::from(u8::from(v > 0.5))).collect();
    }
    let images = eighths(N * 64, 11, false);
    let each = images.chunks(64).flat_map(|image| [image; T]);
    each.flatten().map(|v| 2.0 * v).collect()
}

/// A layer of connections, written as `(output, input, weight)` for each product of a weight and an input.
struct Connections {
    pairs: Vec<[usize; 3]>,
    weight: Vec<f32>,
    inputs: usize,
    outputs: usize,
}

/// `[channels, height, width]` of input and output.
fn convolution(
    [cin, h, w]: [usize; 3],
    [cout, oh, ow]: [usize; 3],
    kernel: [usize; 2],
    stride: usize,
    padding: [usize; 2],
    groups: usize,
    weight: Vec<f32>,
) -> Connections {
    let mut pairs = vec![];
    let (ins, outs) = (cin / groups, cout / groups);
    for o in 0..cout {
        for (r, c) in (0..oh).flat_map(|r| (0..ow).map(move |c| (r, c))) {
            for i in 0..ins {
                for (a, b) in (0..kernel[0]).flat_map(|a| (0..kernel[1]).map(move |b| (a, b))) {
                    let y = (r * stride + a) as isize - padding[0] as isize;
                    let x = (c * stride + b) as isize - padding[1] as isize;
                    if (0..h as isize).contains(&y) && (0..w as isize).contains(&x) {
                        let channel = o / outs * ins + i;
                        pairs.push([
                            (o * oh + r) * ow + c,
                            (channel * h + y as usize) * w + x as usize,
                            ((o * ins + i) * kernel[0] + a) * kernel[1] + b,
                        ]);
                    }
                }
            }
        }
    }
    Connections {
        pairs,
        weight,
        inputs: cin * h * w,
        outputs: cout * oh * ow,
    }
}

/// The layers in their order.
fn layers() -> [Connections; 3] {
    let linear = (0..6 * 48).map(|k| [k / 48, k % 48, k]).collect();
    [
        convolution(
            [1, 8, 8],
            [2, 4, 4],
            [3, 3],
            2,
            [1, 1],
            1,
            scaled(18, 0, true),
        ),
        convolution(
            [2, 4, 4],
            [4, 4, 3],
            [3, 2],
            1,
            [1, 0],
            2,
            scaled(24, 2, true),
        ),
        Connections {
            pairs: linear,
            weight: scaled(288, 3, true),
            inputs: 48,
            outputs: 6,
        },
    ]
}

const BIASES: [u64; 3] = [2, 0, 6];

impl Connections {
    /// Products of nonzero weights and nonzero inputs.
    fn effective(&self, inputs: &[f32]) -> u64 {
        let each = inputs.chunks_exact(self.inputs).flat_map(|x| {
            let both = move |[_, i, k]: &[usize; 3]| x[*i] != 0.0 && self.weight[*k] != 0.0;
            self.pairs.iter().map(both)
        });
        each.filter(|both| *both).count() as u64
    }

    /// The inputs of the neurons, `[T, N, outputs]`.
    fn forward(&self, inputs: &[f32], bias: &[f32]) -> Vec<f32> {
        let rows = inputs.chunks_exact(self.inputs).map(|x| {
            let mut y = vec![0.0; self.outputs];
            for (k, y) in y.iter_mut().enumerate() {
                *y = bias
                    .get(k * bias.len() / self.outputs)
                    .copied()
                    .unwrap_or(0.0);
            }
            for [o, i, k] in &self.pairs {
                y[*o] += self.weight[*k] * x[*i];
            }
            y
        });
        rows.flatten().collect()
    }
}

/// A loader over the inputs of a case, and a store with the weights.
fn known(case: &str) -> Result<(DataLoader, VarStore)> {
    let x = Field::new("x", DType::F32, [T, 1, 8, 8]).sequence();
    let data = InMemory::new(case).with(x, inputs(case))?;
    let loader = DataLoader::new(Arc::new(data), LoaderConfig::default())?;
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    step().compile_eval(&mut store)?;
    let tensors = [
        ("0.weight", vec![2, 1, 3, 3], true),
        ("0.bias", vec![2], false),
        ("2.weight", vec![4, 1, 3, 2], true),
        ("5.weight", vec![6, 48], true),
        ("5.bias", vec![6], false),
    ];
    for (seed, (name, shape, zeros)) in tensors.into_iter().enumerate() {
        let len = shape.iter().product();
        store.set(name, &Tensor::f32(shape, scaled(len, seed, zeros)))?;
    }
    Ok((loader, store))
}

/// The elements of an array, `[T, N, …]`.
fn read(path: &Path, name: &str) -> Result<Vec<f32>> {
    let file = ArrayFiles::npz(path, &[name])?;
    let mut values = vec![];
    for t in 0..file.len() {
        let sample = file.sample(t)?;
        let row = sample.require(name)?;
        values.extend(row.as_u8().into_iter().flatten().map(|&v| f32::from(v)));
        values.extend(row.as_f32().into_iter().flatten());
    }
    Ok(values)
}

fn nonzero(values: &[f32]) -> u64 {
    values.iter().filter(|value| **value != 0.0).count() as u64
}

/// The activity of a layer, counted in the written arrays.
struct Counted {
    operations: u64,
    analog: bool,
    spikes: u64,
    /// Pairs of a neuron and a step with a potential that is not that of the step before.
    changes: u64,
}

/// Counts in the arrays that the network wrote. They are checked against a simulation first.
fn counted(case: &str) -> Result<[Counted; 3]> {
    let (loader, mut store) = known(case)?;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.npz");
    step().record(
        &Recording::new("*").values(Recorded::NEURONS),
        &loader,
        &mut store,
        &path,
    )?;
    let sequence = inputs(case);
    // [N, T, 64] to [T, N, 64].
    let mut x: Vec<f32> = (0..T * N)
        .flat_map(|k| &sequence[(k % N * T + k / N) * 64..][..64])
        .copied()
        .collect();
    let mut found = vec![];
    let biases = [scaled(2, 1, false), vec![], scaled(6, 4, false)];
    for ((layer, bias), name) in layers().iter().zip(&biases).zip(["1", "3", "6"]) {
        let spikes = read(&path, &format!("{name}.spike_seq"))?;
        let v = read(&path, &format!("{name}.v_seq"))?;
        let y = layer.forward(&x, bias);
        assert_eq!(read(&path, &format!("{name}.x_seq"))?, y);
        let width = N * layer.outputs;
        for k in 0..T * width {
            let before = if k < width { 0.0 } else { v[k - width] };
            let h = before / 2.0 + y[k];
            let fires = h > 1.0;
            assert_eq!(spikes[k], f32::from(u8::from(fires)));
            assert_eq!(v[k], if fires { 0.0 } else { h });
        }
        found.push(Counted {
            operations: layer.effective(&x),
            analog: x.iter().any(|x| ![-1.0, 0.0, 1.0].contains(x)),
            spikes: nonzero(&spikes),
            changes: (width..T * width).filter(|&k| v[k] != v[k - width]).count() as u64,
        });
        assert!(nonzero(&spikes) > 0 && nonzero(&spikes) < spikes.len() as u64);
        x = spikes;
    }
    Ok(found.try_into().ok().expect("three layers"))
}

fn near(found: f64, expected: f64) {
    let close = (found - expected).abs() <= 1e-9 * expected.abs();
    assert!(close, "{found} is not {expected}");
}

fn exactly(found: Energy, expected: f64) {
    near(found.low, expected);
    near(found.high, expected);
}

#[test]
fn every_figure_of_a_network_is_recomputed_from_first_principles() -> Result<()> {
    for (case, analog) in [("images", true), ("spikes", false)] {
        let counted = counted(case)?;
        assert_eq!(counted[0].analog, analog);
        let (loader, mut store) = known(case)?;
        let counts = step().count_operations(&loader, &mut store)?;
        assert_eq!([counts.samples, counts.layers.len() as u64], [N as u64, 3]);
        for (k, layer) in layers().iter().enumerate() {
            let (found, by_hand) = (&counts.layers[k], &counted[k]);
            let operations = [by_hand.operations, 0];
            let [accumulates, products] = match by_hand.analog {
                false => operations,
                true => [operations[1], operations[0]],
            };
            assert_eq!(found.accumulates, accumulates);
            assert_eq!(found.multiply_accumulates, products);
            assert_eq!(found.connections, layer.pairs.len() as u64);
            assert_eq!(found.nonzero_outputs, by_hand.spikes);
            assert_eq!(found.membrane_changes, Some(by_hand.changes));
            assert_eq!(
                found.neuron_updates(N as u64),
                (T * N * layer.outputs) as u64
            );
            assert_eq!(found.weights, layer.weight.len() as u64);
            let zeros = layer.weight.len() as u64 - nonzero(&layer.weight);
            assert_eq!(found.zero_weights, zeros);
            assert_eq!(found.parameters, found.weights + BIASES[k]);
            assert_eq!(
                [found.inputs, found.outputs],
                [layer.inputs, layer.outputs].map(|n| n as u64)
            );
            assert_eq!(
                [found.analog_inputs, found.analog_outputs],
                [by_hand.analog, false]
            );
        }
        for reads in [WeightReads::EachOperation, WeightReads::EachPass] {
            spiking(&counts, &counted, reads)?;
            artificial(&counts, reads, NumberFormat::F32, [0.9, 3.7 + 0.9])?;
            artificial(&counts, reads, NumberFormat::I8, [0.03, 0.2 + 0.1])?;
        }
    }
    Ok(())
}

/// The energy of a bit of data of 8 KiB or less, in pJ: 10 pJ for 64 bits.
const CACHE_BIT: f64 = 10.0 / 64.0;

/// The spiking network: f32 numbers, spikes of one bit.
fn spiking(counts: &NetworkCounts, counted: &[Counted; 3], reads: WeightReads) -> Result<()> {
    let find = |name| -> Result<Estimate> {
        let table = CostTable::find(name)?;
        Estimate::spiking(counts, &table, NumberFormat::F32, reads)
    };
    let (plain, memory) = (find("horowitz-45nm")?, find("horowitz-45nm-memory")?);
    let mut total = [0.0; 2];
    for (k, layer) in layers().iter().enumerate() {
        let each = counted[k].operations as f64 / N as f64;
        let synapses = each * if counted[k].analog { 3.7 + 0.9 } else { 0.9 };
        // V/2; V − V/2; + X; − threshold; ≥ 0.
        let updates = (T * layer.outputs) as f64;
        let neurons = updates * (3.7 + 3.0 * 0.9 + 0.9);
        let steps = T as f64;
        let weights = match reads {
            WeightReads::EachOperation => each,
            WeightReads::EachPass => layer.weight.len() as f64 * steps,
        };
        let parameters = (weights + BIASES[k] as f64 * steps) * 32.0 * CACHE_BIT;
        // V is read and written.
        let states = 2.0 * updates * 32.0 * CACHE_BIT;
        let input_bits = if counted[k].analog { 32.0 } else { 1.0 };
        let bits = layer.inputs as f64 * input_bits + layer.outputs as f64;
        let activations = bits * steps * CACHE_BIT;
        let of = |estimate: &Estimate| estimate.layers[k].clone();
        for estimate in [of(&plain), of(&memory)] {
            exactly(estimate.synapses, synapses);
            exactly(estimate.neurons, neurons);
        }
        exactly(
            of(&plain).parameters + of(&plain).states + of(&plain).activations,
            0.0,
        );
        exactly(of(&memory).parameters, parameters);
        exactly(of(&memory).states, states);
        exactly(of(&memory).activations, activations);
        total[0] += synapses + neurons;
        total[1] += synapses + neurons + parameters + states + activations;
        let traffic = counts.layers[k].memory_traffic(N as u64, NumberFormat::F32, reads);
        near(traffic.parameters, parameters / CACHE_BIT / 8.0);
        near(traffic.states, states / CACHE_BIT / 8.0);
        near(traffic.activations, activations / CACHE_BIT / 8.0);
    }
    exactly(plain.total(), total[0]);
    exactly(memory.total(), total[1]);
    Ok(())
}

/// The artificial network with the energies of a comparison, and of a product with its sum.
fn artificial(
    counts: &NetworkCounts,
    reads: WeightReads,
    format: NumberFormat,
    [compare, product]: [f64; 2],
) -> Result<()> {
    let table = CostTable::find("horowitz-45nm-memory")?;
    let found = Estimate::artificial(counts, &table, format, reads)?;
    let bits = if format == NumberFormat::I8 {
        8.0
    } else {
        32.0
    };
    let mut total = 0.0;
    for (k, layer) in layers().iter().enumerate() {
        let connections = layer.pairs.len() as f64;
        let weights = match reads {
            WeightReads::EachOperation => connections,
            WeightReads::EachPass => layer.weight.len() as f64,
        };
        let parameters = (weights + BIASES[k] as f64) * bits * CACHE_BIT;
        let activations = (layer.inputs + layer.outputs) as f64 * bits * CACHE_BIT;
        let estimate = &found.layers[k];
        exactly(estimate.synapses, connections * product);
        exactly(estimate.neurons, layer.outputs as f64 * compare);
        exactly(estimate.parameters, parameters);
        exactly(estimate.activations, activations);
        exactly(estimate.states, 0.0);
        total += connections * product + layer.outputs as f64 * compare + parameters + activations;
    }
    exactly(found.total(), total);
    Ok(())
}

#[test]
fn the_metrics_are_those_of_neurobenchs_harness() -> Result<()> {
    let reference: Value = serde_json::from_str(REFERENCE).expect("the reference");
    assert_eq!([&reference["steps"], &reference["samples"]], [T, N]);
    for case in ["images", "spikes"] {
        let (loader, mut store) = known(case)?;
        let counts = step().count_operations(&loader, &mut store)?;
        let found = NeuroBench::of(&counts, NumberFormat::F32)?;
        let expected = &reference["cases"][case];
        let number = |value: &Value| value.as_f64().expect("a number");
        // The harness counts the constants of snnTorch's neurons and the potentials of a batch as buffers.
        let neurons = number(&expected["neuron_bytes"]);
        near(
            found.footprint as f64 + neurons,
            number(&expected["Footprint"]),
        );
        near(
            found.parameter_count as f64,
            number(&expected["ParameterCount"]),
        );
        near(
            found.connection_sparsity,
            number(&expected["ConnectionSparsity"]),
        );
        near(
            found.activation_sparsity,
            number(&expected["ActivationSparsity"]),
        );
        let operations = &expected["SynapticOperations"];
        near(
            found.synaptic_operations.effective_macs,
            number(&operations["Effective_MACs"]),
        );
        near(
            found.synaptic_operations.effective_acs,
            number(&operations["Effective_ACs"]),
        );
        near(
            found.synaptic_operations.dense,
            number(&operations["Dense"]),
        );
        near(
            found.membrane_updates.expect("counted"),
            number(&expected["MembraneUpdates"]),
        );
    }
    Ok(())
}

#[test]
fn a_layer_is_multiply_accumulate_if_any_of_its_inputs_is_analog_whatever_the_batch() -> Result<()>
{
    // The first images are binary, the last one is not.
    let mut x = inputs("spikes");
    let last = x.len() - 1;
    x[last] = 0.5;
    let field = Field::new("x", DType::F32, [T, 1, 8, 8]).sequence();
    let data = Arc::new(InMemory::new("mixed").with(field, x)?);
    let (_, mut store) = known("spikes")?;
    let loader = DataLoader::new(data, LoaderConfig::default())?;
    let counts = step().count_operations(&loader, &mut store)?;
    assert_eq!(counts.layers[0].accumulates, 0);
    assert!(counts.layers[0].multiply_accumulates > 0 && counts.layers[0].analog_inputs);
    assert!(counts.layers[1].accumulates > 0);
    Ok(())
}
