//! A trainer of classifiers: averaged weights, accumulated gradients, mixed images, data of loaders, checkpoints of the
//! earlier format.

use spikelet_core::{Error, Result};
use spikelet_data::{DType, DataLoader, Field, InMemory, LoaderConfig, Split, synthetic};
use spikelet_nn::tensors::TensorFile;
use spikelet_train::prelude::*;
use spikelet_train::{
    Checkpoint, FitReport, Goal, Loaders, Monitor, ParameterGroup, TrainError, evaluate,
};
use std::path::Path;
use std::sync::Arc;

fn net() -> Sequential {
    Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 24).bias(false))
        .add(Lif::new(2.0))
        .add(Linear::new(24, 10).bias(false))
        .add(Lif::new(2.0))
}

fn settings() -> Settings {
    Settings {
        time_steps: 4,
        batch_size: 16,
        epochs: 4,
        optimizer: Adam::new(1e-2).into(),
        encoder: Direct.into(),
        ..Settings::default()
    }
}

fn digits() -> Split {
    synthetic::digits_of(0, 400, 100)
}

#[test]
fn averaged_weights_are_evaluated_and_restored() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings {
        ema: Some(0.9),
        accumulate: 2,
        mixup: Some(0.2),
        cutmix: Some(1.0),
        ..settings()
    };
    let report = Trainer::new(net(), settings.clone())
        .folder(folder.path())
        .fit(&digits())?;
    let first = report.history[0].train.loss;
    let last = report.last().expect("an epoch");
    assert!(last.train.loss < first, "{first} {}", last.train.loss);
    let evaluated = |file: &str| -> Result<f64> {
        let checkpoint = Checkpoint::read(folder.path().join(file))?;
        let mut store = VarStore::new(spikelet_nn::device::cpu()?);
        checkpoint.restore(&net(), [1, 28, 28], &mut store)?;
        Ok(evaluate(&net(), &settings, &digits().test, &mut store)?.accuracy)
    };
    let best = report.best().expect("validation images").test_accuracy();
    assert_eq!(evaluated("best.safetensors")?, best);
    assert_eq!(evaluated("last.safetensors")?, report.test_accuracy());
    Ok(())
}

#[test]
fn groups_of_parameters_have_their_own_learning_rate_or_none() -> Result<()> {
    let trained = |lr: f64, groups: Vec<ParameterGroup>| -> Result<TensorFile> {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = Settings {
            epochs: 1,
            optimizer: Adam::new(lr).into(),
            groups,
            ..settings()
        };
        let trainer = Trainer::new(net(), settings).folder(folder.path());
        trainer.fit(&digits())?;
        TensorFile::read(folder.path().join("last.safetensors"))
    };
    let initial = trained(0.0, vec![])?;
    let slow = ParameterGroup {
        optimizer: Some("sgd".to_string()),
        lr: Some(0.0),
        ..ParameterGroup::new("3.*")
    };
    let frozen = ParameterGroup {
        frozen: true,
        ..ParameterGroup::new("3.*")
    };
    for group in [slow, frozen] {
        let found = trained(0.01, vec![group])?;
        assert!(found.get("3.weight")? == initial.get("3.weight")?);
        assert!(found.get("1.weight")? != initial.get("1.weight")?);
    }
    let unknown = trained(0.01, vec![ParameterGroup::new("4.*")]).expect_err("there is none");
    assert!(unknown.to_string().contains("4.*"), "{unknown}");
    Ok(())
}

/// The same images as loaders of `settings`.
fn loaders(split: &Split, settings: &Settings) -> Result<Loaders> {
    let evaluated = LoaderConfig {
        shuffle: false,
        ..LoaderConfig::default()
    };
    let train = DataLoader::new(split.train.clone(), settings.training_batches())?;
    Ok(Loaders {
        test: Some(DataLoader::new(split.test.clone(), evaluated)?),
        ..Loaders::new(train)
    })
}

#[test]
fn a_classifier_trains_on_loaders_as_on_images() -> Result<()> {
    let settings = Settings {
        validation: 0.0,
        ..settings()
    };
    let images = Trainer::new(net(), settings.clone()).fit(&digits())?;
    let data = loaders(&digits(), &settings)?;
    let found = Trainer::new(net(), settings).fit(&data)?;
    let values = |report: &FitReport| -> Vec<_> {
        let epochs = report.history.iter();
        epochs
            .map(|epoch| (epoch.train.clone(), epoch.test.clone()))
            .collect()
    };
    assert_eq!(values(&found), values(&images));
    assert!(found.best().is_none() && found.test_accuracy() > 0.3);
    Ok(())
}

#[test]
fn the_loss_can_select_the_best_epoch() -> Result<()> {
    let report = Trainer::new(net(), settings())
        .monitor("loss", Goal::Minimize)
        .fit(&digits())?;
    let losses = report
        .history
        .iter()
        .filter_map(|epoch| epoch.validation.as_ref());
    let least = losses
        .map(|values| values.loss)
        .fold(f64::INFINITY, f64::min);
    let best = report.best().expect("validation images");
    assert_eq!(
        best.validation.as_ref().map(|values| values.loss),
        Some(least)
    );
    Ok(())
}

#[test]
fn firing_rates_are_measured_beside_the_training_which_keeps_its_bits() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let trainer = || Trainer::new(net(), settings()).curve_steps(3);
    let plain = trainer().fit(&digits())?;
    let monitored = trainer()
        .monitor_layers(Monitor::Rate, "*")
        .monitor_layers(Monitor::Neurons, "4")
        .folder(folder.path())
        .fit(&digits())?;
    let losses = |report: &FitReport| -> Vec<f64> {
        let epochs = report.history.iter();
        epochs.map(|epoch| epoch.train.loss).collect()
    };
    assert_eq!(losses(&monitored), losses(&plain));
    let last = monitored.last().and_then(|epoch| epoch.validation.as_ref());
    let last = last.expect("validation images");
    assert!(last.get("2.rate").is_some_and(|rate| rate > 0.0));
    assert!(last.get("4.dead").is_some() && last.get("2.dead").is_none());
    let curves = std::fs::read_dir(folder.path().join("tensorboard")).expect("curves");
    let curves = curves.last().expect("a file").expect("an entry").path();
    let bytes = std::fs::read(curves).expect("readable");
    // 22 batches an epoch, four epochs, every third step.
    let points = |tag: &[u8]| {
        bytes
            .windows(tag.len())
            .filter(|found| *found == tag)
            .count()
    };
    assert_eq!(points(b"step/2.rate"), 22 * 4 / 3);
    assert_eq!(points(b"step/loss"), 22 * 4 / 3);
    Ok(())
}

#[test]
fn data_that_is_not_images_of_classes_is_refused() -> Result<()> {
    let table = InMemory::new("table")
        .with(Field::new("x", DType::F32, [4]), vec![0.5; 400])?
        .with(Field::new("labels", DType::I64, []), vec![1_i64; 100])?;
    let config = LoaderConfig {
        batch_size: 16,
        ..LoaderConfig::default()
    };
    let data = Loaders::new(DataLoader::new(Arc::new(table), config)?);
    let refused = Trainer::new(net(), settings()).fit(&data);
    assert!(matches!(refused, Err(Error::Invalid { what, .. }) if what == "data"));
    let nine = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 9).bias(false));
    let error = Trainer::new(nine, settings())
        .fit(&digits())
        .expect_err("nine scores");
    assert!(matches!(
        error.downcast_ref::<TrainError>(),
        Some(TrainError::Classes {
            scores: 9,
            classes: 10,
            ..
        })
    ));
    for wrong in [
        Settings {
            accumulate: 0,
            ..settings()
        },
        Settings {
            ema: Some(1.0),
            ..settings()
        },
        Settings {
            mixup: Some(0.0),
            ..settings()
        },
        // An update of 30 × 16 images.
        Settings {
            accumulate: 30,
            ..settings()
        },
    ] {
        assert!(Trainer::new(net(), wrong).fit(&digits()).is_err());
    }
    Ok(())
}

/// Writes the metadata of a checkpoint as the earlier format had it.
fn downgrade(path: &Path) {
    let mut file = TensorFile::read(path).expect("a checkpoint");
    let format = "spikelet checkpoint 5".to_string();
    file.metadata.insert("format".to_string(), format);
    file.write(path).expect("the folder can be written");
}

#[test]
fn a_checkpoint_of_the_earlier_format_is_read_and_resumed() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings {
        schedule: LrSchedule::default(),
        ..settings()
    };
    let two = Settings {
        epochs: 2,
        ..settings.clone()
    };
    let first = Trainer::new(net(), two)
        .folder(folder.path())
        .fit(&digits())?;
    let last = folder.path().join("last.safetensors");
    downgrade(&last);
    let read = Checkpoint::read(&last)?;
    assert_eq!(read.progress.history, first.history);
    assert!(read.definition.step.is_none());
    let resumed = Trainer::new(net(), settings.clone())
        .folder(folder.path())
        .resume(true)
        .fit(&digits())?;
    let unbroken = Trainer::new(net(), settings).fit(&digits())?;
    let losses = |report: &FitReport| -> Vec<f64> {
        report
            .history
            .iter()
            .map(|epoch| epoch.train.loss)
            .collect()
    };
    assert_eq!(losses(&resumed), losses(&unbroken));
    Ok(())
}
