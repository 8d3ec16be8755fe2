//! Ranks that must not train together, or cannot connect.

use super::*;

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
fn different_settings_of_two_ranks_are_an_error_on_both() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = text(folder.path());
    let of_rate = |rate| words(&[&SHORT, &["--lr", rate, "--out", &out]]);
    for output in start_each([&of_rate("0.5"), &of_rate("0.25")]).map(end) {
        assert_eq!(code(&output), 1);
        let message = stderr(&output);
        mentions(&message, &["optimizer.lr", "0.5", "0.25"]);
    }
}

#[test]
fn ranks_without_a_secret_do_not_connect_if_other_hosts_can_reach_them() {
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
