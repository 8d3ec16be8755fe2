//! Programs and networks that were given what does not fit say so, and name it.

use spikelet::data::{Split, synthetic};
use spikelet::graph::op::HostTensor;
use spikelet::prelude::*;
use spikelet::train::{BatchShape, EvalStep, TrainStep, evaluate};
use spikelet::{device, loss};

/// What an [`Error::Invalid`] is about, and what is wrong with it.
#[track_caller]
fn invalid<T>(result: Result<T>) -> (String, String) {
    match result.err() {
        Some(Error::Invalid { what, problem, .. }) => (what, problem),
        Some(other) => panic!("another error: {other}"),
        None => panic!("it was accepted"),
    }
}

fn digits() -> Split {
    synthetic::digits_of(0, 64, 32)
}

fn classifier(outputs: usize) -> Sequential {
    let flat = Sequential::new().add(Flatten);
    flat.add(Linear::new(784, outputs)).add(Lif::new(2.0))
}

fn settings() -> Settings {
    Settings {
        time_steps: 2,
        batch_size: 32,
        epochs: 1,
        ..Settings::default()
    }
}

#[test]
fn a_network_has_one_score_for_each_class() -> Result<()> {
    for outputs in [3, 20] {
        let expected = format!("it gives each image {outputs} scores, digits has 10 classes");
        let data = digits();
        let name = data.test.name.clone();
        let expected = expected.replace("digits", &name);
        let refused = Trainer::new(classifier(outputs), settings()).fit(&data);
        assert_eq!(invalid(refused), ("network".to_string(), expected.clone()));
        let mut store = VarStore::new(device::cpu()?);
        let refused = evaluate(&classifier(outputs), &settings(), &data.test, &mut store);
        assert_eq!(invalid(refused), ("network".to_string(), expected));
    }
    Ok(())
}

#[test]
fn a_label_outside_the_scores_is_refused_by_the_step_that_is_given_it() -> Result<()> {
    use spikelet::data::{Loader, LoaderConfig};
    let shape = BatchShape {
        batch: 32,
        image: [1, 28, 28],
    };
    let mut store = VarStore::new(device::cpu()?);
    let mut step = TrainStep::new(&classifier(3), &settings(), shape, &mut store)?;
    let mut eval = EvalStep::new(&classifier(3), &settings(), shape, false, &mut store)?;
    let batches = LoaderConfig {
        batch_size: 32,
        ..LoaderConfig::default()
    };
    let loader = Loader::new(digits().test, batches)?;
    let batch = loader.epoch(0, 0).next().expect("there is one");
    assert!(batch.labels.iter().any(|label| *label > 2));
    for refused in [step.run(&batch, 1, 0.0), eval.run(&batch, 0)] {
        let (what, problem) = invalid(refused);
        assert_eq!(what, "input `labels`");
        assert!(
            problem.ends_with("is outside the 3 scores of the network"),
            "{problem}"
        );
    }
    Ok(())
}

#[test]
fn scores_are_a_row_for_each_label() {
    for apply in [loss::cross_entropy, loss::mse] {
        let tracer = Tracer::new(DType::F32);
        let scores = tracer.input("scores", DType::F32, [4, 3, 1, 1]);
        let labels = tracer.input("labels", DType::I64, [4]);
        let _ = apply(&scores, &labels);
        let error = tracer.check().expect_err("refused");
        let spikelet::graph::Error::Shape {
            operation, given, ..
        } = error
        else {
            panic!("another error: {error}");
        };
        assert_eq!(operation, "loss");
        assert_eq!(given, "scores f32[4, 3, 1, 1] and labels i64[4]");
    }
}

/// A linear layer for sequences `[2, 1, 3]`.
fn linear(store: &mut VarStore, initialize: bool) -> Result<Program> {
    let cx = Context::new(Mode::EVAL, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [2, 1, 3]);
    let y = cx.trace(&Linear::new(3, 2), x)?;
    cx.tracer().output("y", &y);
    if initialize {
        store.initialize(&cx.traced(), DType::F32, 0)?;
    }
    Program::new(cx.tracer().finish()?, store)
}

#[test]
fn a_program_wants_its_parameters() -> Result<()> {
    let mut store = VarStore::new(device::cpu()?);
    let refused = invalid(linear(&mut store, false));
    let expected = ("parameter `weight`", "the store has no values for it");
    assert_eq!((&*refused.0, &*refused.1), expected);
    linear(&mut store, true).map(|_| ())
}

#[test]
fn a_program_wants_its_inputs_and_runs_before_it_is_read() -> Result<()> {
    let mut store = VarStore::new(device::cpu()?);
    let mut program = linear(&mut store, true)?;
    let not_set = (
        "input `x`".to_string(),
        "it is f32[2, 1, 3] and was never set".to_string(),
    );
    assert_eq!(invalid(program.run()), not_set);
    assert_eq!(invalid(program.profile()), not_set);
    let early = "the program has not run yet".to_string();
    assert_eq!(
        invalid(program.get("y")),
        ("output `y`".to_string(), early.clone())
    );
    assert_eq!(invalid(program.fetch(&["y"])).1, early);
    program.set("x", HostTensor::F32(&[1.0; 6]))?;
    assert_eq!(invalid(program.get("y")).1, early);
    program.run()?;
    assert_eq!(program.get("y")?.shape, [2, 1, 2]);
    // What was set stays.
    program.run()
}

#[test]
fn an_input_of_another_size_or_type_is_named() -> Result<()> {
    let mut store = VarStore::new(device::cpu()?);
    let program = linear(&mut store, true)?;
    let (what, problem) = invalid(program.set("x", HostTensor::F32(&[1.0; 5])));
    assert_eq!(what, "input `x`");
    assert_eq!(
        problem,
        "it is f32[2, 1, 3], 6 elements; 5 elements of f32 were given"
    );
    let (what, problem) = invalid(program.set("x", HostTensor::F64(&[1.0; 6])));
    assert_eq!(what, "input `x`");
    assert!(
        problem.ends_with("6 elements of f64 were given"),
        "{problem}"
    );
    Ok(())
}

#[test]
fn a_store_sets_what_it_has_and_adds_what_it_is_told_to() -> Result<()> {
    let mut store = VarStore::new(device::cpu()?);
    linear(&mut store, true)?;
    let weight = Tensor::f32([2, 3], [1.0; 6]);
    assert_eq!(invalid(store.set("wieght", &weight)).0, "tensor `wieght`");
    assert!(store.ty("wieght").is_none());
    store.set("weight", &weight)?;
    store.insert("other", &weight)?;
    assert_eq!(store.get("other")?, store.get("weight")?);
    for set in [VarStore::set, VarStore::insert] {
        let refused = set(&mut store, "weight", &Tensor::f32([3, 2], [1.0; 6]));
        let Err(Error::Graph(spikelet::graph::Error::Type { name, .. })) = refused else {
            panic!("it was accepted, or for another reason");
        };
        assert_eq!(name, "weight");
    }
    Ok(())
}

fn traced(module: &dyn Module, shape: &[usize]) -> Result<Var> {
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x", DType::F32, shape);
    cx.trace(module, x)
}

#[test]
fn two_modules_of_one_name_are_refused() {
    let named = |a: &str, b: &str| {
        let net = Sequential::new().add_named(a, Linear::new(7, 7));
        net.add_named(b, Linear::new(7, 7))
    };
    let by_place = Sequential::new().add_named("1", Linear::new(7, 7));
    for net in [named("a", "a"), by_place.add(Linear::new(7, 7))] {
        let (what, problem) = invalid(traced(&net, &[4, 2, 7]));
        assert_eq!(what, "sequential");
        assert!(problem.starts_with("two modules are called `"), "{problem}");
    }
    assert!(traced(&named("a", "b"), &[4, 2, 7]).is_ok());
}

#[test]
fn a_module_without_a_path_is_called_by_its_kind_alone() {
    assert_eq!(invalid(traced(&Lif::new(2.0), &[7])).0, "lif");
    assert_eq!(invalid(traced(&Linear::new(3, 2), &[4, 2, 7])).0, "linear");
    let inside = Sequential::new().add(Linear::new(3, 2));
    assert_eq!(invalid(traced(&inside, &[4, 2, 7])).0, "linear `0`");
}

#[test]
fn adaptive_pooling_has_no_stride() {
    let shape = [4, 2, 3, 8, 8];
    let pools = [
        (Pool2d::average_to(2).stride(2), "stride"),
        (Pool2d::max_to(2).padding(1), "padding"),
        (Pool2d::max_to(2).dilation(2), "dilation"),
        (Pool2d::max_to(2).ceil(true), "ceil"),
        (Pool2d::max(2).count_padding(false), "count_padding"),
    ];
    for (pool, what) in pools {
        let expected = format!("`{what}` was set, which this kind of pooling does not have");
        assert_eq!(
            invalid(traced(&pool, &shape)),
            ("pooling".to_string(), expected)
        );
    }
    assert!(traced(&Pool2d::average(2).stride(1), &shape).is_ok());
}
