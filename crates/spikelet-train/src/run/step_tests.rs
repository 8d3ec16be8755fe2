//! Runs of a step with everything that a step can have, interrupted and resumed: averaged weights, accumulated
//! gradients, groups, a frozen layer, clipping, 16 bits, augmented and mixed images, several
//! loader threads, an own metric that selects the best epoch, several ranks.

use super::tests::{Left, NEVER, left};
use crate::checkpoint::{CheckpointError, CheckpointProblem};
use crate::folder::{BEST, LAST};
use crate::metric::{self, MetricValues};
use crate::optim::schedule::Plateau;
use crate::optim::{Adam, Clip, LrSchedule, Sgd};
use crate::{Checkpoint, FitReport, Goal, Loaders, Outputs, Settings, Step, Trainer};
use spikelet_core::{Error, Result};
use spikelet_cpu::Cpu;
use spikelet_data::{Augment, DataLoader, LoaderConfig, MixUp, synthetic};
use spikelet_distributed::{RankGroup, Timeouts};
use spikelet_graph::DType;
use spikelet_nn::layer::*;
use spikelet_nn::loss::{self, CrossEntropy};
use spikelet_nn::module::*;
use spikelet_nn::neuron::*;
use spikelet_nn::runtime::VarStore;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const EPOCHS: usize = 3;
const BATCH: usize = 16;
/// Five batches an epoch: the gradients of two are accumulated, and the last batch is left out.
const TRAINED: usize = 5 * BATCH;

/// Digits: a class with soft labels in training, and the ink of the image.
fn step(ranks: usize, soft: bool) -> Step<'static> {
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 12).bias(false))
        .add(BatchNorm1d::new(12))
        .add(Lif::new(2.0))
        .add(Linear::new(12, 11).bias(false));
    let step = Step::new(move |cx: &Context, inputs: &crate::Inputs| {
        let images = (&inputs["images"] * 20.0).repeat_over_time(3);
        let output = net.forward(cx, &images)?.mean(&[0]);
        let (scores, ink) = (output.slice(1, 0..10), output.slice(1, 10..11));
        let labels = &inputs["labels"];
        let (loss, distance) = match soft {
            true => (
                CrossEntropy::new().soft(&scores, labels),
                (&scores - labels).square().mean_all(),
            ),
            false => (
                loss::cross_entropy(&scores, labels),
                loss::mse_one_hot(&scores, labels),
            ),
        };
        let target = inputs["images"]
            .mean(&[1, 2, 3])
            .reshape([inputs.samples(), 1]);
        let found = loss::mse(&ink, &target);
        Ok(Outputs::loss(loss + found)
            .metric("distance", &distance)
            .metric("r2", metric::r2(&ink, &target)))
    })
    .batch_size(BATCH / ranks)
    .input("images", DType::F32, [1, 28, 28])
    .optimizer(Adam::new(1e-2))
    .group(
        "4.*",
        Sgd {
            momentum: 0.9,
            ..Sgd::new(0.1)
        },
    )
    .freeze("2.bias")
    .accumulate(2)
    .clip(Clip::Norm(1.0))
    .ema(0.8)
    .precision(Precision::Bf16)
    .seed(3);
    match soft {
        true => step.input("labels", DType::F32, [10]),
        false => step.input("labels", DType::I64, []),
    }
}

fn data(ranks: usize) -> Result<Loaders> {
    let digits = synthetic::digits_of(0, TRAINED + 20, 30);
    let parts = spikelet_data::split(
        digits.train.clone(),
        &[
            TRAINED as f64 / (TRAINED + 20) as f64,
            20.0 / (TRAINED + 20) as f64,
        ],
        0,
    )?;
    let config = LoaderConfig {
        batch_size: BATCH / ranks,
        seed: 5,
        augment: Augment {
            crop_padding: 2,
            flip: true,
            ..Augment::default()
        },
        ..LoaderConfig::default()
    };
    let train = DataLoader::new(parts[0].clone(), config)?.batch_transform(MixUp {
        alpha: 0.4,
        classes: 10,
    })?;
    let evaluated = |data| DataLoader::new(data, LoaderConfig::default());
    Ok(Loaders {
        train,
        validation: Some(evaluated(parts[1].clone())?),
        test: Some(evaluated(digits.test.clone())?),
    })
}

fn settings() -> Settings {
    Settings {
        epochs: EPOCHS,
        schedule: LrSchedule::from(Plateau {
            patience: 0,
            ..Plateau::default()
        }),
        evaluation_batch: Some(10),
        ..Settings::default()
    }
}

/// A run that is to end when it asks for the time after `answered`.
fn trainer(folder: &Path, ranks: usize, threads: usize, answered: usize) -> Trainer<'static> {
    let asked = AtomicUsize::new(0);
    Trainer {
        end_request: Some(Arc::new(move || {
            asked.fetch_add(1, Ordering::Relaxed) >= answered
        })),
        ..Trainer::over(step(ranks, true), settings())
            .evaluation_step(step(ranks, false))
            .monitor("distance", Goal::Minimize)
            .loader_threads(threads)
            .folder(folder)
            .resume(folder.join(LAST).exists())
            .curve_steps(1)
    }
}

fn train(folder: &Path, threads: usize, answered: usize) -> FitReport {
    let data = data(1).expect("sound data");
    let outcome = trainer(folder, 1, threads, answered).fit(&data);
    outcome.expect("all is well")
}

#[test]
fn a_step_with_everything_resumes_with_the_same_bits_for_any_number_of_loader_threads() {
    let folders = tempfile::tempdir().expect("a folder");
    let unbroken = folders.path().join("unbroken");
    let outcome = train(&unbroken, 1, NEVER);
    assert_eq!(outcome.history.len(), EPOCHS);
    let expected: Left = left(&unbroken);
    // In training: after the first and second batch of an epoch, and of an accumulated pair. In evaluations.
    for (threads, answered) in [
        (1, 0),
        (2, 1),
        (4, 2),
        (1, 4),
        (2, 7),
        (4, 8),
        (1, 14),
        (2, 16),
    ] {
        let folder = folders.path().join(answered.to_string());
        assert!(train(&folder, threads, answered).interrupted, "{answered}");
        let threads = [1, 2, 4][answered % 3];
        assert!(!train(&folder, threads, NEVER).interrupted);
        assert_eq!(
            left(&folder),
            expected,
            "{threads} threads, after {answered}"
        );
    }
    let best = outcome.best().expect("a best epoch");
    let distance = |values: &MetricValues| values.get("distance").expect("the metric");
    let validation = outcome.history.iter().filter_map(|r| r.validation.as_ref());
    let least = validation.map(distance).fold(f64::INFINITY, f64::min);
    assert_eq!(best.validation.as_ref().map(distance), Some(least));
}

#[test]
fn the_best_weights_are_the_averages_that_were_evaluated() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = train(folder.path(), 1, NEVER);
    let expected = outcome.best().and_then(|best| best.test.clone());
    let expected = expected.expect("a test set");
    let digits = synthetic::digits_of(0, TRAINED + 20, 30);
    let test = DataLoader::new(digits.test.clone(), LoaderConfig::default())?;
    let step = step(1, false);
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    Checkpoint::read(folder.path().join(BEST))?.restore_step(&step, &mut store)?;
    let found = step.evaluate(&test, &mut store)?;
    assert_near(&found.values(), &expected);

    // The last checkpoint has the weights and the averages: the averages are evaluated.
    let last = Checkpoint::read(folder.path().join(LAST))?;
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    last.restore_step(&step, &mut store)?;
    let found = step.evaluate(&test, &mut store)?;
    let expected = outcome.last().and_then(|last| last.test.clone());
    assert_near(&found.values(), &expected.expect("a test set"));
    Ok(())
}

/// Checks that values are the same but for the rounding to 16 bits in batches of other sizes.
fn assert_near(found: &MetricValues, expected: &MetricValues) {
    for ((name, found), (_, expected)) in found.iter().zip(expected.iter()) {
        let difference = (found - expected).abs() / expected.abs().max(1.0);
        assert!(difference < 1e-2, "{name}: {found} {expected}");
    }
}

#[test]
fn ranks_with_a_step_of_their_own_resume_with_the_same_bits() {
    let folders = tempfile::tempdir().expect("a folder");
    let train = |folder: &Path, answered: usize| -> Vec<FitReport> {
        let run = |group: &Arc<RankGroup>| {
            let backend = Arc::new(Cpu::new(1)?.in_group(group.process_group()));
            let trainer = trainer(folder, 2, 2, answered).backend(backend);
            trainer.group(group.clone()).fit(&data(2)?)
        };
        let ends = RankGroup::run_threads(2, Timeouts::default(), run).expect("a port");
        let ends: Result<Vec<FitReport>> = ends.into_iter().collect();
        ends.expect("all is well")
    };
    let [unbroken, folder] = ["unbroken", "broken"].map(|name| folders.path().join(name));
    let ends = train(&unbroken, NEVER);
    assert_eq!(ends[0].history.len(), EPOCHS);
    assert_eq!(ends[0].history[0].train, ends[1].history[0].train);
    for answered in [1, 1, 5] {
        assert!(train(&folder, answered)[0].interrupted);
    }
    assert!(!train(&folder, NEVER)[0].interrupted);
    assert!(left(&folder) == left(&unbroken));
}

/// The differences that a resumed run names.
fn differences(folder: &Path, changed: Trainer<'static>, data: &Loaders) -> Vec<String> {
    let error = changed.folder(folder).resume(true).fit(data);
    let error = error.expect_err("another run");
    match error.downcast_ref::<CheckpointError>() {
        Some(CheckpointError {
            problem: CheckpointProblem::OtherRun(found),
            ..
        }) => found.iter().map(|found| found.field.clone()).collect(),
        _ => panic!("{error}"),
    }
}

#[test]
fn a_changed_step_loader_or_data_set_is_not_resumed() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    assert!(train(path, 1, 2).interrupted);
    let own = data(1)?;
    let with =
        |step: Step<'static>| Trainer::over(step, settings()).evaluation_step(self::step(1, false));
    let changed = differences(path, with(step(1, true).seed(4)), &own);
    assert_eq!(changed, ["training.seed"]);
    // The decay of the average is a constant of the graph.
    let changed = differences(path, with(step(1, true).ema(0.5)), &own);
    assert_eq!(changed, ["training.ema", "run.step.graph"]);
    let changed = differences(path, Trainer::over(step(1, true), settings()), &own);
    assert_eq!(changed, ["run.eval_step"]);
    let digits = synthetic::digits_of(0, TRAINED + 20, 30);
    let config = LoaderConfig {
        batch_size: BATCH,
        seed: 5,
        ..LoaderConfig::default()
    };
    let train = DataLoader::new(digits.train.clone(), config)?.batch_transform(MixUp {
        alpha: 0.4,
        classes: 10,
    })?;
    let changed = differences(path, with(step(1, true)), &Loaders::new(train));
    for field in [
        "run.loaders.train.augment",
        "run.loaders.validation",
        "dataset.sha256",
    ] {
        assert!(
            changed.iter().any(|f| f.starts_with(field)),
            "{field}: {changed:?}"
        );
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused() -> Result<()> {
    let own = data(1)?;
    let refused = |trainer: Trainer<'static>, data: &Loaders| match trainer.fit(data) {
        Err(Error::Invalid { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    let over = |settings| Trainer::over(step(1, true), settings).evaluation_step(step(1, false));
    let none = Settings {
        epochs: 0,
        ..settings()
    };
    assert_eq!(refused(over(none), &own), "settings");
    let unknown = over(settings()).monitor("accuracy", Goal::Maximize);
    assert_eq!(refused(unknown, &own), "monitored metric");
    assert_eq!(refused(over(settings()), &data(2)?), "batch size");
    let digits = synthetic::digits_of(0, 64, 30).train;
    let config = LoaderConfig {
        batch_size: BATCH,
        ..LoaderConfig::default()
    };
    let train = DataLoader::new(digits, config)?;
    let mixed = train.clone().batch_transform(MixUp {
        alpha: 0.4,
        classes: 10,
    })?;
    let patient = over(settings()).early_stopping(2);
    assert_eq!(refused(patient, &Loaders::new(mixed)), "early stopping");
    // Labels of classes where the step has soft ones.
    let error = over(settings()).fit(&Loaders::new(train)).expect_err("i64");
    assert!(error.to_string().contains("labels"), "{error}");
    Ok(())
}

#[test]
fn a_loss_that_is_not_finite_is_traced_to_its_layer() -> Result<()> {
    let net = Linear::new(784, 1).bias(false);
    let step = Step::new(|cx: &Context, inputs: &crate::Inputs| {
        let x = inputs["images"].reshape([inputs.samples(), 784]);
        let y = net.forward(cx, &x)?;
        // The logarithm of a negative value.
        let broken = (y.square() * -1.0 - 1.0).ln();
        cx.record("head.v_seq", &broken.reshape([1, inputs.samples(), 1]));
        Ok(Outputs::loss(broken.mean_all()))
    })
    .batch_size(BATCH)
    .input("images", DType::F32, [1, 28, 28])
    .optimizer(Sgd::new(0.1));
    let digits = synthetic::digits_of(0, 64, 30);
    let error = Trainer::over(step, settings())
        .fit(&digits)
        .expect_err("not finite");
    assert!(error.to_string().contains("`head`"), "{error}");
    Ok(())
}
