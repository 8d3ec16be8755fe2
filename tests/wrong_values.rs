//! Programs and networks that were given what does not fit say so, and name it.

use spikelet::data::{Split, synthetic};
use spikelet::graph::op::HostTensor;
use spikelet::prelude::*;
use spikelet::train::{BatchShape, Step, TrainError, evaluate};
use spikelet::{LayerError, LayerProblem, RuntimeError, device, loss};

/// The error of type `E` of a call.
#[track_caller]
fn refused<E: std::error::Error + 'static, T>(result: Result<T>) -> E {
    match result.map(|_| ()).expect_err("it was accepted").downcast() {
        Ok(error) => error,
        Err(other) => panic!("another error: {other}"),
    }
}

fn digits() -> Split {
    synthetic::digits_of(0, 64, 32)
}

fn classifier(outputs: usize) -> Sequential {
    let flat = Sequential::new().add(Flatten);
    flat.add(Linear::new(784, outputs).bias(false))
        .add(Lif::new(2.0))
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
        let data = digits();
        let mut store = VarStore::new(device::cpu()?);
        let trained = Trainer::new(classifier(outputs), settings()).fit(&data);
        let evaluated = evaluate(&classifier(outputs), &settings(), &data.test, &mut store);
        for error in [refused(trained), refused(evaluated)] {
            let TrainError::Classes {
                scores,
                dataset,
                classes,
            } = error
            else {
                panic!("another error: {error}");
            };
            assert_eq!(
                (scores, dataset, classes),
                (outputs, data.test.name().to_string(), 10)
            );
        }
    }
    Ok(())
}

#[test]
fn a_label_outside_the_scores_is_refused_by_the_step_that_is_given_it() -> Result<()> {
    use spikelet::data::{DataLoader, LoaderConfig};
    let shape = BatchShape {
        batch: 32,
        image: [1, 28, 28],
    };
    let mut store = VarStore::new(device::cpu()?);
    let mut step = Step::classifier(&classifier(3), &settings(), shape)?.compile(&mut store)?;
    let mut eval =
        Step::classifier(&classifier(3), &settings(), shape)?.compile_eval(&mut store)?;
    let batches = LoaderConfig {
        batch_size: 32,
        ..LoaderConfig::default()
    };
    let loader = DataLoader::new(digits().test, batches)?;
    let batch = loader.epoch(0, 0).next().expect("there is one")?;
    assert!(batch.i64("labels")?.iter().any(|label| *label > 2));
    for result in [step.run_batch(&batch), eval.run_batch(&batch)] {
        let error = refused(result);
        assert!(
            matches!(&error, RuntimeError::Label { name, label: 3.., classes: 3 } if name == "labels"),
            "{error}"
        );
    }
    Ok(())
}

#[test]
fn scores_are_a_row_for_each_label() {
    for apply in [loss::cross_entropy, loss::mse_one_hot] {
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
    let y = cx.trace(&Linear::new(3, 2).bias(false), x)?;
    cx.tracer().output("y", &y);
    if initialize {
        store.initialize(&cx.traced(), DType::F32, 0)?;
    }
    Program::new(cx.tracer().finish()?, store)
}

#[test]
fn a_program_wants_its_parameters() -> Result<()> {
    let mut store = VarStore::new(device::cpu()?);
    let error = refused(linear(&mut store, false));
    assert!(
        matches!(&error, RuntimeError::MissingParameter { name } if name == "weight"),
        "{error}"
    );
    linear(&mut store, true).map(|_| ())
}

#[test]
fn a_program_wants_its_inputs_and_runs_before_it_is_read() -> Result<()> {
    let mut store = VarStore::new(device::cpu()?);
    let mut program = linear(&mut store, true)?;
    for error in [refused(program.run()), refused(program.profile())] {
        assert!(
            matches!(&error, RuntimeError::InputNotSet { name, expected } if name == "x" && expected.shape == [2, 1, 3]),
            "{error}"
        );
    }
    let early = [refused(program.get("y")), refused(program.fetch(&["y"]))];
    program.set("x", &[1.0; 6])?;
    for error in early.into_iter().chain([refused(program.get("y"))]) {
        assert!(
            matches!(&error, RuntimeError::NotRun { name } if name == "y"),
            "{error}"
        );
    }
    program.run()?;
    assert_eq!(program.get("y")?.shape, [2, 1, 2]);
    // The value that was set is unchanged.
    program.run()
}

#[test]
fn an_input_of_another_size_or_type_is_named() -> Result<()> {
    let mut store = VarStore::new(device::cpu()?);
    let program = linear(&mut store, true)?;
    let short = refused(program.set("x", &[1.0; 5]));
    let other = refused(program.set("x", HostTensor::F64(&[1.0; 6])));
    for (error, given) in [(short, (5, DType::F32)), (other, (6, DType::F64))] {
        let RuntimeError::InputType {
            name,
            expected,
            elements,
            dtype,
        } = error
        else {
            panic!("another error: {error}");
        };
        assert_eq!((&*name, expected.len(), (elements, dtype)), ("x", 6, given));
    }
    Ok(())
}

#[test]
fn a_store_sets_what_it_has_and_adds_what_it_is_told_to() -> Result<()> {
    let mut store = VarStore::new(device::cpu()?);
    linear(&mut store, true)?;
    let weight = Tensor::f32([2, 3], [1.0; 6]);
    let error = refused(store.set("wieght", &weight));
    assert!(
        matches!(&error, RuntimeError::UnknownTensor { name, known } if name == "wieght" && *known == ["weight"]),
        "{error}"
    );
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
        let net = Sequential::new().add_named(a, Linear::new(7, 7).bias(false));
        net.add_named(b, Linear::new(7, 7).bias(false))
    };
    let by_place = Sequential::new().add_named("1", Linear::new(7, 7).bias(false));
    for net in [named("a", "a"), by_place.add(Linear::new(7, 7).bias(false))] {
        let error: LayerError = refused(traced(&net, &[4, 2, 7]));
        assert_eq!(error.layer, "sequential");
        assert!(
            matches!(error.problem, LayerProblem::DuplicateName { .. }),
            "{error}"
        );
    }
    assert!(traced(&named("a", "b"), &[4, 2, 7]).is_ok());
}

#[test]
fn a_module_without_a_path_is_called_by_its_kind_alone() {
    let layer = |module: &dyn Module, shape: &[usize]| {
        let error: LayerError = refused(traced(module, shape));
        error.layer
    };
    assert_eq!(layer(&Lif::new(2.0), &[7]), "lif");
    assert_eq!(layer(&Linear::new(3, 2).bias(false), &[4, 2, 7]), "linear");
    let inside = Sequential::new().add(Linear::new(3, 2).bias(false));
    assert_eq!(layer(&inside, &[4, 2, 7]), "linear `0`");
}
