//! Operands that do not fit and constants out of range are errors of the trace.

use crate::losses::support::{Given, Probe, values};
use spikelet_nn::loss::{CrossEntropy, Membrane};
use spikelet_nn::prelude::*;

#[track_caller]
fn assert_refused(shapes: &[&[usize]], expected: &str, build: impl FnOnce(&[Var], &Var) -> Var) {
    let given = shapes.iter().map(|shape| {
        let count = shape.iter().product();
        Given::new(shape.to_vec(), values(count, 3))
    });
    let refused = Probe::new(&given.collect::<Vec<_>>(), &[0, 1], build);
    let message = refused.map(|_| ()).expect_err(expected).to_string();
    assert!(message.contains(expected), "{expected}: {message}");
    assert!(message.contains("help: "), "{message}");
}

#[test]
fn labels_that_do_not_fit_the_scores_are_an_error() {
    let rows = "not a row for each label";
    assert_refused(&[&[3, 4]], rows, |x, y| loss::cross_entropy(&x[0], y));
    assert_refused(&[&[3, 4]], rows, |x, y| loss::mse_one_hot(&x[0], y));
    // Labels as values.
    assert_refused(&[&[2, 4]], "use `mse_one_hot`", |x, y| loss::mse(&x[0], y));
    // A sequence without its mean, and a mean without its sequence.
    assert_refused(&[&[5, 2, 4]], rows, |x, y| loss::cross_entropy(&x[0], y));
    assert_refused(&[&[2, 4]], rows, |x, y| loss::tet(&x[0], y));
    assert_refused(&[&[5, 3, 4]], "[T, N, classes]", |x, y| loss::tet(&x[0], y));
    // Soft targets as labels.
    assert_refused(&[&[2, 4], &[2]], "CrossEntropy::soft", |x, _| {
        loss::cross_entropy(&x[0], &x[1])
    });
}

#[test]
fn targets_of_another_shape_are_not_broadcast() {
    let shapes: &[&[usize]] = &[&[4, 1], &[4]];
    let losses: [fn(&Var, &Var) -> Var; 7] = [
        loss::mse,
        loss::l1,
        |a, b| loss::huber(a, b, 1.0),
        |a, b| loss::smooth_l1(a, b, 1.0),
        |a, b| loss::kl_divergence(a, b, 1.0),
        loss::binary_cross_entropy,
        |a, b| loss::van_rossum(a, b, 1.0),
    ];
    for build in losses {
        assert_refused(shapes, "another shape", |x, _| build(&x[0], &x[1]));
    }
    assert_refused(&[&[2, 4], &[2, 3]], "probability for each", |x, _| {
        CrossEntropy::new().soft(&x[0], &x[1])
    });
}

#[test]
fn constants_out_of_range_are_errors() {
    let two: &[&[usize]] = &[&[2, 4], &[2, 4]];
    let smoothed = |epsilon| CrossEntropy::new().label_smoothing(epsilon);
    assert_refused(two, "label smoothing is 1", |x, y| {
        smoothed(1.0).loss(&x[0], y)
    });
    assert_refused(two, "label smoothing is -0.1", |x, y| {
        smoothed(-0.1).loss(&x[0], y)
    });
    assert_refused(two, "3 class weights for 4 classes", |x, y| {
        CrossEntropy::new().class_weights([1.0; 3]).loss(&x[0], y)
    });
    assert_refused(two, "a class weight is -1", |x, y| {
        let weights = [1.0, -1.0, 1.0, 1.0];
        CrossEntropy::new().class_weights(weights).loss(&x[0], y)
    });
    assert_refused(two, "temperature is 0", |x, _| {
        loss::kl_divergence(&x[0], &x[1], 0.0)
    });
    assert_refused(two, "delta is NaN", |x, _| {
        loss::huber(&x[0], &x[1], f64::NAN)
    });
    assert_refused(two, "beta is -1", |x, _| {
        loss::smooth_l1(&x[0], &x[1], -1.0)
    });
    assert_refused(two, "tau is 0", |x, _| loss::van_rossum(&x[0], &x[1], 0.0));
    assert_refused(two, "lambda is 2", |x, y| {
        loss::regularized_tet(&x[0], y, 2.0, 1.0)
    });
    assert_refused(two, "fan-out is inf", |x, _| {
        loss::synaptic_operations(&x[0], f64::INFINITY)
    });
    assert_refused(&[&[3]], "needs a sequence", |x, y| {
        Membrane::Last.loss(&x[0], y)
    });
}

#[test]
fn a_layer_without_neurons_is_answered_with_the_layers_that_have_some() -> Result<()> {
    let net = Sequential::new()
        .add(Linear::new(4, 8).bias(false))
        .add_named("hidden", Lif::new(2.0))
        .add(Linear::new(8, 2).bias(false))
        .add_named("out", If::new());
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x_seq", DType::F32, [10, 3, 4]);
    cx.trace(&net, x)?;
    assert_eq!(loss::spikes_of(&cx, "hidden")?.shape(), [10, 3, 8]);
    let message = loss::spikes_of(&cx, "fc").expect_err("unknown").to_string();
    assert!(message.contains("hidden, out"), "{message}");
    Ok(())
}
