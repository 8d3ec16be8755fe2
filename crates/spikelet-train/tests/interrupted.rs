//! A training loop over a [`Step`] that is killed, runs out of disk space, or shares its file with another process.
//!
//! The loops run in child processes, which are this test program again: a test that finds [`TASK`] in its environment
//! runs the loop that it names.
#![cfg(unix)]

use spikelet_core::Error;
use spikelet_core::files::{self, FileError};
use spikelet_data::{Augment, DataLoader, LoaderConfig, synthetic};
use spikelet_nn::tensors::TensorFile;
use spikelet_train::optim::{AdamW, Clip, Sgd};
use spikelet_train::prelude::*;
use spikelet_train::{Outputs, Step, TrainStep, metric};
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// The loop of a child process.
const TASK: &str = "SPIKELET_TEST_TASK";
/// Its folder, the seed of its weights, and the number of threads of its loader, 2 by default.
const FOLDER: &str = "SPIKELET_TEST_FOLDER";
const SEED: &str = "SPIKELET_TEST_SEED";
const THREADS: &str = "SPIKELET_TEST_THREADS";

const N: usize = 16;
/// Odd, so that an update can have a batch of either of two epochs.
const BATCHES_OF_EPOCH: usize = 5;
const BATCHES: usize = 12 * BATCHES_OF_EPOCH;
const ACCUMULATED: usize = 2;
/// The line with which a child announces that its loop begins.
const READY: &str = "the loop begins";

/// A network, a step and a loader with everything that has state.
struct Run {
    store: VarStore,
    train: TrainStep,
    loader: DataLoader,
}

impl Run {
    fn new(seed: u64) -> Result<Self> {
        let net = Sequential::new()
            .add(Conv2d::new(1, 4, 3).bias(false).stride(3))
            .add(BatchNorm2d::new(4))
            .add(Lif::new(2.0))
            .add(Dropout::new(0.2))
            .add(Flatten)
            .add(Linear::new(4 * 9 * 9, 10).bias(true));
        let step = Step::new(|cx, inputs| {
            let scores = net.forward(cx, &inputs["images"].repeat_over_time(2))?;
            let scores = scores.mean(&[0]);
            let loss = loss::cross_entropy(&scores, &inputs["labels"]);
            let accuracy = metric::accuracy(&scores, &inputs["labels"]);
            Ok(Outputs::loss(loss).metric("accuracy", accuracy))
        })
        .batch_size(N)
        .input("images", DType::F32, [1, 28, 28])
        .input("labels", DType::I64, [])
        .optimizer(AdamW::new(1e-2))
        .group(
            "5.*",
            Sgd {
                momentum: 0.9,
                ..Sgd::new(5e-2)
            },
        )
        .no_weight_decay_on_vectors()
        .accumulate(ACCUMULATED)
        .clip(Clip::Norm(1.0))
        .ema(0.9)
        .seed(seed);
        let config = LoaderConfig {
            batch_size: N,
            threads: std::env::var(THREADS).map_or(2, |threads| threads.parse().expect("a number")),
            seed,
            augment: Augment {
                crop_padding: 2,
                flip: true,
                ..Augment::default()
            },
            ..LoaderConfig::default()
        };
        let digits = synthetic::digits_of(0, N * BATCHES_OF_EPOCH, 1).train;
        let mut store = VarStore::new(spikelet_nn::device::cpu()?);
        Ok(Self {
            train: step.compile(&mut store)?,
            loader: DataLoader::new(digits, config)?,
            store,
        })
    }

    /// The number of batches that it has trained on.
    fn batches(&self) -> usize {
        self.train.step() as usize * ACCUMULATED + self.train.accumulated_batches()
    }

    /// Trains on the next batches, up to `end` since the beginning.
    fn train(&mut self, end: usize, mut after_each: impl FnMut(&Self) -> Result<()>) -> Result<()> {
        while self.batches() < end {
            let (epoch, first) = (
                self.batches() / BATCHES_OF_EPOCH,
                self.batches() % BATCHES_OF_EPOCH,
            );
            let mut batches = self.loader.epoch(epoch as u64, first);
            self.train.set_lr_factor(1.0 / (1 + epoch) as f64);
            while self.batches() < end
                && let Some(batch) = batches.next().transpose()?
            {
                self.train.run_batch(&batch)?;
                batches.recycle(batch);
                after_each(self)?;
            }
        }
        Ok(())
    }

    fn save(&self, path: &Path) -> Result<()> {
        self.train.save_state(&self.store, path)
    }

    fn resume(&mut self, path: &Path) -> Result<()> {
        self.train.resume(&mut self.store, path)
    }
}

/// The environment of a child; `None` in the test itself.
fn child() -> Option<(String, PathBuf, u64)> {
    let variable = |name| std::env::var(name).ok();
    let seed = variable(SEED)?.parse().expect("a number");
    Some((variable(TASK)?, variable(FOLDER)?.into(), seed))
}

/// This program, which runs `test` with a task.
fn again(test: &str, task: &str, folder: &Path, seed: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args([
            "--exact",
            &format!("interrupted::{test}"),
            "--nocapture",
            "--test-threads=1",
        ])
        .env(TASK, task)
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        // Processes may otherwise choose different algorithms for the same matrix product.
        .env("SPIKELET_GEMM", "gemm")
        .stdout(Stdio::piped());
    command
}

/// Starts a loop, and waits until it begins.
fn started(mut command: Command) -> Child {
    let mut child = command.spawn().expect("it starts again");
    let stdout = child.stdout.take().expect("it is piped");
    let mut lines = BufReader::new(stdout).lines();
    let ready = lines.any(|line| line.is_ok_and(|line| line.contains(READY)));
    assert!(ready, "it ends before its loop: {:?}", child.wait());
    // The rest is read, so that a full pipe does not stop it.
    thread::spawn(move || lines.for_each(drop));
    child
}

/// Runs a loop to its end.
fn finished(mut command: Command) {
    let output = command.output().expect("it starts again");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {message}", output.status);
}

fn state(folder: &Path) -> PathBuf {
    folder.join("state.safetensors")
}

fn numbered(folder: &Path, batches: usize) -> PathBuf {
    folder.join(format!("{batches}.safetensors"))
}

/// Continues from the state of the folder, if it has one, and saves after each batch.
fn saving_loop(folder: &Path, seed: u64) -> Result<()> {
    let mut run = Run::new(seed)?;
    let path = state(folder);
    if path.exists() {
        run.resume(&path)?;
    }
    println!("{READY}");
    run.train(BATCHES, |run| run.save(&path))
}

/// Saves every state to a file of its own.
fn reference_loop(folder: &Path, seed: u64) -> Result<()> {
    Run::new(seed)?.train(BATCHES, |run| run.save(&numbered(folder, run.batches())))
}

/// A folder with the states of an uninterrupted run after each batch.
fn reference(test: &str, seed: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    finished(again(test, "reference", folder.path(), seed));
    folder
}

/// The names in a folder that are not those of complete files.
fn leftovers(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("a file").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names
        .filter(|name| !name.ends_with(".safetensors"))
        .collect()
}

#[test]
fn a_loop_that_is_killed_again_and_again_ends_with_the_same_bits() -> Result<()> {
    const TEST: &str = "a_loop_that_is_killed_again_and_again_ends_with_the_same_bits";
    if let Some((task, folder, seed)) = child() {
        return match task.as_str() {
            "reference" => reference_loop(&folder, seed),
            _ => saving_loop(&folder, seed),
        };
    }
    let expected = reference(TEST, 1);
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (mut kills, mut draw) = (0, 12345_u64);
    loop {
        let mut command = again(TEST, "train", folder, 1);
        command.env(THREADS, ["2", "1", "4"][kills % 3]);
        let mut run = started(command);
        draw = draw
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        thread::sleep(Duration::from_micros((draw >> 40) % 40_000));
        run.kill().expect("it can be killed");
        let status = run.wait().expect("it ends");
        if status.success() {
            break;
        }
        assert_eq!(status.signal(), Some(libc::SIGKILL), "{status}");
        kills += 1;
        // A state at any moment is one of the uninterrupted run, complete.
        if state(folder).exists() {
            let found = TensorFile::read(state(folder))?;
            assert_eq!(found, TensorFile::read(at(&found, expected.path()))?);
        }
        assert!(kills < 1000, "it makes no progress");
    }
    assert!(kills > 0, "no process was killed");
    let found = TensorFile::read(state(folder))?;
    assert_eq!(found, TensorFile::read(numbered(expected.path(), BATCHES))?);
    // Temporary files of killed processes are removed on request.
    files::remove_leftovers(folder)?;
    assert_eq!(leftovers(folder), [""; 0]);
    Ok(())
}

/// The file of an uninterrupted run that has as many batches as this state.
fn at(state: &TensorFile, expected: &Path) -> PathBuf {
    let number = |key: &str| -> usize { state.metadata[key].parse().expect("a number") };
    numbered(
        expected,
        number("step") * ACCUMULATED + number("accumulated_batches"),
    )
}

/// Limits the size of the files that this process writes.
fn limit_files(bytes: libc::rlim_t) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls are given a valid `rlimit`, which the first fills.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit), 0);
        limit.rlim_cur = bytes.min(limit.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
    }
}

/// Saves at batch 7; its disk is full at batches 8 and 9; then it continues to the end.
fn full_disk_loop(folder: &Path, seed: u64) -> Result<()> {
    files::refuse_instead_of_signal();
    let (path, weights) = (state(folder), folder.join("weights.safetensors"));
    let mut run = Run::new(seed)?;
    run.train(7, |_| Ok(()))?;
    run.save(&path)?;
    run.train.save(&run.store, &weights)?;
    let before = [files::read(&path)?, files::read(&weights)?];
    for batches in [8, 9] {
        run.train(batches, |_| Ok(()))?;
        // In the middle of the tensors.
        limit_files(before[1].len() as libc::rlim_t / 2);
        let refused = [run.save(&path), run.train.save(&run.store, &weights)];
        limit_files(libc::RLIM_INFINITY);
        for (refused, file) in refused.into_iter().zip([&path, &weights]) {
            let error = refused.expect_err("there is no space");
            assert!(
                error.to_string().contains(&file.display().to_string()),
                "{error}"
            );
            let Error::File(FileError::Io { source, .. }) = error else {
                panic!("{error:?}")
            };
            assert_eq!(source.kind(), ErrorKind::FileTooLarge);
        }
        assert_eq!([files::read(&path)?, files::read(&weights)?], before);
        assert_eq!(leftovers(folder), [""; 0]);
    }
    // The failed writes do not change the run.
    run.train(BATCHES, |_| Ok(()))?;
    run.save(&path)
}

/// Saves at batch 7, then ends by the signal of the limit.
fn signal_loop(folder: &Path, seed: u64) -> Result<()> {
    let mut run = Run::new(seed)?;
    run.train(7, |_| Ok(()))?;
    run.save(&state(folder))?;
    limit_files(1000);
    run.save(&state(folder))
}

#[test]
fn on_a_full_disk_the_earlier_file_stays_and_the_loop_can_continue() -> Result<()> {
    const TEST: &str = "on_a_full_disk_the_earlier_file_stays_and_the_loop_can_continue";
    if let Some((task, folder, seed)) = child() {
        return match task.as_str() {
            "reference" => reference_loop(&folder, seed),
            "signal" => signal_loop(&folder, seed),
            _ => full_disk_loop(&folder, seed),
        };
    }
    let expected = reference(TEST, 2);
    let folder = tempfile::tempdir().expect("a folder");
    finished(again(TEST, "full disk", folder.path(), 2));
    assert_eq!(
        TensorFile::read(state(folder.path()))?,
        TensorFile::read(numbered(expected.path(), BATCHES))?
    );

    let folder = tempfile::tempdir().expect("a folder");
    let ended = again(TEST, "signal", folder.path(), 2).output();
    let status = ended.expect("it starts again").status;
    assert_eq!(status.signal(), Some(libc::SIGXFSZ), "{status}");
    assert_eq!(
        TensorFile::read(state(folder.path()))?,
        TensorFile::read(numbered(expected.path(), 7))?
    );
    Ok(())
}

#[test]
fn a_file_that_two_loops_save_to_is_always_the_complete_file_of_one() -> Result<()> {
    const TEST: &str = "a_file_that_two_loops_save_to_is_always_the_complete_file_of_one";
    if let Some((task, folder, seed)) = child() {
        return match task.as_str() {
            "reference" => reference_loop(&folder, seed),
            _ => {
                println!("{READY}");
                let mut run = Run::new(seed)?;
                run.train(BATCHES, |run| run.save(&state(&folder)))
            }
        };
    }
    let seeds = [3, 4];
    let expected = seeds.map(|seed| reference(TEST, seed));
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut loops = seeds.map(|seed| started(again(TEST, "train", folder, seed)));
    let check = || -> Result<()> {
        let found = TensorFile::read(state(folder))?;
        let [first, second] = expected
            .each_ref()
            .map(|expected| TensorFile::read(at(&found, expected.path())));
        assert!(
            first? == found || second? == found,
            "the file is of neither"
        );
        Ok(())
    };
    while loops
        .iter_mut()
        .any(|run| run.try_wait().expect("a child").is_none())
    {
        if state(folder).exists() {
            check()?;
        }
    }
    for mut run in loops {
        assert!(run.wait().expect("a child").success());
    }
    check()?;
    assert_eq!(leftovers(folder), [""; 0]);
    // Either can be resumed from it.
    let mut run = Run::new(5)?;
    run.resume(&state(folder))?;
    assert_eq!(run.batches(), BATCHES);
    Ok(())
}
