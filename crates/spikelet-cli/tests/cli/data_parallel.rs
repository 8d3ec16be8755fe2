//! Several processes that train one network: together, to the end, and when one of them fails.

use crate::common::{code, mentions, program, said, stderr, stdout};
use serde_json::Value;
use spikelet::distributed::Address;
use spikelet::tensors::TensorFile;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const NETWORK: [&str; 13] = [
    "train",
    "--hidden",
    "24",
    "--time-steps",
    "4",
    "--batch-size",
    "16",
    "--test-images",
    "600",
    "--schedule",
    "constant",
    "--device",
    "cpu",
];

/// Long enough that a rank can be ended in the middle, and short enough to wait for.
const LONG: [&str; 6] = [
    "--train-images",
    "4096",
    "--epochs",
    "6",
    "--checkpoint-seconds",
    "0.05",
];

const SHORT: [&str; 4] = ["--train-images", "256", "--epochs", "2"];

/// Nothing here takes as long.
const TIMEOUT: Duration = Duration::from_secs(90);

fn words<'a>(parts: &[&[&'a str]]) -> Vec<&'a str> {
    [&[&NETWORK[..]], parts].concat().concat()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A secret, as a launcher gives it to its ranks.
const SECRET: &str = "a secret of these tests";

/// The listening socket of rank 0 of a run, and its port.
fn listener() -> (TcpListener, String) {
    let (listener, address) = Address::listen_on_loopback().expect("a port");
    (listener, address.port.to_string())
}

/// A rank as torchrun starts it, with a secret.
fn rank(rank: usize, size: usize, port: &str, arguments: &[&str]) -> Command {
    let mut command = program(arguments);
    command
        .env("RANK", rank.to_string())
        .env("LOCAL_RANK", rank.to_string())
        .env("WORLD_SIZE", size.to_string())
        .env("MASTER_ADDR", "127.0.0.1")
        .env("MASTER_PORT", port)
        .env("SPIKELET_RENDEZVOUS_SECRET", SECRET);
    command
}

/// Two ranks that are under way, each with arguments of its own. Rank 0 is given its socket, so that
/// nobody else can take the port.
fn start_each(arguments: [&[&str]; 2]) -> [Child; 2] {
    let (listener, port) = listener();
    let mut listener = Some(listener);
    let mut k = 0;
    arguments.map(|arguments| {
        let mut command = rank(k, 2, &port, arguments);
        k += 1;
        if let Some(listener) = listener.take() {
            #[cfg(unix)]
            command
                .env("SPIKELET_RENDEZVOUS_LISTENER", "stdin")
                .stdin(std::os::fd::OwnedFd::from(listener));
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    })
}

fn start_two(arguments: &[&str]) -> [Child; 2] {
    start_each([arguments, arguments])
}

fn signal(name: &str, child: &Child) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(sent.expect("kill starts").success());
}

fn wait_for(what: &str, happens: impl Fn() -> bool) {
    let begun = Instant::now();
    while !happens() {
        assert!(begun.elapsed() < TIMEOUT, "{what} never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn end(child: Child) -> Output {
    child.wait_with_output().expect("it can be waited for")
}

/// Whether two runs ended with the same tensors, those of the optimizer included.
fn same(a: &Path, b: &Path) -> bool {
    let tensors = [a, b].map(|folder| {
        let file = TensorFile::read(folder.join("last.safetensors"));
        file.expect("a checkpoint").tensors
    });
    assert!(!tensors[0].is_empty());
    tensors[0] == tensors[1]
}

/// The epochs of a run, without times.
fn epochs(folder: &Path) -> Vec<Value> {
    let lines = std::fs::read_to_string(folder.join("epochs.jsonl")).expect("a log");
    let parse = |line: &str| {
        let mut epoch: Value = serde_json::from_str(line).expect("JSON");
        let fields = epoch.as_object_mut().expect("an object");
        fields.remove("seconds");
        fields.remove("images_per_second");
        epoch
    };
    lines.lines().map(parse).collect()
}

#[test]
fn two_ranks_come_to_the_same_result_every_time_and_speak_with_one_voice() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = ["a", "b"].map(|name| folder.path().join(name));
    for run in &runs {
        let out = text(run);
        let text = said(&words(&[&SHORT, &["--data-parallel", "2", "--out", &out]]));
        assert!(
            text.contains("2 ranks") && text.contains("32 images"),
            "{text}"
        );
        assert_eq!(text.matches("epoch  1/2").count(), 1, "{text}");
        assert_eq!(text.matches("done in").count(), 1, "{text}");
    }
    assert!(same(&runs[0], &runs[1]));
    assert_eq!(epochs(&runs[0]), epochs(&runs[1]));
    assert_eq!(epochs(&runs[0]).len(), 2);
}

#[test]
fn ranks_that_another_launcher_starts_do_the_same_as_our_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let [own, other] = ["own", "other"].map(|name| folder.path().join(name));
    said(&words(&[
        &SHORT,
        &["--data-parallel", "2", "--out", &text(&own)],
    ]));
    let out = text(&other);
    let ranks = start_two(&words(&[&SHORT, &["--out", &out, "--threads", "1"]]));
    let [first, second] = ranks.map(end);
    assert_eq!((code(&first), code(&second)), (0, 0), "{}", stderr(&first));
    assert!(stdout(&first).contains("2 ranks"), "{}", stdout(&first));
    assert_eq!(
        (stdout(&second), stderr(&second)),
        (String::new(), String::new())
    );
    assert!(same(&own, &other));
}

#[test]
fn arguments_that_contradict_a_launcher_s_variables_are_refused() {
    let mut command = rank(0, 2, "29500", &words(&[&SHORT, &["--data-parallel", "3"]]));
    let output = command.output().expect("it starts");
    assert_eq!(code(&output), 2);
    let message = stderr(&output);
    mentions(&message, &["--data-parallel 3", "WORLD_SIZE", "2"]);
    let mut command = rank(0, 2, "29500", &words(&[&SHORT]));
    let output = command
        .env_remove("WORLD_SIZE")
        .output()
        .expect("it starts");
    assert_eq!(code(&output), 2);
    let message = stderr(&output);
    assert!(
        message.contains("WORLD_SIZE") && message.contains("RANK"),
        "{message}"
    );
}

#[test]
fn ranks_with_other_settings_are_both_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = text(folder.path());
    let of_rate = |rate| words(&[&SHORT, &["--lr", rate, "--out", &out]]);
    for output in start_each([&of_rate("0.5"), &of_rate("0.25")]).map(end) {
        assert_eq!(code(&output), 1);
        let message = stderr(&output);
        mentions(&message, &["learning_rate", "0.5", "0.25"]);
    }
}

#[test]
fn ranks_without_a_secret_do_not_meet_where_other_hosts_reach_them() {
    let start = |more: &[&str]| {
        let mut command = rank(1, 2, "9", &words(&[&SHORT, more]));
        command
            .env_remove("SPIKELET_RENDEZVOUS_SECRET")
            .env("MASTER_ADDR", "192.0.2.1");
        let output = command.output().expect("it starts");
        (code(&output), stderr(&output))
    };
    let (code, message) = start(&[]);
    assert_eq!(code, 2);
    assert!(
        message.contains("192.0.2.1:9") && message.contains("--insecure-rendezvous"),
        "{message}"
    );
    let (code, message) = start(&["--insecure-rendezvous", "--rendezvous-timeout", "0.3"]);
    assert_eq!(code, 1);
    assert!(message.contains("rank 0"), "{message}");
}

#[test]
fn ranks_read_their_secret_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, other] = ["one", "other"].map(|name| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("the secret in file {name}\n")).expect("written");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let own = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&path, own).expect("changed");
        }
        text(&path)
    });
    let out = text(&folder.path().join("run"));
    let with = |file| {
        let more = ["--rendezvous-secret-file", file, "--out", &out];
        words(&[&SHORT, &more, &["--rendezvous-timeout", "5"]])
    };
    for output in start_each([&with(&one), &with(&one)]).map(end) {
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    let [first, second] = start_each([&with(&one), &with(&other)]).map(end);
    assert_eq!((code(&first), code(&second)), (1, 1));
    let [first, second] = [&first, &second].map(stderr);
    assert!(
        first.contains("secret") && second.contains("secret"),
        "{first}{second}"
    );
}

#[test]
fn a_killed_rank_ends_all_and_the_run_goes_on_bit_for_bit() {
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
fn a_rank_that_is_stopped_is_missed_by_all() {
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
        // When it goes on it finds that it is too late.
        signal("-CONT", &stopped);
        assert_ne!(code(&end(stopped)), 0);
    }
}

#[test]
fn a_run_goes_on_with_another_number_of_ranks() {
    let folder = tempfile::tempdir().expect("a folder");
    for (before, after) in [("2", "1"), ("1", "2")] {
        let out = text(&folder.path().join(before));
        let start = ["--train-images", "256", "--epochs", "1", "--out", &out];
        said(&words(&[&start, &["--data-parallel", before]]));
        let go_on = [
            "--train-images",
            "256",
            "--epochs",
            "2",
            "--out",
            &out,
            "--resume",
        ];
        let text = said(&words(&[&go_on, &["--data-parallel", after]]));
        let ranks = |n: &str| if n == "1" { "1 rank" } else { "2 ranks" };
        let expected = format!("the checkpoint is of {}, here ", ranks(before));
        assert!(text.contains(&expected), "{text}");
        assert!(
            text.contains("epoch  2/2") && !text.contains("epoch  1/2"),
            "{text}"
        );
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
    // In the middle of an epoch, most likely: another number of ranks goes on there.
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
fn a_stopped_rank_does_not_hold_its_launcher_up() {
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
        // A process that nobody has waited for yet is none any more.
        state
            .rsplit(')')
            .next()
            .is_some_and(|rest| !rest.is_empty() && !rest.trim().starts_with('Z'))
    };
    wait_for("the ranks' end", || !children.iter().any(lives));
}

#[test]
fn too_many_ranks_for_the_gpus_are_refused_before_any_starts() {
    let arguments = ["--data-parallel", "999", "--device", "cuda"];
    let output = program(&[&["train"], &arguments[..]].concat())
        .output()
        .expect("it starts");
    assert_eq!(code(&output), 2);
    let message = stderr(&output);
    assert!(
        message.starts_with("error: --data-parallel 999: there "),
        "{message}"
    );
}
