//! Invalid definitions and wrong calls: each is an error that names the thing.

use super::support::{N, linear_net, numbers, regression, store, train};
use spikelet_data::{Batch, BatchTensor};
use spikelet_nn::{LayerError, RuntimeError};
use spikelet_train::optim::{Clip, Sgd};
use spikelet_train::prelude::*;
use spikelet_train::{Outputs, Step, StepError, metric};

/// The error of compiling a step.
fn refused(step: &Step<'_>) -> Error {
    let mut store = store().expect("a CPU");
    match step.compile(&mut store) {
        Ok(_) => panic!("{step:?} was compiled"),
        Err(error) => error,
    }
}

fn step_error(step: &Step<'_>) -> StepError {
    let error = refused(step);
    let found = error.downcast_ref::<StepError>();
    found
        .unwrap_or_else(|| panic!("another error: {error}"))
        .clone()
}

#[test]
fn settings_outside_their_domain_are_refused() {
    let net = linear_net();
    let ready = || regression(&net, N).optimizer(Sgd::new(0.1));
    for (step, setting) in [
        (ready().batch_size(0), "the batch size"),
        (ready().accumulate(0), "the number of accumulated batches"),
        (ready().ema(1.0), "the decay of the average"),
        (ready().ema(-0.1), "the decay of the average"),
        (ready().optimizer(Sgd::new(-1.0)), "the learning rate"),
        (ready().optimizer(Sgd::new(f64::NAN)), "the learning rate"),
    ] {
        match step_error(&step) {
            StepError::Setting { setting: found, .. } => assert_eq!(found, setting),
            other => panic!("{other}"),
        }
    }
    let clipped = refused(&ready().clip(Clip::Norm(0.0)));
    assert!(matches!(clipped, Error::Invalid { .. }), "{clipped}");
}

#[test]
fn patterns_must_match_and_all_parameters_need_an_optimizer() {
    let net = linear_net();
    let bare = || regression(&net, N);
    let expect = |step: Step<'_>| step_error(&step);
    assert!(matches!(
        expect(bare()),
        StepError::NoOptimizer { parameters } if parameters.len() == 3
    ));
    assert!(matches!(
        expect(bare().group("first.*", Sgd::new(0.1))),
        StepError::NoOptimizer { parameters } if parameters == ["second.weight", "second.bias"]
    ));
    let ready = || bare().optimizer(Sgd::new(0.1));
    for step in [
        ready().freeze("frist.*"),
        ready().group("third.*", Sgd::new(0.1)),
        ready().read_gradients("third.*"),
        ready().read_activations("lif.*"),
    ] {
        assert!(
            matches!(expect(step), StepError::NoMatch { names, .. } if names.len() == 3 || names.is_empty())
        );
    }
    assert!(matches!(
        expect(ready().freeze("[first")),
        StepError::Pattern { .. }
    ));
    assert!(matches!(
        expect(ready().freeze("*")),
        StepError::NothingTrained { parameters } if parameters.len() == 3
    ));
}

#[test]
fn the_function_must_return_a_scalar_loss_of_known_inputs() {
    let net = linear_net();
    let step = |function: fn(&Sequential, &Context, &spikelet_train::Inputs) -> Result<Outputs>| {
        let net = &net;
        Step::new(move |cx, inputs| function(net, cx, inputs))
            .batch_size(N)
            .input("x", DType::F32, [3])
            .optimizer(Sgd::new(0.1))
    };
    let vector = step(|net, cx, inputs| {
        Ok(net
            .forward(cx, &inputs["x"].repeat_over_time(1))?
            .mean(&[0])
            .into())
    });
    assert!(matches!(step_error(&vector), StepError::LossShape { .. }));
    let unknown = step(|net, cx, inputs| {
        Ok(net
            .forward(cx, &inputs["X"].repeat_over_time(1))?
            .mean_all()
            .into())
    });
    let error = refused(&unknown);
    assert!(
        matches!(error, Error::Graph(spikelet_graph::Error::Name { .. })),
        "{error}"
    );
    let unknown = step(|net, cx, inputs| Ok(net.forward(cx, inputs.get("X")?)?.mean_all().into()));
    assert!(matches!(
        step_error(&unknown),
        StepError::UnknownInput { .. }
    ));
    let matrix = step(|net, cx, inputs| {
        let y = net.forward(cx, &inputs["x"].repeat_over_time(1))?;
        let sums = metric::Metric::new(y.mean(&[0]), |sums, _| sums[0]);
        Ok(Outputs::loss(y.mean_all()).metric("matrix", sums))
    });
    assert!(matches!(step_error(&matrix), StepError::MetricShape { .. }));
    let twice = step(|net, cx, inputs| {
        let y = net
            .forward(cx, &inputs["x"].repeat_over_time(1))?
            .mean_all();
        Ok(Outputs::loss(&y).metric("y", &y).metric("y", &y))
    });
    assert!(matches!(step_error(&twice), StepError::MetricName { .. }));
    let loss = step(|net, cx, inputs| {
        let y = net
            .forward(cx, &inputs["x"].repeat_over_time(1))?
            .mean_all();
        Ok(Outputs::loss(&y).metric("loss", &y))
    });
    assert!(matches!(step_error(&loss), StepError::MetricName { .. }));
    let layer = step(|_, cx, inputs| {
        let wrong = Linear::new(7, 2).bias(false);
        Ok(wrong
            .forward(cx, &inputs["x"].repeat_over_time(1))?
            .mean_all()
            .into())
    });
    let error = refused(&layer);
    assert!(error.downcast_ref::<LayerError>().is_some(), "{error}");
}

#[test]
fn two_inputs_of_one_name_are_refused() {
    let net = linear_net();
    let step = regression(&net, N).optimizer(Sgd::new(0.1));
    let error = refused(&step.input("x", DType::F32, [1]));
    assert!(
        matches!(error, Error::Graph(spikelet_graph::Error::Name { .. })),
        "{error}"
    );
}

#[test]
fn wrong_values_are_refused() -> Result<()> {
    let net = linear_net();
    let mut store = store()?;
    let mut step = regression(&net, N)
        .optimizer(Sgd::new(0.1))
        .compile(&mut store)?;
    assert!(step.output("y").is_err(), "it has not run");
    let x = numbers(1, N * 3);
    let target = numbers(2, N);
    let missing = step.run([("x", &x)]).expect_err("no target");
    assert!(matches!(
        missing.downcast_ref(),
        Some(StepError::MissingInputs { names }) if names == &["target"]
    ));
    let unknown = step
        .run((("x", &x), ("y", &target)))
        .expect_err("no such input");
    assert!(matches!(
        unknown.downcast_ref(),
        Some(RuntimeError::UnknownTensor { .. })
    ));
    let short = step
        .run((("x", &x[1..]), ("target", &target)))
        .expect_err("too few elements");
    assert!(matches!(
        short.downcast_ref(),
        Some(RuntimeError::InputType { .. })
    ));
    assert_eq!(step.step(), 0, "a refused batch is no step");
    for (name, known) in [("second.weight", "gradient"), ("second", "gradient")] {
        let error = step.gradient(name).expect_err(known);
        assert!(matches!(
            error.downcast_ref(),
            Some(StepError::Unknown { .. })
        ));
    }
    assert!(step.activation("lif.spike_seq").is_err());
    let error = step.averaged(&store).expect_err("it keeps none");
    assert_eq!(error.downcast_ref(), Some(&StepError::NoAverages));
    train(&mut step, 0)?;
    Ok(())
}

#[test]
fn a_batch_must_have_the_inputs() -> Result<()> {
    let net = linear_net();
    let mut store = store()?;
    let mut step = regression(&net, N)
        .optimizer(Sgd::new(0.1))
        .compile(&mut store)?;
    let x = || BatchTensor::f32(&[N, 3], numbers(1, 3 * N));
    let target = || BatchTensor::f32(&[N, 1], numbers(2, N));
    let batch = || Batch::new((0..N as u32).collect());
    let error = step
        .run_batch(&batch().with("x", x()))
        .expect_err("no target");
    assert!(
        matches!(error.downcast_ref(), Some(StepError::NotInBatch { .. })),
        "{error}"
    );
    let flat = BatchTensor::f32(&[N], numbers(2, N));
    let error = step.run_batch(&batch().with("x", x()).with("target", flat));
    let error = error.expect_err("another shape");
    assert!(
        matches!(error.downcast_ref(), Some(StepError::BatchTensor { .. })),
        "{error}"
    );
    let integers = BatchTensor::i64(&[N, 1], vec![0; N]);
    let error = step.run_batch(&batch().with("x", x()).with("target", integers));
    assert!(matches!(
        error.expect_err("integers").downcast_ref(),
        Some(StepError::BatchTensor { .. })
    ));
    // Bytes become numbers; tensors that the step does not read are left out.
    let bytes = BatchTensor::u8(&[N, 1], vec![1, 0, 2, 1]);
    let batch = batch()
        .with("x", x())
        .with("target", bytes)
        .with("other", target());
    step.run_batch(&batch)?;
    Ok(())
}

#[test]
fn labels_outside_the_classes_are_refused() -> Result<()> {
    let net = Sequential::new().add(Linear::new(3, 4).bias(false));
    let mut store = store()?;
    let mut step = Step::new(|cx, inputs| {
        let scores = net
            .forward(cx, &inputs["x"].repeat_over_time(1))?
            .mean(&[0]);
        Ok(loss::cross_entropy(&scores, &inputs["labels"]))
    })
    .batch_size(1)
    .input("x", DType::F32, [3])
    .input("labels", DType::I64, [])
    .optimizer(Sgd::new(0.1))
    .compile(&mut store)?;
    for label in [-1, 4] {
        let error = step
            .run((("x", &[0.0; 3]), ("labels", &[label])))
            .expect_err("no such class");
        assert!(
            matches!(error.downcast_ref(), Some(RuntimeError::Label { .. })),
            "{error}"
        );
    }
    Ok(())
}

#[test]
fn a_prediction_needs_outputs() -> Result<()> {
    let net = linear_net();
    let mut store = store()?;
    let step = Step::new(|cx, inputs| {
        Ok(net
            .forward(cx, &inputs["x"].repeat_over_time(1))?
            .mean_all())
    })
    .input("x", DType::F32, [3]);
    let error = step.compile_predict(&mut store).expect_err("no outputs");
    assert_eq!(error.downcast_ref(), Some(&StepError::NoOutputs));
    Ok(())
}
