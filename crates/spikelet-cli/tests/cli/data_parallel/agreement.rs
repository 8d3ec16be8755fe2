//! Ranks agree: on the result, and with runs of other launchers and numbers of ranks.

use super::*;

#[test]
fn two_ranks_are_reproducible_and_only_rank_0_prints() {
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
fn ranks_of_another_launcher_compute_the_same_result() {
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
fn a_run_resumes_with_another_number_of_ranks() {
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
