//! Random draws: the same bits as on the CPU.

use crate::harness::{Near, SUMS, data, gpu, same, same_on, scaled, tensor, thorough};
use spikelet_graph::op::{Distribution, Draw};
use spikelet_graph::{DType, RandomAxes, Tensor};

fn generator() -> Tensor {
    Tensor::i64([4], [0x1234_5678_9abc, 7, 11, 0])
}

fn draw(distribution: Distribution, over_time: bool, shape: &[usize], first_step: u32) -> Draw {
    Draw {
        distribution,
        stream: 5,
        over_time,
        first_step,
        per_image: 0,
        shape: shape.to_vec(),
        dtype: DType::F32,
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn uniform_and_normal_draws_have_the_bits_of_the_cpu_at_every_size() {
    let gpu = gpu();
    for (shape, over_time, first_step) in [
        (vec![], false, 0),
        (vec![1], false, 0),
        (vec![3], true, 0),
        (vec![5], false, 9),
        (vec![3, 5], true, 0),
        (vec![3, 5], true, 4),
        (vec![3, 5], false, 4),
        (vec![4, 8], true, 1),
        (vec![2, 3, 7], true, 0),
        (vec![2, 3, 7], false, 0),
        (vec![0, 4], true, 0),
        (vec![2, 20_001], true, 0),
        (vec![40_003], false, 0),
        (vec![40_004], false, 0),
        (vec![5, 256, 784], true, 2),
    ] {
        same_on(
            &gpu,
            &[("g", generator())],
            |_| Near::Bits,
            |tracer| {
                let g = tracer.input("g", DType::I64, [4]);
                for distribution in [Distribution::Uniform, Distribution::Normal] {
                    let op = draw(distribution, over_time, &shape, first_step);
                    tracer.output(&format!("{distribution:?}"), &tracer.apply1(op, &[&g]));
                }
            },
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn bernoulli_draws_have_the_bits_of_the_cpu_for_every_broadcast_probability() {
    let gpu = gpu();
    for last in [10, 12, 1, 64, 67] {
        let shape = [4, 3, last];
        let probabilities: [&[usize]; 10] = [
            &[4, 3, last],
            &[1, 3, last],
            &[3, last],
            &[last],
            &[3, 1],
            &[4, 1, 1],
            &[4, 1, last],
            &[1, 1, last],
            &[],
            &[1],
        ];
        for of in probabilities {
            let p = scaled(of, 3, 0.8, 0.5);
            for over_time in [true, false] {
                let inputs = [("g", generator()), ("p", p.clone())];
                same_on(
                    &gpu,
                    &inputs,
                    |_| Near::Bits,
                    |tracer| {
                        let g = tracer.input("g", DType::I64, [4]);
                        let p = data(tracer, "p", &p);
                        let op = draw(Distribution::Bernoulli, over_time, &shape, 3);
                        tracer.output("s", &tracer.apply1(op, &[&g, &p]));
                    },
                );
            }
        }
        if !thorough() {
            break;
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn nan_and_probabilities_outside_0_to_1_draw_as_on_the_cpu() {
    let values = [f32::NAN, -1.0, -0.0, 0.0, 1e-40, 1.0, 2.0, f32::INFINITY];
    let p = Tensor::f32([8], values);
    let inputs = [("g", generator()), ("p", p.clone())];
    same(&inputs, Near::Bits, |tracer| {
        let g = tracer.input("g", DType::I64, [4]);
        let p = data(tracer, "p", &p).expand([50, 3, 8]);
        tracer.output("s", &p.bernoulli(&g, RandomAxes::Time));
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_image_drawn_over_time_feeds_a_linear_layer_as_on_the_cpu() {
    // The draw may be bit-packed on one device and not on the other.
    let (image, w) = (scaled(&[6, 196], 4, 0.5, 0.3), tensor(&[40, 196], 5));
    let inputs = [
        ("g", generator()),
        ("image", image.clone()),
        ("w", w.clone()),
    ];
    same(&inputs, SUMS, |tracer| {
        let g = tracer.input("g", DType::I64, [4]);
        let (image, w) = (data(tracer, "image", &image), data(tracer, "w", &w));
        let spikes = image.repeat_over_time(9).bernoulli(&g, RandomAxes::Time);
        let y = spikes.linear(&w);
        tracer.output("y", &y);
        let dw = tracer.gradients(&y.square().sum_all(), &[&w]).remove(0);
        tracer.output("dw", &dw);
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn shards_of_a_batch_draw_as_on_the_cpu() {
    let gpu = gpu();
    for image in [
        vec![],
        vec![1],
        vec![3],
        vec![8],
        vec![5, 4],
        vec![2, 9],
        vec![70],
        vec![784],
    ] {
        for over in [
            RandomAxes::Nothing,
            RandomAxes::Batch,
            RandomAxes::TimeAndBatch,
        ] {
            // Including indices beyond the 32 bits of a group's index.
            for before in [1, 2, 3, 37, 1 << 33] {
                let shape = [&[2, 5][..], &image].concat();
                let inputs = [("g", Tensor::i64([4], [0x1234_5678_9abc, 7, 11, before]))];
                same_on(
                    &gpu,
                    &inputs,
                    |_| Near::Bits,
                    |tracer| {
                        let g = tracer.input("g", DType::I64, [4]);
                        tracer.output("uniform", &g.uniform(shape.clone(), over));
                        tracer.output("normal", &g.normal(shape.clone(), over));
                        let p = tracer.fill(DType::F32, shape.clone(), 0.4);
                        let spikes = p.bernoulli(&g, over);
                        tracer.output("sums", &spikes.sum(&[shape.len() - 1]));
                        tracer.output("spikes", &spikes);
                    },
                );
            }
        }
        if !thorough() && image.len() > 1 {
            break;
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn the_generator_state_is_read_at_every_run() {
    let gpu = gpu();
    let graph = crate::harness::traced(|tracer| {
        let g = tracer.input("g", DType::I64, [4]);
        tracer.output("u", &g.uniform([3, 100], RandomAxes::Time));
    });
    let mut loaded = crate::harness::Loaded::new(graph.clone(), &gpu);
    for step in 0..4 {
        let inputs = [("g", Tensor::i64([4], [1, step, step * 3, 0]))];
        loaded.set_all(&inputs);
        loaded.run();
        let expected = crate::harness::on_cpu(graph.clone(), &inputs).expect("the CPU");
        assert_eq!(loaded.get("u"), expected["u"], "step {step}");
    }
}
