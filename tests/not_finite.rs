//! Training that goes wrong says where.

use spikelet::data::{Split, synthetic};
use spikelet::neuron::{Liaf, Qif, Readout};
use spikelet::prelude::*;
use spikelet::train::TrainError;
use spikelet::train::error::Origin;

fn digits() -> Split {
    synthetic::digits_of(0, 128, 32)
}

/// A learning rate that makes weights huge in the first step.
fn settings() -> Settings {
    Settings {
        time_steps: 4,
        batch_size: 32,
        epochs: 2,
        optimizer: Adam::new(1e25).into(),
        schedule: LrSchedule::default(),
        encoder: Direct.into(),
        ..Settings::default()
    }
}

/// Real numbers all the way: the second product of two huge numbers is too large for f32.
fn runs_away() -> Sequential {
    let membrane = Lif::new(2.0).fires(false).readout(Readout::Last);
    let positive_part = Liaf {
        threshold_related: false,
        ..Liaf::default()
    };
    Sequential::new()
        .add(Flatten)
        .add_named("fc1", Linear::new(784, 16).bias(false))
        .add_named("liaf", positive_part)
        .add_named("fc2", Linear::new(16, 10).bias(false))
        .add_named("out", membrane)
}

#[test]
fn a_loss_that_is_not_finite_names_step_layer_and_time_step() {
    let error = Trainer::new(runs_away(), settings()).fit(&digits());
    let error = error.expect_err("weights are huge");
    let Some(TrainError::Diverged {
        loss,
        step,
        epoch,
        batch,
        origin,
    }) = error.downcast_ref()
    else {
        panic!("another error: {error}");
    };
    assert!(!loss.is_finite());
    assert_eq!((*step, *epoch, *batch), (2, 1, 2));
    let Origin::Found(found) = origin else {
        panic!("{error}");
    };
    assert_eq!((&*found.layer, &*found.value), ("out", "x_seq"));
    assert_eq!((found.time_step, found.time_steps), (1, 4));
}

#[test]
fn a_step_whose_loss_is_not_finite_changes_nothing() -> Result<()> {
    use spikelet::data::{DataLoader, LoaderConfig};
    use spikelet::train::{BatchShape, Step};
    let shape = BatchShape {
        batch: 32,
        image: [1, 28, 28],
    };
    let mut store = VarStore::new(spikelet::device::cpu()?);
    let mut step = Step::classifier(&runs_away(), &settings(), shape)?.compile(&mut store)?;
    let config = LoaderConfig {
        batch_size: 32,
        ..LoaderConfig::default()
    };
    let batch = DataLoader::new(digits().train.clone(), config)?
        .epoch(0, 0)
        .next();
    let batch = batch.expect("a batch")?;
    let weights = |store: &VarStore| -> Result<Vec<Tensor>> {
        store.names().map(|name| store.get(name)).collect()
    };
    assert!(step.run_batch(&batch)?.loss.is_finite());
    let before = weights(&store)?;
    assert!(!step.run_batch(&batch)?.loss.is_finite());
    assert_eq!(weights(&store)?, before);
    Ok(())
}

#[test]
fn weights_that_are_not_finite_do_not_get_into_a_checkpoint() {
    // Spikes stay finite, so the loss does; the gradient of a potential that runs away does not.
    let net = Sequential::new()
        .add(Flatten)
        .add_named("fc1", Linear::new(784, 10).bias(false))
        .add_named(
            "qif",
            Qif::new(2.0).v_reset(None).surrogate(Atan::default()),
        );
    let folder = tempfile::tempdir().expect("a folder");
    let trainer = Trainer::new(net, settings()).folder(folder.path());
    let error = trainer.fit(&digits()).expect_err("weights are huge");
    let Some(TrainError::WeightsNotFinite { tensors, .. }) = error.downcast_ref() else {
        panic!("another error: {error}");
    };
    assert_eq!(tensors[0], "fc1.weight");
}
