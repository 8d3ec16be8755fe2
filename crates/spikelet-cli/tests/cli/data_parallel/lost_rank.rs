//! Ranks that are killed, stopped or interrupted, with and without a launcher.

use super::*;

#[test]
fn a_killed_rank_ends_all_and_the_resumed_run_is_equal_to_the_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let [unbroken, broken] = ["unbroken", "broken"].map(|name| folder.path().join(name));
    let out = text(&unbroken);
    said(&words(&[&LONG, &["--data-parallel", "2", "--out", &out]]));
    let out = text(&broken);
    let [first, mut second] = start_two(&words(&[&LONG, &["--out", &out]]));
    wait_for("a checkpoint", || broken.join("last.safetensors").exists());
    second.kill().expect("it can be killed");
    second.wait().expect("it can be waited for");
    let killed = Instant::now();
    let first = end(first);
    assert!(killed.elapsed() < Duration::from_secs(30));
    let message = stderr(&first);
    assert_eq!(code(&first), 4, "{message}");
    assert!(message.starts_with("error: rank 1 of 2 on "), "{message}");
    assert!(
        message.contains(&format!("checkpoint: {out}/last.safetensors (step ")),
        "{message}"
    );
    assert!(!same(&unbroken, &broken));
    said(&words(&[
        &LONG,
        &["--data-parallel", "2", "--resume", "--out", &out],
    ]));
    assert!(same(&unbroken, &broken));
    assert_eq!(epochs(&unbroken), epochs(&broken));
}

#[test]
fn a_stopped_rank_ends_the_run_of_all() {
    let folder = tempfile::tempdir().expect("a folder");
    for culprit in [1, 0] {
        let out = folder.path().join(culprit.to_string());
        let arguments = [
            "--rank-timeout",
            "3",
            "--epochs",
            "100000",
            "--train-images",
            "512",
        ];
        let ranks = start_two(&words(&[&arguments, &["--out", &text(&out)]]));
        wait_for("a checkpoint", || out.join("last.safetensors").exists());
        signal("-STOP", &ranks[culprit]);
        let [first, second] = ranks;
        let (stopped, other) = if culprit == 0 {
            (first, second)
        } else {
            (second, first)
        };
        let other = end(other);
        let message = stderr(&other);
        assert_eq!(code(&other), 4, "{message}");
        assert!(
            message.starts_with(&format!("error: rank {culprit} of 2 on ")),
            "{message}"
        );
        assert!(message.contains("no heartbeat for 3 s"), "{message}");
        assert!(message.contains("last.safetensors (step "), "{message}");
        // The resumed rank fails as well: the others have ended.
        signal("-CONT", &stopped);
        assert_ne!(code(&end(stopped)), 0);
    }
}

#[test]
#[cfg(unix)]
fn an_interruption_of_the_launcher_saves_and_ends_all_ranks() {
    let folder = tempfile::tempdir().expect("a folder");
    let [unbroken, broken] = ["unbroken", "broken"].map(|name| folder.path().join(name));
    said(&words(&[
        &LONG,
        &["--data-parallel", "2", "--out", &text(&unbroken)],
    ]));
    let out = text(&broken);
    let arguments = words(&[&LONG, &["--data-parallel", "2", "--out", &out]]);
    let mut command = program(&arguments);
    let launcher = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let launcher = launcher.expect("the program starts");
    wait_for("a checkpoint", || broken.join("last.safetensors").exists());
    signal("-TERM", &launcher);
    let output = end(launcher);
    assert_eq!(code(&output), 130, "{}", stderr(&output));
    assert!(
        stdout(&output).contains("interrupted after"),
        "{}",
        stdout(&output)
    );
    // The checkpoint is probably in the middle of an epoch; another number of ranks continues there.
    let other = folder.path().join("other");
    std::fs::create_dir(&other).expect("a folder");
    for file in ["last.safetensors", "epochs.jsonl"] {
        std::fs::copy(broken.join(file), other.join(file)).expect("a copy");
    }
    let go_on = ["--data-parallel", "1", "--resume", "--out", &text(&other)];
    let alone = said(&words(&[&LONG, &go_on]));
    assert!(
        alone.contains("the checkpoint is of 2 ranks, here is 1"),
        "{alone}"
    );
    let shares = epochs(&other);
    assert_eq!(shares.len(), 6);
    for epoch in shares {
        let share = epoch["train_accuracy"].as_f64().expect("a number");
        assert!((0.0..=1.0).contains(&share), "{epoch}");
    }
    said(&words(&[
        &LONG,
        &["--data-parallel", "2", "--resume", "--out", &out],
    ]));
    assert!(same(&unbroken, &broken));
}

/// The processes that a launcher has started, by rank.
#[cfg(target_os = "linux")]
fn children(launcher: &Child) -> Vec<String> {
    let id = launcher.id();
    let listed = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
    let listed = listed.expect("a list of children");
    listed.split_whitespace().map(String::from).collect()
}

/// Two ranks that go on until somebody ends them, and have saved a checkpoint.
#[cfg(target_os = "linux")]
fn endless(folder: &Path, errors: Stdio) -> Child {
    let out = folder.join("run");
    let run = ["--train-images", "512", "--epochs", "100000"];
    let ranks = ["--data-parallel", "2", "--out", &text(&out)];
    let mut command = program(&words(&[&run, &ranks]));
    let launcher = command.stdout(Stdio::null()).stderr(errors).spawn();
    wait_for("a checkpoint", || out.join("last.safetensors").exists());
    launcher.expect("it starts")
}

#[test]
#[cfg(target_os = "linux")]
fn a_launcher_ends_as_the_rank_that_failed_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let launcher = endless(folder.path(), Stdio::piped());
    let killed = Command::new("kill")
        .args(["-KILL", &children(&launcher)[1]])
        .status();
    assert!(killed.expect("kill starts").success());
    let output = end(launcher);
    let message = stderr(&output);
    assert_eq!(code(&output), 128 + 9, "{message}");
    assert!(message.contains("its connection closed"), "{message}");
    assert!(
        message.contains("error: rank 1 of 2 on ") && message.contains("ended with signal 9"),
        "{message}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_stopped_rank_does_not_block_its_launcher() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = text(&folder.path().join("run"));
    let run = ["--train-images", "512", "--epochs", "100000", "--out", &out];
    let ranks = ["--data-parallel", "2", "--rank-timeout", "2"];
    let mut command = program(&words(&[&run, &ranks]));
    let launcher = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let launcher = launcher.expect("it starts");
    let last = folder.path().join("run/last.safetensors");
    wait_for("a checkpoint", || last.exists());
    let stopped = Command::new("kill")
        .args(["-STOP", &children(&launcher)[1]])
        .status();
    assert!(stopped.expect("kill starts").success());
    let began = Instant::now();
    let output = end(launcher);
    let took = began.elapsed();
    let message = stderr(&output);
    assert!(message.contains("no heartbeat for 2 s"), "{message}");
    assert_eq!(code(&output), 4, "{message}");
    // Two seconds of silence, one to say so, half a second for the stopped one, and a busy machine.
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn no_rank_outlives_its_launcher() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut launcher = endless(folder.path(), Stdio::null());
    let children = children(&launcher);
    assert_eq!(children.len(), 2);
    launcher.kill().expect("it can be killed");
    launcher.wait().expect("it can be waited for");
    let lives = |child: &String| {
        let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        // A zombie, which has ended but has not been waited for, does not count.
        state
            .rsplit(')')
            .next()
            .is_some_and(|rest| !rest.is_empty() && !rest.trim().starts_with('Z'))
    };
    wait_for("the ranks' end", || !children.iter().any(lives));
}
