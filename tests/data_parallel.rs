//! Ranks, here threads, that train one network.

use crate::changed_images::changed_images;
use crate::largest;

use largest::larger;
use spikelet::data::{Split, synthetic};
use spikelet::distributed::{
    Address, ENDED_BY_ANOTHER_RANK, Fingerprint, RankError, RankGroup, Timeouts, World,
};
use spikelet::layer::TimeDistributed;
use spikelet::prelude::*;
use spikelet::tensors::TensorFile;
use spikelet::train::FitReport;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// The result of the trainer of each rank.
fn train(
    ranks: usize,
    trainer: impl Fn() -> Trainer<'static> + Sync,
    data: &Split,
) -> Vec<Result<FitReport>> {
    let results = RankGroup::run_threads(ranks, Timeouts::default(), |group| {
        let backend = spikelet::device::open_in_group(group, "cpu", 1)?;
        trainer().backend(backend).group(group.clone()).fit(data)
    });
    results.expect("a port")
}

fn all_well(ends: Vec<Result<FitReport>>) -> Vec<FitReport> {
    ends.into_iter()
        .map(|end| end.expect("all is well"))
        .collect()
}

fn network() -> Sequential {
    Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 20).bias(false))
        .add(Lif::new(2.0))
        .add(Linear::new(20, 10).bias(false))
        .add(Lif::new(2.0))
}

/// Without draws on the device, so that the number of ranks decides nothing but the order of sums.
fn settings(batch_size: usize, epochs: usize) -> Settings {
    Settings {
        batch_size,
        epochs,
        time_steps: 3,
        encoder: Direct.into(),
        schedule: LrSchedule::default(),
        optimizer: Sgd::new(0.05).into(),
        ..Settings::default()
    }
}

fn tensors(folder: &Path) -> TensorFile {
    TensorFile::read(folder.join("last.safetensors")).expect("a checkpoint")
}

#[test]
fn ranks_make_the_step_that_one_would_make_with_all_their_images() -> Result<()> {
    let data = synthetic::digits_of(0, 256, 64);
    let folder = tempfile::tempdir().expect("a folder");
    let alone = folder.path().join("alone");
    let one = Trainer::new(network(), settings(48, 2))
        .folder(&alone)
        .fit(&data)?;
    for ranks in [2, 3] {
        let own = folder.path().join(ranks.to_string());
        let trainer = || Trainer::new(network(), settings(48 / ranks, 2)).folder(&own);
        let ends = all_well(train(ranks, trainer, &data));
        for end in &ends {
            let (first, last) = (&one.history[1], &end.history[1]);
            assert!((first.train.loss - last.train.loss).abs() < 1e-5);
            assert_eq!(
                (end.test_accuracy(), end.history.len()),
                (ends[0].test_accuracy(), 2)
            );
        }
        let (ours, theirs) = (tensors(&alone).tensors, tensors(&own).tensors);
        for (name, ours) in &ours {
            let pairs = ours.to_f64().into_iter().zip(theirs[name].to_f64());
            let furthest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, larger);
            assert!(furthest < 1e-5, "{name} differs by {furthest}");
        }
    }
    Ok(())
}

#[test]
fn ranks_draw_what_one_would_draw_for_all_their_images() -> Result<()> {
    let data = synthetic::digits_of(0, 144, 64);
    // Rows of ten draws, which are no whole groups of the generator, and rows of 784.
    let net = || {
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(784, 10).bias(false))
            .add(Dropout::new(0.5))
            .add(Lif::new(2.0))
    };
    let drawn = |batch_size| Settings {
        encoder: Poisson.into(),
        ..settings(batch_size, 2)
    };
    let one = Trainer::new(net(), drawn(48)).fit(&data)?;
    for ranks in [2, 3] {
        for end in all_well(train(
            ranks,
            || Trainer::new(net(), drawn(48 / ranks)),
            &data,
        )) {
            let (first, last) = (&one.history[1], &end.history[1]);
            assert!((first.train.loss - last.train.loss).abs() < 1e-6);
            assert!((first.test_loss() - last.test_loss()).abs() < 1e-6);
        }
    }
    Ok(())
}

#[test]
fn ranks_evaluate_to_what_one_finds_to_the_last_bit() -> Result<()> {
    // Three whole batches and a rest, with draws.
    let data = synthetic::digits_of(0, 64, 1700);
    let still = Settings {
        optimizer: Sgd::new(1e-30).into(),
        encoder: Poisson.into(),
        ..settings(8, 1)
    };
    let one = Trainer::new(network(), still.clone()).fit(&data)?;
    for ranks in [2, 5] {
        for end in all_well(train(
            ranks,
            || Trainer::new(network(), still.clone()),
            &data,
        )) {
            assert_eq!(end.test_accuracy(), one.test_accuracy());
            assert_eq!(end.history[0].test_loss(), one.history[0].test_loss());
        }
    }
    Ok(())
}

fn normalized() -> Sequential {
    Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 12).bias(false))
        .add(BatchNorm1d::new(12))
        .add(Lif::new(2.0))
        .add(Linear::new(12, 10).bias(false))
        .add(Lif::new(2.0))
}

#[test]
fn batch_norm_over_all_ranks_is_that_of_all_their_images() -> Result<()> {
    let data = synthetic::digits_of(0, 96, 64);
    let folder = tempfile::tempdir().expect("a folder");
    let [alone, own] = ["alone", "own"].map(|name| folder.path().join(name));
    Trainer::new(normalized(), settings(32, 2))
        .folder(&alone)
        .fit(&data)?;
    let over_all = Settings {
        sync_batch_norm: true,
        ..settings(16, 2)
    };
    let trainer = || Trainer::new(normalized(), over_all.clone()).folder(&own);
    all_well(train(2, trainer, &data));
    let (ours, theirs) = (tensors(&alone).tensors, tensors(&own).tensors);
    for (name, ours) in &ours {
        let pairs = ours.to_f64().into_iter().zip(theirs[name].to_f64());
        let furthest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, larger);
        assert!(furthest < 1e-4, "{name} differs by {furthest}");
    }
    Ok(())
}

#[test]
fn running_statistics_of_ranks_are_one_network_s() {
    let data = synthetic::digits_of(0, 128, 600);
    let ends = all_well(train(
        2,
        || Trainer::new(normalized(), settings(16, 2)),
        &data,
    ));
    assert_eq!(
        ends[0].history[1].test_loss(),
        ends[1].history[1].test_loss()
    );
}

/// Nothing but black in one image.
fn with_a_black_image(data: &Split) -> Split {
    let train = changed_images(&*data.train, |pixels, _| pixels[..784].fill(0));
    Split::new(train, data.test.clone())
}

#[test]
fn a_loss_that_is_not_finite_on_one_rank_ends_all_with_its_name() {
    let data = with_a_black_image(&synthetic::digits_of(0, 128, 32));
    let net = || {
        // Nothing divided by nothing, where all is black.
        let share = TimeDistributed(|_: &Context, x: Var| {
            let (images, pixels) = (x.dim(0), x.dim(1));
            let whole = x.sum(&[1]).reshape([images, 1]).expand([images, pixels]);
            Ok(&x / &whole)
        });
        Sequential::new()
            .add(Flatten)
            .add(share)
            .add(Linear::new(784, 10).bias(false))
    };
    let ends = train(2, || Trainer::new(net(), settings(16, 1)), &data);
    let errors: Vec<RankError> = ends.into_iter().map(rank_error).collect();
    assert_eq!(errors[0].rank, errors[1].rank);
    assert_eq!(errors.iter().filter(|end| end.own).count(), 1);
    for error in errors {
        assert!(error.reason.contains("the loss is NaN"), "{error}");
    }
}

fn rank_error(end: Result<FitReport>) -> RankError {
    match end {
        Err(error) => error.downcast().expect("a rank's"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_batch_that_all_ranks_together_do_not_fill_is_refused() {
    let data = synthetic::digits_of(0, 100, 32);
    let ends = train(3, || Trainer::new(network(), settings(40, 1)), &data);
    for end in ends {
        let message = rank_error(end).to_string();
        assert!(
            // A tenth is for validation.
            message.contains("40 on each of 3 ranks were given, the training set has 90 samples"),
            "{message}"
        );
    }
}

/// The variable that makes this test program a rank, with where rank 0 is.
const DEAF: &str = "SPIKELET_TEST_DEAF_RANK";

#[test]
fn a_program_ends_a_process_that_does_not_end_with_the_others() -> Result<()> {
    let timeouts = Timeouts {
        shutdown: Duration::from_millis(300),
        ..Timeouts::default()
    };
    if let Ok(master) = std::env::var(DEAF) {
        let world = World::new(1, 2, 1, master.parse()?)?;
        let group = RankGroup::connect(world, &Fingerprint::new(), timeouts)?;
        group.on_overdue(Box::new(|error| {
            eprintln!("error: {error}");
            std::process::exit(i32::from(ENDED_BY_ANOTHER_RANK));
        }));
        return group.run(|| {
            loop {
                thread::sleep(Duration::from_secs(1));
            }
        });
    }
    let (listener, master) = Address::listen_on_loopback()?;
    let world = World::new(0, 2, 0, master.clone())?;
    let test = "data_parallel::a_program_ends_a_process_that_does_not_end_with_the_others";
    let deaf = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture"])
        .env(DEAF, master.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts again");
    let first = RankGroup::connect_with_listener(listener, world, &Fingerprint::new(), timeouts);
    let first = first.and_then(|group| {
        group.run(|| Err::<(), Error>(Error::invalid("the disk", "it is full", "tidy up")))
    });
    let ended = deaf.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(first.is_err());
    assert_eq!(
        ended.status.code(),
        Some(i32::from(ENDED_BY_ANOTHER_RANK)),
        "{said}"
    );
    assert!(
        said.contains("error: rank 0 of 2 on ") && said.contains("the disk: it is full"),
        "{said}"
    );
    Ok(())
}
