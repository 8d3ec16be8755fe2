//! Products with drawn spikes, which may be bit-packed.

use crate::harness::{
    Loaded, Near, SUMS, compare, data, gpu, on_cpu, run_twice, scaled, tensor, thorough, traced,
};
use spikelet_cuda::Cuda;
use spikelet_graph::op::{MatMul, MatmulPrecision};
use spikelet_graph::{DType, Graph, RandomAxes, Tensor, Tracer};

/// A linear layer over drawn spikes.
#[derive(Clone, Copy, Debug)]
struct Layer {
    time: usize,
    batch: usize,
    inputs: usize,
    outputs: usize,
    precision: MatmulPrecision,
    /// The fraction of inputs with a nonzero probability, in 1/8.
    alive: usize,
}

impl Layer {
    fn new(time: usize, batch: usize, inputs: usize, outputs: usize) -> Self {
        Self {
            time,
            batch,
            inputs,
            outputs,
            precision: MatmulPrecision::Full,
            alive: 8,
        }
    }

    /// Probabilities; those of long runs of inputs are zero.
    fn image(&self) -> Tensor {
        let mut values = scaled(&[self.batch, self.inputs], 1, 0.4, 0.3);
        if let spikelet_graph::Data::F32(values) = &mut values.data {
            for (k, p) in values.iter_mut().enumerate() {
                if k / 16 % 8 >= self.alive {
                    *p = 0.0;
                }
            }
        }
        values
    }

    /// Weights and gradients that are multiples of 1/256: their sums are exact in any order.
    fn exact(shape: &[usize], seed: u64) -> Tensor {
        let values = tensor(shape, seed);
        let values = values.as_f32().expect("f32").iter();
        let rounded: Vec<f32> = values.map(|x| (x * 128.0).round() / 256.0).collect();
        Tensor::f32(shape, rounded)
    }

    fn given(&self, exact: bool) -> Vec<(&'static str, Tensor)> {
        let of = |shape: &[usize], seed| match exact {
            true => Self::exact(shape, seed),
            false => tensor(shape, seed),
        };
        vec![
            ("draws", Tensor::i64([4], [77, 5, 2, 0])),
            ("image", self.image()),
            ("w", of(&[self.outputs, self.inputs], 2)),
            ("g", of(&[self.time, self.batch, self.outputs], 3)),
        ]
    }

    fn trace(&self, tracer: &Tracer, given: &[(&str, Tensor)]) {
        let x: Vec<_> = given.iter().map(|(n, t)| data(tracer, n, t)).collect();
        let [draws, image, w, g] = [&x[0], &x[1], &x[2], &x[3]];
        let spikes = image
            .repeat_over_time(self.time)
            .bernoulli(draws, RandomAxes::Time);
        let op = MatMul {
            precision: self.precision,
            ..MatMul::new(false, true)
        };
        let y = tracer.apply1(op, &[&spikes, w]);
        let dw = tracer.gradients_given(&[(&y, g)], &[w]).remove(0);
        tracer.output("y", &y);
        tracer.output("dw", &dw);
    }
}

fn holds_bits(graph: &Graph) -> bool {
    let made = graph.nodes.iter().flat_map(|node| &node.outputs);
    made.into_iter().any(|v| graph.ty(*v).dtype == DType::Bits)
}

fn check(gpu: &Cuda, layer: Layer, exact: bool, near: Near) {
    let given = layer.given(exact);
    let graph = traced(|tracer| layer.trace(tracer, &given));
    let mut loaded = Loaded::new(graph.clone(), gpu);
    let tensor_cores = gpu.properties().capability.0 >= 8;
    if tensor_cores && layer.inputs.is_multiple_of(4) {
        assert!(holds_bits(&loaded.plan.graph), "{layer:?}\n{}", loaded.plan);
    }
    let made = run_twice(&mut loaded, &given);
    let expected = on_cpu(graph, &given).expect("the CPU");
    compare(
        &made,
        &expected,
        |_| near,
        &format!("{layer:?}\n{}", loaded.plan),
    );
}

fn sizes() -> Vec<Layer> {
    let mut sizes = vec![
        Layer::new(1, 1, 4, 1),
        Layer::new(1, 3, 60, 8),
        Layer::new(2, 5, 64, 10),
        Layer::new(3, 43, 68, 40),
        Layer::new(7, 19, 128, 41),
        Layer::new(5, 16, 196, 100),
        Layer::new(2, 9, 13, 17),
    ];
    if thorough() {
        sizes.extend([
            Layer::new(8, 128, 784, 196),
            Layer::new(1, 4000, 192, 3),
            Layer::new(50, 64, 260, 129),
            Layer::new(3, 2, 4096, 2000),
        ]);
    }
    sizes
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_layer_over_drawn_spikes_and_its_gradient_agree_at_every_size() {
    let gpu = gpu();
    for layer in sizes() {
        check(&gpu, layer, false, SUMS);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn sums_that_are_exact_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    for layer in sizes() {
        check(&gpu, layer, true, Near::OfLargest(0.0));
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn few_spikes_or_no_spikes_give_the_same_sums() {
    let gpu = gpu();
    for alive in [0, 1, 3] {
        let layer = Layer::new(6, 30, 256, 50);
        check(&gpu, Layer { alive, ..layer }, false, SUMS);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn tf32_is_near_where_it_was_requested() {
    let gpu = gpu();
    let layer = Layer {
        precision: MatmulPrecision::Tf32,
        ..Layer::new(5, 40, 196, 100)
    };
    check(&gpu, layer, false, Near::OfLargest(2e-3));
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn weights_of_all_magnitudes_keep_their_precision() {
    let gpu = gpu();
    let layer = Layer::new(4, 30, 64, 24);
    let mut given = layer.given(false);
    // A separate magnitude for each row: small rows must keep their precision.
    let w: Vec<f32> = (given[2].1.as_f32().expect("f32").iter().enumerate())
        .map(|(k, w)| w * 10.0_f32.powi((k / 64) as i32 * 2 - 24))
        .collect();
    given[2].1 = Tensor::f32([24, 64], w);
    let by_row = |tracer: &Tracer| {
        let x: Vec<_> = given.iter().map(|(n, t)| data(tracer, n, t)).collect();
        let spikes = x[1].repeat_over_time(4).bernoulli(&x[0], RandomAxes::Time);
        let y = spikes.linear(&x[2]);
        for row in 0..24 {
            tracer.output(&format!("row {row}"), &y.slice(2, row..row + 1));
        }
    };
    let used: Vec<(&str, Tensor)> = given.clone();
    let mut loaded = Loaded::new(traced(by_row), &gpu);
    let made = run_twice(&mut loaded, &used);
    let expected = on_cpu(traced(by_row), &used).expect("the CPU");
    compare(&made, &expected, |_| SUMS, "weights of all sizes");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn sixteen_bit_weights_are_multiplied_with_spikes() {
    let gpu = gpu();
    for dtype in [DType::F16, DType::BF16] {
        let (time, batch, inputs, outputs) = (5, 20, 132, 50);
        let p = scaled(&[batch, inputs], 4, 0.4, 0.3).cast(dtype);
        let w = Layer::exact(&[outputs, inputs], 5).cast(dtype);
        let draws = Tensor::i64([4], [8, 1, 0, 0]);
        let trace = |tracer: &Tracer, p: &Tensor, w: &Tensor| {
            let (p, w) = (data(tracer, "p", p), data(tracer, "w", w));
            let draws = tracer.input("draws", DType::I64, [4]);
            let spikes = p.repeat_over_time(time).bernoulli(&draws, RandomAxes::Time);
            let out = Some(DType::F32);
            let op = MatMul {
                out: out.filter(|_| dtype == w.ty().dtype),
                ..MatMul::new(false, true)
            };
            tracer.output("y", &tracer.apply1(op, &[&spikes, &w]));
        };
        let given = [("p", p.clone()), ("w", w.clone()), ("draws", draws.clone())];
        let mut loaded = Loaded::new(traced(|tracer| trace(tracer, &p, &w)), &gpu);
        let made = run_twice(&mut loaded, &given);
        // The same numbers in f32: the sums are exact.
        let (p, w) = (p.cast(DType::F32), w.cast(DType::F32));
        let given = [("p", p.clone()), ("w", w.clone()), ("draws", draws)];
        let expected = on_cpu(traced(|tracer| trace(tracer, &p, &w)), &given).expect("the CPU");
        compare(
            &made,
            &expected,
            |_| Near::OfLargest(0.0),
            &format!("{dtype}"),
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn spikes_of_neurons_feed_the_next_layer_as_on_the_cpu() {
    let gpu = gpu();
    let crowd = crate::scan::crowds(&gpu)[0];
    for (batch, neurons) in [
        (1, 1),
        (3, 4),
        (5, 40),
        (1, 64),
        (7, 67),
        (16, 68),
        (9, 100),
        (16, 196),
        (4, 1000),
        (crowd.div_ceil(196), 196),
        (crowd.div_ceil(64), 256),
        (crowd.div_ceil(16), 65),
    ] {
        for time in [1, 6, 19] {
            let given = [
                ("x", scaled(&[time, batch, neurons], 1, 1.0, 0.3)),
                ("v", scaled(&[neurons], 2, 0.3, 0.0)),
                ("w", Layer::exact(&[10, neurons], 3)),
                ("g", Layer::exact(&[time, batch, 10], 4)),
            ];
            crate::harness::same_on(
                &gpu,
                &given,
                |_| Near::OfLargest(0.0),
                |tracer| {
                    let [x, v, w, g] = given.each_ref().map(|(n, t)| data(tracer, n, t));
                    let r = crate::scan::lif();
                    let made = spikelet_graph::Var::scan(&r, time, &[&x], &[&v], &[]);
                    let y = made[0].linear(&w);
                    let dw = tracer.gradients_given(&[(&y, &g)], &[&w]).remove(0);
                    tracer.output("y", &y);
                    tracer.output("dw", &dw);
                    tracer.output("v last", &made[1]);
                },
            );
        }
    }
}
