//! Runs that are interrupted after each batch of training and of evaluation, and resumed.

use crate::folder::{BEST, CURVES, EPOCHS, LAST};
use crate::penalty::{Penalty, SpikeCount};
use crate::{Checkpoint, FitReport, Settings, Trainer};
use serde_json::Value;
use spikelet_core::files;
use spikelet_cpu::Cpu;
use spikelet_data::{Split, synthetic};
use spikelet_distributed::{RankGroup, Timeouts};
use spikelet_nn::layer::*;
use spikelet_nn::module::*;
use spikelet_nn::neuron::*;
use spikelet_nn::tensors::TensorFile;
use spikelet_report::log::jsonl;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const EPOCHS_OF_A_RUN: usize = 2;
/// Training batches of an epoch, with all ranks.
const STEPS: usize = 3;
/// Batches of the test set: the last is smaller, and two ranks have different numbers of them.
const TESTED: usize = 5;
/// Batches of the validation images.
const VALIDATED: usize = 3;

fn data() -> Split {
    synthetic::digits_of(0, 125, 48)
}

/// With running statistics, which ranks keep apart during an epoch.
fn network() -> Sequential {
    Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 12).bias(false))
        .add(BatchNorm1d::new(12))
        .add(Lif::new(2.0))
        .add(Linear::new(12, 10).bias(false))
        .add(Lif::new(2.0))
}

fn settings(ranks: usize) -> Settings {
    Settings {
        epochs: EPOCHS_OF_A_RUN,
        time_steps: 3,
        batch_size: 32 / ranks,
        evaluation_batch: Some(10),
        validation: 0.2,
        penalties: vec![Penalty::new(SpikeCount, "*", 1e-2)],
        ..Settings::default()
    }
}

/// A run that is to end when it asks for the time after `answered`, and counts how often it asks.
fn trainer(
    folder: &Path,
    ranks: usize,
    answered: usize,
    asked: &Arc<AtomicUsize>,
) -> Trainer<'static> {
    let resumes = folder.join(LAST).exists();
    let asked = asked.clone();
    Trainer {
        end_request: Some(Arc::new(move || {
            asked.fetch_add(1, Ordering::Relaxed) >= answered
        })),
        ..Trainer::new(network(), settings(ranks))
            .folder(folder)
            .resume(resumes)
            .curve_steps(1)
    }
}

/// A run on one device, and how often it has called its end request.
fn train(folder: &Path, answered: usize) -> (FitReport, usize) {
    let asked = Arc::default();
    let outcome = trainer(folder, 1, answered, &asked).fit(&data());
    (outcome.expect("all is well"), asked.load(Ordering::Relaxed))
}

/// A run of several ranks, each of which is to end when it asks for the time after its `answered`.
fn train_ranks<const N: usize>(folder: &Path, answered: [usize; N]) -> [FitReport; N] {
    let data = data();
    let train = |group: &Arc<RankGroup>| {
        let backend = Arc::new(Cpu::new(1)?.in_group(group.process_group()));
        let trainer = trainer(folder, N, answered[group.world().rank], &Arc::default());
        trainer.backend(backend).group(group.clone()).fit(&data)
    };
    let outcomes = RankGroup::run_threads(N, Timeouts::default(), train).expect("a port");
    let outcomes: spikelet_core::Result<Vec<FitReport>> = outcomes.into_iter().collect();
    let outcomes = outcomes.expect("all is well");
    outcomes.try_into().expect("an outcome for each rank")
}

/// The files of a run, without times.
#[derive(Debug, PartialEq)]
pub(super) struct Left {
    last: TensorFile,
    best: TensorFile,
    epochs: Vec<Value>,
    /// Bytes of the curves, and how many points those of the epochs have.
    curves: (usize, usize),
}

pub(super) fn left(folder: &Path) -> Left {
    let tensors = |name: &str| {
        let mut file = TensorFile::read(folder.join(name)).expect("a checkpoint");
        file.metadata.clear();
        file
    };
    let mut epochs: Vec<Value> = jsonl::read(folder.join(EPOCHS)).expect("a log");
    for epoch in &mut epochs {
        let fields = epoch.as_object_mut().expect("an object");
        fields.remove("seconds");
        fields.remove("samples_per_second");
    }
    let mut events = std::fs::read_dir(folder.join(CURVES)).expect("a folder");
    let curves = events.next().expect("a file").expect("an entry").path();
    assert!(events.next().is_none(), "several files of curves");
    let curves = files::read(curves).expect("readable");
    let tag = b"epoch/test_loss";
    let points = curves.windows(tag.len()).filter(|bytes| bytes == tag);
    Left {
        last: tensors(LAST),
        best: tensors(BEST),
        epochs,
        curves: (curves.len(), points.count()),
    }
}

fn checkpoint(folder: &Path) -> Checkpoint {
    Checkpoint::read(folder.join(LAST)).expect("a checkpoint")
}

/// Whether the next that a run does is an evaluation.
fn is_before_an_evaluation(folder: &Path) -> bool {
    checkpoint(folder).progress.batch == STEPS
}

pub(super) const NEVER: usize = usize::MAX;

#[test]
fn a_run_that_is_interrupted_after_any_batch_ends_with_the_same_bits() {
    let folders = tempfile::tempdir().expect("a folder");
    let unbroken = folders.path().join("unbroken");
    let (outcome, asked) = train(&unbroken, NEVER);
    assert!(!outcome.interrupted);
    // After the last step of an epoch the evaluation asks.
    assert_eq!(asked, EPOCHS_OF_A_RUN * (STEPS - 1 + TESTED + VALIDATED));
    let expected = left(&unbroken);
    assert_eq!(expected.epochs.len(), EPOCHS_OF_A_RUN);
    assert_eq!(expected.curves.1, EPOCHS_OF_A_RUN);
    let mut in_evaluations = 0;
    for answered in 0..asked {
        let folder = folders.path().join(answered.to_string());
        let (broken, asked) = train(&folder, answered);
        assert!(broken.interrupted);
        assert_eq!(asked, answered + 1, "it goes on");
        let before = checkpoint(&folder).progress;
        assert_eq!(before.history.len(), broken.history.len());
        in_evaluations += usize::from(is_before_an_evaluation(&folder));
        let (resumed, _) = train(&folder, NEVER);
        assert!(!resumed.interrupted);
        assert_eq!(left(&folder), expected, "interrupted after {answered}");
        if before.batch == STEPS {
            let speed = before.samples as f64 / before.train_seconds;
            let record = &resumed.history[before.epoch];
            assert_eq!(record.samples_per_second, speed);
        }
    }
    assert_eq!(in_evaluations, EPOCHS_OF_A_RUN * (TESTED + VALIDATED));
}

#[test]
fn an_evaluation_can_be_interrupted_again_and_killed() {
    let folders = tempfile::tempdir().expect("a folder");
    let [unbroken, folder] = ["unbroken", "broken"].map(|name| folders.path().join(name));
    train(&unbroken, NEVER);
    // In the test images, before the first of them, and in the validation images.
    for answered in [STEPS - 1 + 2, 0, TESTED + 1] {
        assert!(train(&folder, answered).0.interrupted);
        assert!(is_before_an_evaluation(&folder));
    }
    let last = files::read(folder.join(LAST)).expect("a checkpoint");
    // Killed when the epoch was in the logs, and before its checkpoint was written.
    train(&folder, TESTED + VALIDATED);
    assert_eq!(left(&folder).epochs.len(), 1);
    std::fs::write(folder.join(LAST), &last).expect("writable");
    assert!(train(&folder, 0).0.interrupted);
    let (lines, (_, points)) = (left(&folder).epochs.len(), left(&folder).curves);
    assert_eq!((lines, points), (0, 0));
    assert!(!train(&folder, NEVER).0.interrupted);
    assert_eq!(left(&folder), left(&unbroken));
}

#[test]
fn ranks_agree_to_stop_in_an_evaluation_whichever_of_them_was_interrupted() {
    let folders = tempfile::tempdir().expect("a folder");
    let unbroken = folders.path().join("unbroken");
    train_ranks(&unbroken, [NEVER, NEVER]);
    let expected = left(&unbroken);
    // The calls of each rank in an epoch.
    let (test, validation) = (STEPS - 1, STEPS - 1 + TESTED.div_ceil(2));
    let each = validation + VALIDATED.div_ceil(2);
    for rank in 0..2 {
        for answered in [test, test + 1, validation, validation + 1, each + test] {
            let folder = folders.path().join(format!("{rank}-{answered}"));
            let mut requests = [NEVER; 2];
            requests[rank] = answered;
            let [first, second] = train_ranks(&folder, requests);
            assert!(first.interrupted && second.interrupted, "{requests:?}");
            assert_eq!(first.history.len(), second.history.len());
            // Each evaluation starts with a synchronization.
            if [test, test + 1, validation, each + test].contains(&answered) {
                assert!(is_before_an_evaluation(&folder), "{requests:?}");
                assert_eq!(first.history.len(), answered / each);
            }
            let ends = train_ranks(&folder, [NEVER; 2]);
            assert!(ends.iter().all(|end| !end.interrupted));
            assert_eq!(left(&folder), expected, "{requests:?}");
        }
    }
}

#[test]
fn three_ranks_that_resume_in_the_middle_of_an_epoch_have_the_loss_of_an_unbroken_run() {
    let folders = tempfile::tempdir().expect("a folder");
    let unbroken = folders.path().join("unbroken");
    train_ranks(&unbroken, [NEVER; 3]);
    let resumed = folders.path().join("resumed");
    for batches in 1..STEPS {
        let ends = train_ranks(&resumed, [0; 3]);
        assert!(ends.iter().all(|end| end.interrupted));
        assert_eq!(checkpoint(&resumed).progress.batch, batches);
    }
    train_ranks(&resumed, [NEVER; 3]);
    assert_eq!(left(&resumed), left(&unbroken));
}
