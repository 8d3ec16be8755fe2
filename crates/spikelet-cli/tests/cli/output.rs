//! Output to full disks and to paths that are not text.

use crate::common::{code, complaint, program, stderr};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A path whose last part is not UTF-8.
fn no_text(folder: &Path, start: &str) -> std::path::PathBuf {
    folder.join(OsStr::from_bytes(&[start.as_bytes(), b"\xff.svg"].concat()))
}

/// Runs it with these words of any bytes behind, with and without `--json`.
fn succeeds(words: &[&str], more: &[&OsStr]) {
    for output in [&["--quiet"][..], &["--json"], &[]] {
        let done = program(words).args(more).args(output).output();
        let done = done.expect("the program starts");
        assert_eq!(code(&done), 0, "{words:?} {output:?}: {}", stderr(&done));
    }
}

#[test]
fn a_full_disk_is_reported_as_an_error() {
    for words in [
        &["neuron", "list"][..],
        &["neuron", "show", "lif", "--json"],
        &["--help"],
        &["train", "--help"],
        &["--version"],
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full");
        let done = program(words).stdout(full.expect("it is there")).output();
        let done = done.expect("the program starts");
        assert_eq!(code(&done), 1, "{words:?}");
        let message = stderr(&done);
        assert!(
            message.contains("standard output cannot be written"),
            "{message}"
        );
        assert!(message.contains("help: "), "{message}");
    }
    // A command without output succeeds.
    let full = OpenOptions::new().write(true).open("/dev/full");
    let mut quiet = program(&["neuron", "list", "--quiet"]);
    let done = quiet.stdout(full.expect("it is there")).output();
    assert_eq!(code(&done.expect("the program starts")), 0);
}

#[test]
fn paths_that_are_not_utf8_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| no_text(folder.path(), name);
    let (run, picture) = (at("run"), at("picture"));
    let out = OsStr::new("--out");

    let small = [
        "train",
        "--train-images",
        "64",
        "--test-images",
        "20",
        "--batch-size",
        "32",
    ];
    let small = [
        &small[..],
        &["--time-steps", "2", "--epochs", "1", "--hidden", "8"],
    ]
    .concat();
    let done = program(&small).args([out, run.as_os_str()]).output();
    let done = done.expect("the program starts");
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let checkpoint = run.join("last.safetensors");
    let few = OsStr::new("--test-images=20");
    succeeds(&["eval"], &[checkpoint.as_os_str(), few]);
    succeeds(
        &["show"],
        &[checkpoint.as_os_str(), few, out, picture.as_os_str()],
    );
    assert!(picture.exists());
}

#[test]
fn commands_that_only_test_have_no_option_for_training_images() {
    for command in ["eval", "show"] {
        let message = complaint(&[command, "last.safetensors", "--train-images", "5"], 2);
        assert!(message.contains("'--train-images'"), "{message}");
    }
}

#[test]
fn an_unknown_picture_format_is_an_error_with_one_line_of_help() {
    let message = complaint(&["show", "last.safetensors", "--out", "seven.jpg"], 2);
    assert!(message.contains("neither .svg nor .png"), "{message}");
    assert_eq!(message.matches("help: ").count(), 1, "{message}");
}

#[test]
fn a_misspelled_name_is_answered_with_the_nearest() {
    let message = complaint(&["neuron", "show", "liff"], 2);
    assert!(message.contains("'lif'"), "{message}");
}

#[test]
fn a_number_that_is_too_large_is_answered_with_the_largest() {
    let message = complaint(&["plan", "--hidden", "999999999999"], 2);
    assert!(message.contains("use at most 1048576"), "{message}");
    let message = complaint(&["train", "--epochs", "99999999999"], 2);
    assert!(message.contains("use at most 4294967295"), "{message}");
}

#[test]
fn a_surrogate_is_drawn_for_several_values_of_a_constant() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder
        .path()
        .join("gates.svg")
        .to_string_lossy()
        .into_owned();
    let text = crate::common::said(&[
        "surrogate",
        "show",
        "sigmoid",
        "--vary",
        "alpha=1,2.5,8",
        "--out",
        &out,
    ]);
    assert!(text.ends_with(&format!("picture: {out}\n")), "{text}");
    let svg = std::fs::read_to_string(&out).expect("the picture");
    for curve in ["alpha = 1<", "alpha = 2.5<", "alpha = 8<", "forward<"] {
        assert!(svg.contains(curve), "{curve}");
    }
    for (words, expected) in [
        (&["--out", "gates.png"][..], ".svg"),
        (&["--vary", "alpha=1"], "--out"),
        (&["--vary", "alpha=one", "--out", "g.svg"], "alpha=1,2,4"),
        (
            &["--vary", "beta=1", "--out", "g.svg"],
            "no constant `beta`",
        ),
        (
            &["--vary", "alpha=1,2,3,4,5,6,7", "--out", "g.svg"],
            "at most 6",
        ),
    ] {
        let message = complaint(&[&["surrogate", "show", "sigmoid"], words].concat(), 2);
        assert!(message.contains(expected), "{words:?}: {message}");
    }
}

#[test]
fn the_orders_of_a_neuron_are_drawn_as_bars() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("lif.svg").to_string_lossy().into_owned();
    let sizes = [
        "--neurons",
        "256",
        "--time-steps",
        "2,4",
        "--repeats",
        "1",
        "--warm-up",
        "0",
    ];
    let words = ["bench", "neuron", "--device", "cpu", "--chart", &out];
    let text = crate::common::said(&[&words[..], &sizes].concat());
    assert!(text.ends_with(&format!("chart: {out}\n")), "{text}");
    let svg = std::fs::read_to_string(&out).expect("the chart");
    for part in [
        "T = 2<",
        "T = 4<",
        "forward, f32, ms<",
        "step-by-step-unfused<",
        "layer-by-layer<",
    ] {
        assert!(svg.contains(part), "{part}");
    }
    // Twelve bars and three squares of the legend, on a white page.
    assert_eq!(svg.matches("<rect").count(), 16);
    complaint(&["bench", "neuron", "--chart", "lif.png"], 2);
}
