use super::*;

use crate::Settings;
use crate::checkpoint::{Checkpoint, DatasetId, Progress, RunDefinition};
use crate::metric::MetricValues;
use crate::optim::Adam;
use serde_json::json;
use spikelet_nn::network::Network;
use spikelet_nn::runtime::VarStore;

/// A record with the accuracy `1 / epoch`.
fn record(epoch: usize) -> EpochRecord {
    let values = MetricValues::new(0.5, [("accuracy", 1.0 / epoch as f64)]);
    EpochRecord {
        epoch,
        train: values.clone(),
        validation: Some(values.clone()),
        test: Some(values),
        monitor: "accuracy".to_string(),
        best: Some(1.0),
        samples_per_second: 100.0,
        seconds: 2.0,
    }
}

/// Writes a run of these settings with a checkpoint after `epoch` epochs and a log of `logged` epochs.
fn write(folder: &Path, settings: Settings, epoch: usize, logged: usize) {
    let network = Network::find("mnist-fc").expect("a name");
    let definition = RunDefinition::of_classifier(Some(network), settings);
    let progress = Progress {
        step: 4 * epoch as u64,
        epoch,
        ranks: 1,
        seconds: 3.0,
        history: (1..=epoch).map(record).collect(),
        ..Progress::default()
    };
    let dataset = DatasetId {
        name: "synthetic".to_string(),
        train_samples: 400,
        validation_samples: 40,
        test_samples: 10,
        sha256: "00".repeat(32),
        classes: vec![],
        folder: None,
    };
    let store = VarStore::new(spikelet_nn::device::cpu().expect("a CPU"));
    let none = std::iter::empty();
    let checkpoint = Checkpoint::take(&store, none, &definition, &progress, &dataset);
    std::fs::create_dir_all(folder).expect("a folder");
    checkpoint
        .and_then(|checkpoint| checkpoint.write(folder.join(LAST)))
        .expect("written");
    let mut log = spikelet_report::log::JsonLines::create(folder.join(EPOCHS)).expect("a log");
    (1..=logged).for_each(|epoch| log.append(&record(epoch)).expect("written"));
}

fn settings() -> Settings {
    Settings {
        epochs: 3,
        batch_size: 100,
        ..Settings::default()
    }
}

#[test]
fn runs_are_found_with_their_states_and_differing_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    write(&at("a/001"), settings(), 3, 3);
    let other = Settings {
        optimizer: Adam::new(0.5).into(),
        ..settings()
    };
    // Its last checkpoint is older than its log.
    write(&at("a/002"), other, 1, 2);
    write(&at("b/003"), settings(), 2, 2);
    std::fs::write(at("b/003").join(REPORT), "<svg/>").expect("written");
    write(&at("b/004"), settings(), 1, 1);
    let lock = super::super::folder::test_lock(&at("b/004"));
    // A run that was killed before its first checkpoint.
    std::fs::create_dir_all(at("c/005")).expect("a folder");
    std::fs::write(at("c/005").join(EPOCHS), "").expect("written");
    // A damaged run, and folders of something else.
    write(&at("c/006"), settings(), 1, 1);
    let damaged = at("c/006").join(LAST);
    let bytes = std::fs::read(&damaged).expect("written");
    std::fs::write(&damaged, &bytes[..bytes.len() / 2]).expect("written");
    std::fs::create_dir_all(at("notes/of/mine")).expect("a folder");

    let found = find_runs(folder.path()).expect("readable");
    let runs: Vec<_> = (found.runs.iter())
        .map(|run| {
            let name = run.folder.strip_prefix(folder.path()).expect("in it");
            let state = run.state.to_string();
            (name.display().to_string(), state, run.history.len())
        })
        .collect();
    let expected = [
        ("a/001", "finished", 3),
        ("a/002", "interrupted", 2),
        ("b/003", "finished", 2),
        ("b/004", "running", 1),
        ("c/005", "interrupted", 0),
    ];
    let expected = expected.map(|(name, state, epochs)| {
        let (name, state) = (name.to_string(), state.to_string());
        (name, state, epochs)
    });
    assert_eq!(runs, expected);
    let pid = Some(std::process::id());
    assert_eq!(found.runs[3].state, RunState::Running { pid });
    drop(lock);
    let first = &found.runs[0];
    assert_eq!(
        (first.network(), first.epochs()),
        (Some("mnist-fc"), Some(3))
    );
    assert_eq!(
        (first.best().map(|r| r.epoch), first.seconds()),
        (Some(1), 6.0)
    );

    let skipped: Vec<_> = (found.skipped.iter())
        .map(|s| (s.folder.clone(), s.error.is_some()))
        .collect();
    assert_eq!(skipped, [(at("c/006"), true), (at("notes"), false)]);

    let rate = |value: f64| Some(json!(value));
    let usual = rate(settings().optimizer.lr());
    let values = vec![usual.clone(), rate(0.5), usual.clone(), usual, None];
    let field = "optimizer.lr".to_string();
    assert_eq!(found.differing_settings(), [Setting { field, values }]);
    let differing = first.differences(&found.runs[1]);
    assert_eq!(differing.len(), 1);
    assert_eq!(differing[0].here, "0.5");
}

#[test]
fn a_run_is_named_by_its_folder_a_file_in_it_or_the_folder_of_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let parent = folder.path().join("mnist-fc");
    let run = parent.join("2026-11-22-001");
    write(&run, settings(), 1, 1);
    for path in [run.clone(), run.join(LAST), parent] {
        let found = RunInfo::read(&path).expect("a run");
        assert_eq!(found.folder, run, "{}", path.display());
    }
    assert!(RunInfo::read(folder.path()).is_err());
    assert!(find_runs(folder.path().join("none")).is_err());
}

#[test]
fn a_run_without_a_checkpoint_is_described_by_its_experiment() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(LOCK), "").expect("written");
    let network = Network::find("csnn").expect("a name");
    let mut experiment = Experiment::of_network(network);
    experiment.use_dataset(Some("mnist".to_string()));
    std::fs::write(folder.path().join(EXPERIMENT), experiment.to_toml()).expect("written");
    let run = RunInfo::read(folder.path()).expect("a run");
    assert_eq!(run.network(), Some("csnn"));
    assert_eq!(run.dataset().as_deref(), Some("MNIST"));
    assert_eq!(run.epochs(), Some(experiment.settings.epochs));
    assert!(run.seconds().is_sign_positive());
}

#[test]
fn a_folder_stands_for_its_best_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    write(&at("2026-11-28-001"), settings(), 1, 1);
    let run = at("2026-11-28-001");
    let file = |path: &Path| crate::folder::checkpoint_file(path).expect("a checkpoint");
    assert_eq!(file(&run), run.join(LAST));
    // The latest run of a folder.
    assert_eq!(file(folder.path()), run.join(LAST));
    assert_eq!(file(&run.join(LAST)), run.join(LAST));
    std::fs::copy(run.join(LAST), run.join(BEST)).expect("copied");
    assert_eq!(file(&run), run.join(BEST));
    assert_eq!(
        Checkpoint::read(&run).expect("a checkpoint").path(),
        run.join(BEST)
    );
    std::fs::create_dir(at("empty")).expect("a folder");
    let error = crate::folder::checkpoint_file(at("empty")).expect_err("no checkpoint");
    assert!(matches!(
        error.downcast_ref(),
        Some(RunFolderError::NoCheckpoint { .. })
    ));
}
