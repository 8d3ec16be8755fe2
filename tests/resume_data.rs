//! Runs over every kind of data are interrupted and resumed: with any number of threads, and as two ranks, they end with the bits
//! of the unbroken run.

use spikelet::data::{
    DataOptions, Dataset, Field, FrameSettings, FramesOn, InMemory, RandomFlip, Split, Subset,
    find, synthetic,
};
use spikelet::distributed::{RankGroup, Timeouts};
use spikelet::prelude::*;
use spikelet::sequence;
use spikelet::tensors::TensorFile;
use spikelet::train::{Outputs, Step, metric};
use spikelet_cpu::Cpu;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The samples of a kind.
struct Kind {
    name: &'static str,
    data: Split,
    /// Sizes of a time step.
    features: usize,
    classes: usize,
    /// The time steps of sequences; images are encoded.
    steps: Option<usize>,
}

/// The first samples of a data set that needs no files.
fn named(name: &'static str, options: &DataOptions) -> Split {
    let found = find(name).expect("it is known");
    let split = found.load(options).expect("it needs no files");
    let first = |data: &Arc<dyn Dataset>, samples: usize| -> Arc<dyn Dataset> {
        Arc::new(Subset::new(data.clone(), (0..samples).collect()).expect("enough samples"))
    };
    Split::new(first(&split.train, 24), first(&split.test, 8))
}

fn gestures(frames_on: FramesOn) -> Split {
    let frames = FrameSettings {
        rule: Some("number=4".parse().expect("a rule")),
        frames_on,
        ..FrameSettings::default()
    };
    let options = DataOptions {
        frames,
        time_steps: 4,
        ..DataOptions::default()
    };
    named("synthetic-gestures-34", &options)
}

fn kinds() -> Vec<Kind> {
    let images = DataOptions {
        image: [3, 8, 8],
        classes: 4,
        ..DataOptions::default()
    };
    let lazy = named("synthetic-images", &images);
    let frames = |name, frames_on| Kind {
        name,
        data: gestures(frames_on),
        features: 2 * 34 * 34,
        classes: 10,
        steps: Some(4),
    };
    vec![
        Kind {
            name: "images in memory",
            data: synthetic::digits_of(0, 24, 8),
            features: 784,
            classes: 10,
            steps: None,
        },
        Kind {
            name: "images that are made when they are needed",
            data: lazy.train_transforms(vec![Arc::new(RandomFlip::default())]),
            features: 192,
            classes: 4,
            steps: None,
        },
        frames("frames of recordings", FramesOn::Host),
        frames("frames on the device", FramesOn::Device),
        Kind {
            name: "sequences",
            data: named("synthetic-braille", &DataOptions::default()),
            features: 12,
            classes: 7,
            steps: Some(256),
        },
    ]
}

const NEVER: usize = usize::MAX;

/// How a run is trained.
#[derive(Clone, Copy)]
struct How {
    /// The batch before which it ends.
    ends_before: usize,
    threads: usize,
    ranks: usize,
}

/// Trains two epochs of three batches, or what is left of them.
fn train(
    trainer: impl Fn() -> Trainer<'static> + Sync,
    data: &(impl spikelet::train::loaders::TrainingData + Sync),
    folder: &Path,
    how: How,
) {
    let one = |trainer: Trainer<'static>| {
        let asked = AtomicUsize::new(0);
        let trainer = trainer
            .folder(folder)
            .resume(folder.exists())
            .loader_threads(how.threads)
            .end_when(move || asked.fetch_add(1, Ordering::Relaxed) >= how.ends_before);
        trainer.fit(data).map(|_| ())
    };
    if how.ranks == 1 {
        let cpu = spikelet::device::find("cpu", how.threads).expect("a CPU");
        return one(trainer().backend(cpu)).expect("it is trained");
    }
    let of_rank = |group: &Arc<RankGroup>| {
        let cpu = Arc::new(Cpu::new(1)?.in_group(group.process_group()));
        one(trainer().backend(cpu).group(group.clone()))
    };
    let ended = RankGroup::run_threads(how.ranks, Timeouts::default(), of_rank).expect("a port");
    ended
        .into_iter()
        .for_each(|end| end.expect("it is trained"));
}

/// Compares broken runs with the unbroken one.
fn check(
    name: &str,
    trainer: impl Fn(usize) -> Trainer<'static> + Sync,
    data: &(impl spikelet::train::loaders::TrainingData + Sync),
) {
    let folders = tempfile::tempdir().expect("a folder");
    let state = |folder: &Path| {
        TensorFile::read(folder.join("last.safetensors"))
            .expect("a checkpoint")
            .tensors
    };
    for ranks in [1, 2] {
        let unbroken = folders.path().join(format!("{ranks}"));
        let how = |ends_before, threads| How {
            ends_before,
            threads,
            ranks,
        };
        train(|| trainer(ranks), data, &unbroken, how(NEVER, 1));
        for batch in [1, 4] {
            let broken = folders.path().join(format!("{ranks}-{batch}"));
            train(|| trainer(ranks), data, &broken, how(batch, 2));
            train(|| trainer(ranks), data, &broken, how(NEVER, 4));
            assert!(
                state(&broken) == state(&unbroken),
                "{name}: {ranks} ranks, ended before batch {batch}"
            );
        }
    }
}

fn settings(ranks: usize) -> Settings {
    Settings {
        epochs: 2,
        batch_size: 8 / ranks,
        time_steps: 3,
        ..Settings::default()
    }
}

#[test]
fn runs_over_every_kind_of_data_resume_with_the_same_bits() {
    for kind in kinds() {
        let trainer = |ranks| {
            let mut settings = settings(ranks);
            if let Some(steps) = kind.steps {
                settings.use_sequences(steps);
            }
            let net = Sequential::new()
                .add(Flatten)
                .add(Linear::new(kind.features, 16))
                .add(Lif::new(2.0))
                .add(Dropout::new(0.2))
                .add(Linear::new(16, kind.classes))
                .add(Lif::new(2.0));
            Trainer::new(net, settings)
        };
        check(kind.name, trainer, &kind.data);
    }
}

#[test]
fn runs_over_sequences_of_different_lengths_resume_with_the_same_bits() -> Result<()> {
    let lengths: Vec<usize> = (0..24).map(|k| 3 + k % 5).collect();
    let values = (0..lengths.iter().sum::<usize>() * 4).map(|k| (k % 7) as f32 / 3.0);
    let field = Field::new("x", DType::F32, [7, 4]).sequence().pad(0.0);
    let data = InMemory::new("walks")
        .with_lengths(field, values.collect::<Vec<f32>>(), &lengths)?
        .with(
            Field::new("labels", DType::I64, []),
            (0..24).map(|k| k % 3).collect::<Vec<i64>>(),
        )?;
    let data: Arc<dyn Dataset> = Arc::new(data);
    let trainer = |ranks| {
        let net = Sequential::new()
            .add(Linear::new(4, 8))
            .add(Lif::new(2.0))
            .add(Linear::new(8, 3));
        let step =
            Step::new(move |cx, inputs| {
                let y = net.forward(cx, &inputs["x"])?;
                let scores = sequence::mean(&y, &inputs["x_length"]);
                let loss = loss::cross_entropy(&scores, &inputs["labels"]);
                Ok(Outputs::loss(loss)
                    .metric("accuracy", metric::accuracy(&scores, &inputs["labels"])))
            });
        Trainer::over(step, settings(ranks))
    };
    check("sequences of different lengths", trainer, &data);
    Ok(())
}
