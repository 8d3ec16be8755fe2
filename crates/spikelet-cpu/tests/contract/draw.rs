//! Random draws against their definition, element by element.

use crate::harness::{Loaded, check_gradients, compute, tensor};
use spikelet_graph::op::{Distribution, Draw};
use spikelet_graph::{DType, RandomAxes, Tensor, Tracer, Var};
use spikelet_random::Stream;

const SEED: i64 = 0x1234_5678_9abc;
const STEP: i64 = 7;

fn generator(time: i64) -> Tensor {
    Tensor::i64([4], [SEED, STEP, time, 0])
}

fn stream(id: u32) -> Stream {
    Stream {
        seed: SEED as u64,
        id,
        step: STEP as u32,
    }
}

fn draw(distribution: Distribution, over_time: bool, shape: &[usize], dtype: DType) -> Draw {
    Draw {
        distribution,
        stream: 5,
        over_time,
        first_step: 0,
        per_image: 0,
        shape: shape.to_vec(),
        dtype,
    }
}

/// The definition: (time, element) of every element, then the scalar function.
fn expected(
    shape: &[usize],
    over_time: bool,
    time: u32,
    f: impl Fn(u32, u64, usize) -> f64,
) -> Vec<f64> {
    let count: usize = shape.iter().product();
    let step = if over_time { count / shape[0] } else { count };
    let first = if over_time { time } else { 0 };
    (0..count)
        .map(|i| f(first + (i / step) as u32, (i % step) as u64, i))
        .collect()
}

#[test]
fn a_draw_that_begins_at_a_later_step_is_the_rest_of_the_whole() {
    let inputs = [generator(11)];
    let run = |op: Draw| compute(&inputs, |tracer, x| tracer.apply1(op.clone(), &[&x[0]])).to_f64();
    let whole = run(draw(Distribution::Uniform, true, &[4, 5], DType::F32));
    let later = Draw {
        first_step: 3,
        ..draw(Distribution::Uniform, true, &[1, 5], DType::F32)
    };
    assert_eq!(run(later), whole[15..]);
    // A draw that is the same at all steps does not depend on the step.
    let mask = draw(Distribution::Uniform, false, &[5], DType::F32);
    let later = Draw {
        first_step: 3,
        ..mask.clone()
    };
    assert_eq!(run(later), run(mask));
}

/// Draws of some images of a batch, `before` of which went before.
fn of_images(over: RandomAxes, image: &[usize], before: i64, count: usize) -> Vec<Tensor> {
    let time = matches!(over, RandomAxes::Time | RandomAxes::TimeAndBatch).then_some(2);
    let shape: Vec<usize> = (time.into_iter().chain([count]))
        .chain(image.iter().copied())
        .collect();
    let inputs = [
        Tensor::i64([4], [SEED, STEP, 11, before]),
        Tensor::f32(image, vec![0.4; image.iter().product()]),
    ];
    (0..3)
        .map(|kind| {
            compute(&inputs, |_, x| match kind {
                0 => x[0].uniform(shape.clone(), over),
                1 => x[0].normal(shape.clone(), over),
                _ => x[1].expand(shape.clone()).bernoulli(&x[0], over),
            })
        })
        .collect()
}

/// Images `range` of what was drawn for a batch.
fn images(whole: &Tensor, axis: usize, range: std::ops::Range<usize>) -> Vec<f64> {
    let values = whole.to_f64();
    let inner: usize = whole.shape[axis + 1..].iter().product();
    let outer: usize = whole.shape[..axis].iter().product();
    let count = whole.shape[axis];
    let parts = (0..outer).flat_map(|o| range.clone().map(move |n| (o * count + n) * inner));
    parts
        .flat_map(|start| values[start..start + inner].to_vec())
        .collect()
}

#[test]
fn a_part_of_a_batch_draws_what_the_whole_batch_draws() {
    for image in [
        vec![],
        vec![1],
        vec![3],
        vec![8],
        vec![5, 4],
        vec![2, 9],
        vec![70],
    ] {
        for (over, axis) in [(RandomAxes::Batch, 0), (RandomAxes::TimeAndBatch, 1)] {
            let whole = of_images(over, &image, 0, 6);
            for (first, end) in [(0, 2), (1, 6), (3, 4), (5, 6)] {
                let part = of_images(over, &image, first as i64, end - first);
                for (part, whole) in part.iter().zip(&whole) {
                    let expected = images(whole, axis, first..end);
                    assert_eq!(part.to_f64(), expected, "{image:?} {over:?} from {first}");
                }
            }
        }
    }
}

#[test]
fn draws_that_are_not_of_images_are_the_same_in_every_part() {
    for over in [RandomAxes::Nothing, RandomAxes::Time] {
        assert_eq!(of_images(over, &[7], 0, 5), of_images(over, &[7], 3, 5));
    }
}

#[test]
fn uniform_and_normal_draws_follow_the_table() {
    for (shape, over_time) in [
        (vec![3, 5], true),
        (vec![3, 5], false),
        (vec![2, 3, 7], true),
        (vec![1], false),
        (vec![3], true),
        (vec![], false),
        (vec![2, 20_001], true),
        (vec![40_003], false),
    ] {
        for dtype in [DType::F32, DType::F64] {
            let inputs = [
                generator(11),
                Tensor::zeros(&spikelet_graph::TensorType::new(dtype, [])).unwrap(),
            ];
            let run = |distribution| {
                let op = draw(distribution, over_time, &shape, dtype);
                compute(&inputs, |tracer, x| tracer.apply1(op.clone(), &[&x[0]])).to_f64()
            };
            let s = stream(5);
            let uniform = expected(&shape, over_time, 11, |t, e, _| f64::from(s.uniform(t, e)));
            assert_eq!(run(Distribution::Uniform), uniform);
            let normal = expected(&shape, over_time, 11, |t, e, _| f64::from(s.normal(t, e)));
            assert_eq!(run(Distribution::Normal), normal);
        }
    }
}

/// Probabilities with zeros, ones and values between.
fn probabilities(shape: &[usize], seed: u64) -> Tensor {
    let values = tensor(shape, seed).to_f64();
    Tensor::f64(
        shape,
        values
            .iter()
            .map(|p| (p * 2.0).clamp(0.0, 1.0))
            .collect::<Vec<_>>(),
    )
}

fn bernoulli(p: &Tensor, shape: &[usize], over_time: bool) -> Vec<f64> {
    let values = p.to_f64();
    expected(shape, over_time, 11, |t, e, i| {
        let at = crate::harness::index(i, shape);
        let p = crate::harness::broadcast_at(&values, &p.shape, &at);
        f64::from(stream(5).bernoulli(t, e, p as f32))
    })
}

#[test]
fn bernoulli_draws_compare_with_every_broadcast_probability() {
    let shape = [4, 3, 10];
    for p in [
        vec![4, 3, 10],
        vec![1, 3, 10],
        vec![3, 10],
        vec![10],
        vec![3, 1],
        vec![4, 1, 1],
        vec![4, 1, 10],
        vec![1, 1, 10],
        vec![],
        vec![1],
    ] {
        for over_time in [true, false] {
            for dtype in [DType::F32, DType::F64] {
                let op = draw(Distribution::Bernoulli, over_time, &shape, dtype);
                let p = probabilities(&p, 3).cast(dtype);
                let got = compute(&[generator(11), p.clone()], |tracer, x| {
                    tracer.apply1(op.clone(), &[&x[0], &x[1]])
                });
                assert_eq!(
                    got.to_f64(),
                    bernoulli(&p, &shape, over_time),
                    "{:?} {over_time}",
                    p.shape
                );
            }
        }
    }
}

#[test]
fn an_image_that_is_shown_at_every_step_is_never_repeated() {
    let tracer = Tracer::new(DType::F32);
    let image = tracer.input("image", DType::F32, [3, 12]);
    let generator_state = tracer.input("generator", DType::I64, [4]);
    let spikes = image
        .repeat_over_time(5)
        .bernoulli(&generator_state, RandomAxes::Time);
    tracer.output("spikes", &spikes);
    let mut loaded = Loaded::new(tracer.finish().unwrap(), 2);
    let p = probabilities(&[3, 12], 2);
    loaded.set("image", &p.cast(DType::F32));
    loaded.set("generator", &generator(11));
    loaded.run();
    let values = p.cast(DType::F32).to_f64();
    let s = stream(0);
    let want = expected(&[5, 3, 12], true, 11, |t, e, _| {
        f64::from(s.bernoulli(t, e, values[e as usize] as f32))
    });
    assert_eq!(loaded.get("spikes").to_f64(), want);
    assert_eq!(loaded.plan.kernels.len(), 1, "{}", loaded.plan);
}

/// `linear(bernoulli(p), w)` in one plan: spikes as bits on the CPU.
fn through_bits(shape: &[usize], p: &Tensor, over_time: bool) {
    let features = *shape.last().unwrap();
    let tracer = Tracer::new(DType::F32);
    let given = tracer.input("p", DType::F32, p.shape.clone());
    let state = tracer.input("generator", DType::I64, [4]);
    let op = draw(Distribution::Bernoulli, over_time, shape, DType::F32);
    let spikes = tracer.apply1(op, &[&state, &given]);
    let eye = tracer.parameter("eye", [features, features]);
    tracer.output("y", &spikes.linear(&eye));
    let mut loaded = Loaded::new(tracer.finish().unwrap(), 2);
    let is_bits = features.is_multiple_of(4);
    let text = loaded.plan.graph.to_string();
    assert_eq!(text.contains("bits["), is_bits, "{text}");
    let mut identity = vec![0.0_f32; features * features];
    (0..features).for_each(|k| identity[k * features + k] = 1.0);
    loaded.set("eye", &Tensor::f32([features, features], identity));
    loaded.set("p", &p.cast(DType::F32));
    loaded.set("generator", &generator(11));
    loaded.run();
    let got = loaded.get("y");
    assert_eq!(got.shape, shape);
    assert_eq!(
        got.to_f64(),
        bernoulli(&p.cast(DType::F32), shape, over_time),
        "{shape:?} {:?}",
        p.shape
    );
}

#[test]
fn spikes_that_travel_as_bits_are_the_same_spikes() {
    for features in [4, 10, 64, 68, 132] {
        let shape = [3, 5, features];
        for p in [
            vec![3, 5, features],
            vec![1, 5, features],
            vec![5, features],
            vec![features],
            vec![],
            vec![5, 1],
        ] {
            through_bits(&shape, &probabilities(&p, 4), true);
            through_bits(&shape, &probabilities(&p, 4), false);
        }
        through_bits(&[7, features], &probabilities(&[7, features], 5), true);
        through_bits(&[7, features], &probabilities(&[1, features], 5), true);
    }
}

#[test]
fn spikes_of_a_part_of_a_batch_travel_as_bits_too() {
    for (features, before) in [(68, 3), (10, 1), (4, 5)] {
        let drawn = |count: usize, before: i64| {
            let tracer = Tracer::new(DType::F32);
            let state = tracer.input("generator", DType::I64, [4]);
            let p = tracer.fill(DType::F32, [2, count, features], 0.5);
            let spikes = p.bernoulli(&state, RandomAxes::TimeAndBatch);
            tracer.output(
                "y",
                &spikes.linear(&tracer.parameter("eye", [features, features])),
            );
            let mut loaded = Loaded::new(tracer.finish().unwrap(), 2);
            let text = loaded.plan.graph.to_string();
            assert_eq!(text.contains("bits["), features % 4 == 0, "{text}");
            let mut identity = vec![0.0_f32; features * features];
            (0..features).for_each(|k| identity[k * features + k] = 1.0);
            loaded.set("eye", &Tensor::f32([features, features], identity));
            loaded.set("generator", &Tensor::i64([4], [SEED, STEP, 0, before]));
            loaded.run();
            loaded.get("y")
        };
        let whole = drawn(8, 0);
        let rest = drawn(8 - before, before as i64);
        assert_eq!(rest.to_f64(), images(&whole, 1, before..8), "{features}");
    }
}

#[test]
fn a_reshape_after_the_draw_does_not_change_what_is_drawn() {
    for shown in [vec![4, 2, 6, 8], vec![1, 2, 6, 8]] {
        let p = probabilities(&shown, 6);
        let tracer = Tracer::new(DType::F32);
        let given = tracer.input("p", DType::F32, shown.clone());
        let state = tracer.input("generator", DType::I64, [4]);
        let op = draw(Distribution::Bernoulli, true, &[4, 2, 6, 8], DType::F32);
        let spikes: Var = tracer.apply1(op, &[&state, &given]);
        let eye = tracer.parameter("eye", [48, 48]);
        tracer.output("y", &spikes.flatten(2).linear(&eye));
        let mut loaded = Loaded::new(tracer.finish().unwrap(), 2);
        assert!(
            loaded.plan.graph.to_string().contains("bits["),
            "{}",
            loaded.plan
        );
        let mut identity = vec![0.0_f32; 48 * 48];
        (0..48).for_each(|k| identity[k * 48 + k] = 1.0);
        loaded.set("eye", &Tensor::f32([48, 48], identity));
        loaded.set("p", &p.cast(DType::F32));
        loaded.set("generator", &generator(11));
        loaded.run();
        assert_eq!(
            loaded.get("y").to_f64(),
            bernoulli(&p.cast(DType::F32), &[4, 2, 6, 8], true)
        );
    }
}

#[test]
fn empty_draws_are_empty() {
    for shape in [[3, 0], [0, 4]] {
        let op = draw(Distribution::Bernoulli, true, &shape, DType::F32);
        let inputs = [
            generator(0),
            tensor(&shape, 1).cast(DType::F32),
            tensor(&[2, shape[1]], 1).cast(DType::F32),
        ];
        let got = compute(&inputs, |tracer, x| {
            tracer.apply1(op.clone(), &[&x[0], &x[1]]).linear(&x[2])
        });
        assert_eq!(got.to_f64(), vec![0.0; shape[0] * 2]);
    }
}

#[test]
fn gradients_pass_straight_through_to_the_probability() {
    let p = probabilities(&[1, 3], 3);
    let got = compute(&[generator(0), p], |tracer, x| {
        let drawn = tracer.apply1(
            draw(Distribution::Bernoulli, true, &[4, 3], DType::F64),
            &[&x[0], &x[1]],
        );
        tracer
            .gradients(&(drawn * 2.0).sum_all(), &[&x[1]])
            .remove(0)
    });
    assert_eq!(got, Tensor::f64([1, 3], [8.0; 3]));
    check_gradients(&[generator(0), tensor(&[4], 1)], |_, x| {
        x[0].normal([3, 4], RandomAxes::Time) * &x[1]
    });
}
