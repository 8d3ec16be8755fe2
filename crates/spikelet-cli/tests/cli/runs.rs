//! `spikelet runs`: lists and comparisons of runs.

use crate::common::mentions;
use crate::small::{SMALL, complaint_in, said_in};
use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    let each = text.lines();
    each.map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect()
}

#[test]
fn runs_are_listed_and_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let refused = complaint_in(folder, &["runs"]);
    mentions(&refused, &["no folder runs", "spikelet train"]);
    let train = ["train", "--schedule", "constant", "--quiet"];
    let train = [&train[..], &SMALL[..]].concat();
    for (name, more) in [
        ("a", &["--epochs", "1"][..]),
        ("b", &["--epochs", "2", "--lr", "0.01", "--hidden", "8"]),
    ] {
        let out = format!("runs/{name}");
        said_in(folder, &[&train[..], more, &["--out", &out]].concat());
    }
    std::fs::create_dir_all(folder.join("runs/notes")).expect("a folder");

    let text = said_in(folder, &["runs"]);
    mentions(
        &text,
        &[
            "runs/a  mnist-fc",
            "1/1",
            "2/2",
            "finished",
            "optimizer.lr",
            "0.01",
            "skipped runs/notes: there is no run in it",
        ],
    );
    let found = lines(&said_in(folder, &["runs", "--json"]));
    assert_eq!(found.len(), 3);
    crate::json_page::check(&["`run`"], &found[..2]);
    crate::json_page::check(&["`skipped`"], &found[2..]);
    assert_eq!(found[1]["settings"]["training.epochs"], 2);
    assert_eq!(found[1]["last"]["epoch"], 2);

    let text = said_in(
        folder,
        &["runs", "diff", "runs/a", "runs/b/last.safetensors"],
    );
    mentions(
        &text,
        &[
            "network.hidden",
            "optimizer.lr",
            "0.01",
            "best validation accuracy",
        ],
    );
    let words = ["runs", "diff", "runs/a", "runs/b", "--json"];
    let compared = lines(&said_in(folder, &words));
    crate::json_page::check(&["`spikelet runs diff`"], &compared);
    let epochs = &compared[0]["results"][0];
    assert_eq!((&epochs["a"], &epochs["b"]), (&1.0.into(), &2.0.into()));

    let compared = said_in(folder, &["runs", "runs/a", "runs/b"]);
    mentions(&compared, &["optimizer.lr", "best validation accuracy"]);
    // A run that was killed before its first checkpoint.
    std::fs::create_dir(folder.join("runs/killed")).expect("a folder");
    std::fs::write(folder.join("runs/killed/.lock"), "").expect("written");
    let (from, to) = ("runs/a/experiment.toml", "runs/killed/experiment.toml");
    std::fs::copy(folder.join(from), folder.join(to)).expect("copied");
    let text = said_in(folder, &["runs"]);
    let line = text.lines().find(|line| line.starts_with("runs/killed"));
    let line = line.expect("it is listed");
    mentions(line, &["mnist-fc", "0/1", "interrupted"]);
    assert!(!line.contains("-0"), "{line}");
    std::fs::remove_dir_all(folder.join("runs/killed")).expect("removed");

    // A checkpoint that was cut off.
    let path = folder.join("runs/b/last.safetensors");
    let bytes = std::fs::read(&path).expect("a checkpoint");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("written");
    let text = said_in(folder, &["runs"]);
    mentions(&text, &["runs/a", "skipped runs/b: ", "last.safetensors"]);
    complaint_in(folder, &["runs", "diff", "runs/a", "runs/b"]);
    complaint_in(folder, &["runs", "diff", "runs/a", "nowhere"]);
}
