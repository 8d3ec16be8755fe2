//! Runs over images that are read when they are needed: interrupted after each batch, and by several ranks.

use super::tests::{NEVER, left};
use crate::folder::LAST;
use crate::{Checkpoint, FitReport, Settings, Trainer};
use spikelet_cpu::Cpu;
use spikelet_data::{Augment, DataOptions, Normalize, RandomErasing, RandomFlip, Split, find};
use spikelet_distributed::{RankGroup, Timeouts};
use spikelet_nn::encoder::Direct;
use spikelet_nn::layer::*;
use spikelet_nn::module::*;
use spikelet_nn::neuron::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const EPOCHS_OF_A_RUN: usize = 2;
const IMAGE: [usize; 3] = [3, 8, 8];

/// Images with a random change, and as many for validation as for the test.
fn data() -> Split {
    let options = DataOptions {
        image: IMAGE,
        classes: 4,
        train: Some(75),
        test: Some(15),
        ..DataOptions::default()
    };
    let images = find("synthetic-images").and_then(|images| images.load(&options));
    let images = images.expect("images");
    images.train_transforms(vec![Arc::new(RandomFlip::default())])
}

fn settings(ranks: usize) -> Settings {
    Settings {
        epochs: EPOCHS_OF_A_RUN,
        time_steps: 2,
        batch_size: 20 / ranks,
        evaluation_batch: Some(10),
        validation: 0.2,
        encoder: Direct.into(),
        augment: Augment {
            transforms: vec![RandomErasing::default().into()],
            ..Augment::default()
        },
        mixup: Some(0.4),
        cutmix: Some(1.0),
        normalize: Some(Normalize {
            mean: vec![0.5],
            std: vec![0.2],
        })
        .into(),
        ..Settings::default()
    }
}

/// A run that ends when it asks for the time after `answered`, and how often it asks.
fn trainer(
    folder: &Path,
    ranks: usize,
    answered: usize,
    asked: &Arc<AtomicUsize>,
) -> Trainer<'static> {
    let network = Sequential::new()
        .add(Conv2d::new(3, 4, 3).bias(false).stride(2))
        .add(BatchNorm2d::new(4))
        .add(Lif::new(2.0))
        .add(Flatten)
        .add(Linear::new(4 * 3 * 3, 4).bias(false))
        .add(Lif::new(2.0));
    let resumes = folder.join(LAST).exists();
    let asked = asked.clone();
    Trainer {
        end_request: Some(Arc::new(move || {
            asked.fetch_add(1, Ordering::Relaxed) >= answered
        })),
        ..Trainer::new(network, settings(ranks))
            .folder(folder)
            .resume(resumes)
            .curve_steps(1)
    }
}

fn train(folder: &Path, answered: usize, threads: usize) -> (FitReport, usize) {
    let asked = Arc::default();
    let trainer = trainer(folder, 1, answered, &asked).loader_threads(threads);
    let report = trainer.fit(&data()).expect("all is well");
    (report, asked.load(Ordering::Relaxed))
}

fn train_ranks<const N: usize>(folder: &Path, answered: usize) -> [FitReport; N] {
    let data = data();
    let train = |group: &Arc<RankGroup>| {
        let backend = Arc::new(Cpu::new(1)?.in_group(group.process_group()));
        let trainer = trainer(folder, N, answered, &Arc::default());
        trainer.backend(backend).group(group.clone()).fit(&data)
    };
    let reports = RankGroup::run_threads(N, Timeouts::default(), train).expect("a port");
    let reports: spikelet_core::Result<Vec<FitReport>> = reports.into_iter().collect();
    let reports = reports.expect("all is well");
    reports.try_into().expect("a report for each rank")
}

#[test]
fn a_run_over_lazy_images_that_is_interrupted_after_any_batch_ends_with_the_same_bits() {
    let folders = tempfile::tempdir().expect("a folder");
    let unbroken = folders.path().join("unbroken");
    let (report, asked) = train(&unbroken, NEVER, 1);
    let checkpoint = Checkpoint::read(unbroken.join(LAST)).expect("a checkpoint");
    let dataset = checkpoint.dataset;
    let sizes = (
        dataset.train_samples,
        dataset.validation_samples,
        dataset.test_samples,
    );
    assert_eq!(sizes, (60, 15, 15));
    assert_eq!(dataset.name, "synthetic images");
    assert_eq!(dataset.classes[3], "pattern 3");
    #[cfg(feature = "plots")]
    assert!(report.report.is_some_and(|path| path.exists()));
    let expected = left(&unbroken);
    for answered in 0..asked {
        let folder = folders.path().join(answered.to_string());
        assert!(train(&folder, answered, 3).0.interrupted);
        assert!(!train(&folder, NEVER, 2).0.interrupted);
        assert_eq!(left(&folder), expected, "interrupted after {answered}");
    }
}

#[test]
fn ranks_that_resume_in_an_epoch_of_lazy_images_end_with_the_same_bits() {
    let folders = tempfile::tempdir().expect("a folder");
    let [unbroken, broken] = ["unbroken", "broken"].map(|name| folders.path().join(name));
    train_ranks::<2>(&unbroken, NEVER);
    for batches in 1..3 {
        let ends = train_ranks::<2>(&broken, 0);
        assert!(ends.iter().all(|end| end.interrupted));
        let checkpoint = Checkpoint::read(broken.join(LAST)).expect("a checkpoint");
        assert_eq!(checkpoint.progress.batch, batches);
    }
    train_ranks::<2>(&broken, NEVER);
    assert_eq!(left(&broken), left(&unbroken));
}
