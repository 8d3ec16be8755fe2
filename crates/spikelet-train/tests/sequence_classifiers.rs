//! Classifiers of sequences: labels for each time step, augmentation, validation parts, resumed runs.

use serde_json::Value;
use spikelet_data::{
    Augment, DType, Dataset, DropBins, Field, InMemory, Split, TimeShift, Unlabeled,
};
use spikelet_nn::layer::{RadLif, SparchReadout, TimeDistributed};
use spikelet_nn::prelude::*;
use spikelet_nn::runtime::VarStore;
use spikelet_train::optim::Adam;
use spikelet_train::{FitReport, Settings, Trainer, evaluate};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A label for each step, 255 without one, which counts as class 0.
const EACH_STEP: Unlabeled = Unlabeled {
    label: 255,
    counted_as: Some(0),
};

/// Sequences of 4 steps and 3 channels with a label each: the channel with the largest sum.
fn sequences(samples: usize, shift: usize) -> Arc<dyn Dataset> {
    let (mut x, mut labels) = (vec![], vec![]);
    for sample in 0..samples {
        let class = (sample * 7 + shift) % 3;
        for step in 0..4 {
            x.extend((0..3).map(|c| u8::from(c == class || (sample + step + c) % 5 == 0)));
        }
        labels.push(class as i64);
    }
    let x_field = Field::new("x", DType::U8, [4, 3]).sequence();
    let data = InMemory::new("steps").with(x_field, x);
    let data = data.and_then(|data| data.with(Field::new("labels", DType::I64, []), labels));
    let data = data.expect("the sizes are right");
    Arc::new(data.classes("labels", ["a", "b", "c"].map(String::from).into()))
}

fn split() -> Split {
    Split::new(sequences(24, 0), sequences(10, 2)).with_validation(Some(sequences(9, 1)))
}

fn settings() -> Settings {
    let mut settings = Settings {
        batch_size: 6,
        epochs: 3,
        optimizer: Adam::new(0.02).into(),
        ..Settings::default()
    };
    settings.use_sequences(4);
    settings.augment = Augment {
        sequences: vec![
            TimeShift { steps: 1 }.into(),
            DropBins { probability: 0.2 }.into(),
        ],
        ..Augment::default()
    };
    settings
}

fn network() -> impl Module + 'static {
    Sequential::new()
        .add(RadLif::new(3, 8).dropout(0.1))
        .add(SparchReadout::new(8, 3))
}

fn same(one: &FitReport, other: &FitReport) {
    let values = |report: &FitReport| -> Vec<_> {
        let each = report.history.iter();
        each.map(|epoch| {
            (
                epoch.train.clone(),
                epoch.validation.clone(),
                epoch.test.clone(),
            )
        })
        .collect()
    };
    assert_eq!(values(one), values(other));
}

#[test]
fn batches_do_not_depend_on_threads_and_a_resumed_run_is_exact() -> Result<()> {
    let fit = |threads: usize| {
        Trainer::new(network(), settings())
            .loader_threads(threads)
            .fit(&split())
    };
    let whole = fit(1)?;
    same(&whole, &fit(3)?);
    assert!(whole.best().is_some_and(|epoch| epoch.validation.is_some()));
    let plain = Settings {
        augment: Augment::default(),
        ..settings()
    };
    let other = Trainer::new(network(), plain).fit(&split())?;
    assert_ne!(
        whole.history[0].train, other.history[0].train,
        "training is augmented"
    );

    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let stop = |epoch: &spikelet_train::EpochRecord| match epoch.epoch {
        2 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let first = Trainer::new(network(), settings())
        .folder(&run)
        .on_epoch(stop)
        .fit(&split())?;
    assert_eq!(first.history.len(), 2);
    let resumed = Trainer::new(network(), settings())
        .folder(&run)
        .resume(true)
        .fit(&split())?;
    same(&whole, &resumed);
    Ok(())
}

#[test]
fn without_a_share_the_validation_part_is_trained_on() -> Result<()> {
    let all = Settings {
        validation: 0.0,
        epochs: 1,
        ..settings()
    };
    let report = Trainer::new(network(), all).fit(&split())?;
    assert!(report.best().is_none() && report.history[0].validation.is_none());
    assert_eq!(report.evidence.run.train_samples, 33);
    let halves = split().with_validation(None);
    let half = Settings {
        validation: 0.5,
        epochs: 1,
        ..settings()
    };
    let report = Trainer::new(network(), half).fit(&halves)?;
    assert_eq!(
        (
            report.evidence.run.train_samples,
            report.evidence.run.validation_samples
        ),
        (12, 12)
    );
    Ok(())
}

/// Two sequences of 4 steps: the largest channel is the prediction of a network that returns its input.
fn labeled() -> Split {
    let predicted = [[0, 1, 2, 0], [2, 2, 0, 1]];
    let labels = vec![0_i64, 1, 1, 255, 255, 2, 0, 255];
    let one_hot = |class: usize| (0..3).map(move |c| if c == class { 2.0 } else { 0.0 });
    let x: Vec<f32> = predicted
        .iter()
        .flatten()
        .flat_map(|&class| one_hot(class))
        .collect();
    let data = InMemory::new("labeled")
        .with(Field::new("x", DType::F32, [4, 3]).sequence(), x)
        .and_then(|data| data.with(Field::step_labels(4, EACH_STEP), labels));
    let data = Arc::new(data.expect("the sizes are right"));
    Split::new(data.clone(), data)
}

#[test]
fn accuracies_and_loss_of_labels_of_steps_are_those_by_hand() -> Result<()> {
    let identity = TimeDistributed(|_: &Context, x: Var| Ok(x));
    let mut settings = Settings::default();
    settings.use_sequences(4);
    let check = |skip_steps, unlabeled, [accuracy, of_labeled, loss]: [f64; 3]| -> Result<()> {
        let settings = Settings {
            skip_steps,
            unlabeled,
            ..settings.clone()
        };
        let mut store = VarStore::new(spikelet_nn::device::cpu()?);
        let found = evaluate(&identity, &settings, &labeled().test, &mut store)?;
        assert!((found.accuracy - accuracy).abs() < 1e-6, "{found:?}");
        let labeled = found.labeled_accuracy.expect("there are unlabeled steps");
        assert!((labeled - of_labeled).abs() < 1e-6, "{found:?}");
        assert!((found.loss - loss).abs() < 1e-5, "{found:?}, {loss}");
        Ok(())
    };
    // −ln softmax of the predicted class, and of another one.
    let sum = 2.0_f64.exp() + 2.0;
    let (right, wrong) = (sum.ln() - 2.0, sum.ln());
    // Of 5 labeled steps 4 are right; of 3 unlabeled ones 1 is predicted as class 0.
    check(0, None, [5.0 / 8.0, 4.0 / 5.0, (4.0 * right + wrong) / 5.0])?;
    check(
        0,
        Some(0),
        [5.0 / 8.0, 4.0 / 5.0, (5.0 * right + 3.0 * wrong) / 8.0],
    )?;
    // Without the first step of both: of 4 labeled steps 3 are right.
    check(1, None, [4.0 / 6.0, 3.0 / 4.0, (3.0 * right + wrong) / 4.0])
}

#[test]
fn settings_for_images_are_refused() {
    let refused = |settings: Settings, data: &Split| {
        let error = Trainer::new(network(), settings)
            .fit(data)
            .expect_err("it is refused");
        error.to_string()
    };
    let of = |change: fn(&mut Settings)| {
        let mut settings = settings();
        change(&mut settings);
        refused(settings, &split())
    };
    assert!(of(|s| s.encoder = Poisson.into()).contains("poisson"));
    assert!(of(|s| s.time_steps = 9).contains("the sequences have 4"));
    assert!(of(|s| s.mixup = Some(0.2)).contains("mixup"));
    assert!(of(|s| s.augment.flip = true).contains("image"));
    let mut each_step = settings();
    (each_step.batch_size, each_step.validation) = (2, 0.0);
    let message = refused(each_step.clone(), &labeled());
    assert!(message.contains("where time steps are moved"), "{message}");
    each_step.augment = Augment::default();
    let message = refused(each_step.clone(), &labeled());
    assert!(message.contains("li-readout"), "{message}");
    each_step.loss = loss::Tet::default().into();
    assert!(refused(each_step, &labeled()).contains("cross-entropy"));
}

/// What the confusion matrix in the report of a run counts, and its sum.
fn confusion(data: &Split, network: impl Module + 'static) -> Result<(String, f64)> {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings {
        epochs: 1,
        batch_size: 2,
        validation: 0.0,
        augment: Augment::default(),
        time_steps: data.test.fields()[0].shape[0].unwrap_or(0),
        ..settings()
    };
    let report = Trainer::new(network, settings)
        .folder(folder.path().join("run"))
        .fit(data)?;
    let page = std::fs::read_to_string(report.report.expect("it is written")).expect("a page");
    let (_, found) = page.split_once("\"confusion\":").expect("a matrix");
    let mut found = serde_json::Deserializer::from_str(found).into_iter::<Value>();
    let found = found.next().expect("a value").expect("JSON");
    let rows = found["counts"].as_array().expect("rows").iter();
    let rows: Vec<Vec<f64>> = rows
        .map(|row| row.as_array().expect("a row").iter())
        .map(|row| row.map(|count| count.as_f64().expect("a number")).collect())
        .collect();
    let right: f64 = rows.iter().enumerate().map(|(k, row)| row[k]).sum();
    let all: f64 = rows.iter().flatten().sum();
    let last = report.history.last().expect("an epoch");
    let tested = last.test.as_ref().expect("a test set");
    let accuracy = tested.labeled_accuracy().unwrap_or(tested.accuracy());
    assert!((right / all - accuracy).abs() < 1e-6, "{right} of {all}");
    Ok((found["counted"].as_str().unwrap_or("").to_string(), all))
}

#[test]
fn reports_have_the_confusion_matrix_of_sequences_or_of_their_labeled_steps() -> Result<()> {
    let data = split();
    let (counted, all) = confusion(&data, network())?;
    assert_eq!(
        (counted.as_str(), all),
        ("sequences", data.test.len() as f64)
    );
    let (counted, all) = confusion(&labeled(), Linear::new(3, 3).bias(false))?;
    assert_eq!((counted.as_str(), all), ("labeled time steps", 5.0));
    Ok(())
}
