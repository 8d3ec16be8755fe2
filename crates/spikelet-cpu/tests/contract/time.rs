//! Many steps at once, and one step many times.
//!
//! The products are those of spikes with weights, which sum every row by itself. Dense products
//! are summed by the matrix library in an order that follows the number of rows.

use crate::harness::{Loaded, numbers};
use crate::threads::plif;
use spikelet_graph::{DType, Graph, RandomAxes, Tensor, Tracer, Var};

const F: DType = DType::F32;
const BATCH: usize = 5;

fn network(time: usize) -> Graph {
    let tracer = Tracer::new(F);
    let image = tracer.input("image", F, [BATCH, 36]);
    let generator = tracer.input("generator", DType::I64, [4]);
    let w1 = tracer.parameter("w1", [20, 36]);
    let tau = tracer.parameter("tau", [20]);
    let (v1, v2) = (
        tracer.state("v1", [BATCH, 20]),
        tracer.state("v2", [BATCH, 7]),
    );
    let zero = tracer.fill(F, [], 0.0);
    let spikes = image
        .repeat_over_time(time)
        .bernoulli(&generator, RandomAxes::Time);
    let first = Var::scan(&plif(), time, &[&spikes.linear(&w1)], &[&v1], &[&tau]);
    let near = [
        first[0].slice(2, 0..7),
        first[0].slice(2, 5..12),
        first[0].slice(2, 13..20),
    ];
    let current = &near[0] * 1.5 + &near[1] * 1.25 - &near[2] * 0.5;
    let second = Var::scan(&plif(), time, &[&current], &[&v2], &[&zero]);
    tracer.output("spikes", &second[0]);
    tracer.output("potentials", &second[2]);
    tracer.update(&v1, &first[1]);
    tracer.update(&v2, &second[1]);
    tracer.finish().unwrap()
}

fn given(seed: u64, shape: &[usize], scale: f64, offset: f64) -> Tensor {
    let values = numbers(shape.iter().product(), seed);
    Tensor::f32(
        shape,
        values
            .iter()
            .map(|x| (x * scale + offset) as f32)
            .collect::<Vec<_>>(),
    )
}

fn load(time: usize) -> Loaded {
    let loaded = Loaded::new(network(time), 2);
    loaded.set("image", &given(1, &[BATCH, 36], 0.5, 0.5));
    loaded.set("w1", &given(2, &[20, 36], 0.4, 0.1));
    loaded.set("tau", &given(4, &[20], 0.7, 0.0));
    loaded
}

fn run(loaded: &mut Loaded, first_step: i64) -> [Vec<f64>; 2] {
    loaded.set("generator", &Tensor::i64([4], [9, 4, first_step, 0]));
    loaded.run();
    ["spikes", "potentials"].map(|name| loaded.get(name).to_f64())
}

#[test]
fn running_step_by_step_gives_the_same_spikes() {
    const TIME: usize = 12;
    let mut whole = load(TIME);
    let [spikes, potentials] = run(&mut whole, 0);
    assert!(spikes.iter().sum::<f64>() > 10.0);
    for length in [1, 3, 4] {
        let mut parts = load(length);
        let (mut s, mut v) = (vec![], vec![]);
        for start in (0..TIME).step_by(length) {
            let [spikes, potentials] = run(&mut parts, start as i64);
            s.extend(spikes);
            v.extend(potentials);
        }
        assert_eq!(s, spikes, "{length} at a time");
        assert_eq!(v, potentials, "{length} at a time");
        for state in ["v1", "v2"] {
            assert_eq!(parts.get(state), whole.get(state));
        }
    }
}
