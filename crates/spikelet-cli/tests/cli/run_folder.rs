//! Folders of runs, checkpoints, resuming.

use crate::common::mentions;
use crate::small::{SMALL, complaint_in, said_in};

#[test]
fn each_run_has_a_folder_of_its_own_and_the_latest_is_resumed() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let refused = complaint_in(folder, &["train", "--resume"]);
    assert!(refused.contains("runs/mnist-fc"), "{refused}");

    let once = ["train", "--epochs", "1", "--schedule", "constant"];
    let train = [&once[..], &SMALL[..]].concat();
    said_in(folder, &train);
    said_in(folder, &[&train[..], &["--seed", "5"]].concat());
    let runs = folder.join("runs/mnist-fc");
    let mut names: Vec<String> = std::fs::read_dir(&runs)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(
        names[0].ends_with("-001") && names[1].ends_with("-002"),
        "{names:?}"
    );
    assert_eq!(names[2], "latest");
    let read = |run: &str| {
        let path = runs.join(run).join("last.safetensors");
        spikelet::train::Checkpoint::read(&path).expect("a checkpoint")
    };
    let seed = |run: &str| read(run).settings().expect("a classifier").seed;
    assert_eq!((seed("latest"), seed(&names[0])), (5, 0));

    // Network, settings and data are those of the run.
    said_in(folder, &["train", "--resume", "--epochs", "2"]);
    assert_eq!(read(&names[1]).progress.epoch, 2);
    let first = format!("runs/mnist-fc/{}", names[0]);
    said_in(folder, &["train", "--resume", &first, "--epochs", "3"]);
    assert_eq!(read(&names[0]).progress.epoch, 3);
    let file = format!("{first}/last.safetensors");
    said_in(folder, &["train", "--epochs", "4", "--resume", &file]);
    assert_eq!(read(&names[0]).progress.epoch, 4);

    // The folder of a run is named like any other path, also without a separator.
    let bare = said_in(&runs, &["config", &names[0]]);
    assert_eq!(bare, said_in(folder, &["config", &first]));
    for words in [
        &["check", &first][..],
        &["convert", &first, "weights.npz"],
        &[
            "train",
            "--init-from",
            &first,
            "--epochs",
            "1",
            "--train-images",
            "100",
            "--out",
            "c",
        ],
    ] {
        said_in(folder, words);
    }
    std::fs::create_dir(folder.join("none")).expect("a folder");
    let refused = complaint_in(folder, &["eval", "none"]);
    mentions(&refused, &["no checkpoint in the folder none"]);
    let refused = complaint_in(folder, &["watch", "none"]);
    mentions(&refused, &["there is no run in none"]);
    assert!(!refused.contains("resume:"), "{refused}");

    for (words, expected) in [
        (
            &["--resume", &first, "--lr", "0.5"][..],
            &["optimizer.lr", "0.002", "0.5"][..],
        ),
        (
            &["--resume", &first, "--train-images", "300"],
            &["dataset.train_samples", "230", "270"],
        ),
        (
            &["csnn", "--resume", &first],
            &["network.name", "mnist-fc", "csnn"],
        ),
        (&["--resume", "nowhere"], &["nowhere/last.safetensors"]),
        (
            &["--resume", &first, "--out", "elsewhere"],
            &["--resume", "--out", "elsewhere"],
        ),
        (&["--out", &first], &[&first]),
    ] {
        let refused = complaint_in(folder, &[&["train"], words].concat());
        mentions(&refused, expected);
    }
    let best = format!("{first}/best.safetensors");
    let refused = complaint_in(folder, &["train", "--resume", &best]);
    assert!(refused.contains("optimizer."), "{refused}");
    let replace = ["--out", &first, "--force", "--seed", "6"];
    said_in(folder, &[&train[..], &replace].concat());
    assert_eq!(seed(&names[0]), 6);
}

#[test]
fn weights_that_are_not_finite_are_refused_by_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let once = ["train", "--epochs", "1", "--schedule", "constant"];
    said_in(folder, &[&once[..], &SMALL[..]].concat());
    let path = folder.join("runs/mnist-fc/latest/last.safetensors");
    let mut file = spikelet::tensors::TensorFile::read(&path).expect("a file");
    let weight = file.tensors.get_mut("fc.3.weight").expect("a weight");
    let mut values: Vec<f32> = weight.to_f64().iter().map(|x| *x as f32).collect();
    values[3] = f32::NAN;
    *weight = spikelet::graph::Tensor::f32(weight.shape.clone(), values);
    file.write(&path).expect("writable");
    let last = "runs/mnist-fc/latest/last.safetensors";
    for words in [
        &["eval", last][..],
        &["show", last],
        &["train", "--resume", "--epochs", "2"],
    ] {
        let refused = complaint_in(folder, words);
        assert!(refused.contains("fc.3.weight"), "{words:?}: {refused}");
    }
}
