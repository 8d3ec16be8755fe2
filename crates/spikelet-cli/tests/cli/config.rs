//! Experiments in files.

use crate::common::{command, failed, said};
use std::fs;
use std::path::Path;

/// The lines of the epochs without times.
fn epochs(run: &Path) -> Vec<String> {
    let text = fs::read_to_string(run.join("epochs.jsonl")).expect("the run has epochs");
    let lines = text.lines().map(|line| {
        let mut epoch: serde_json::Value = serde_json::from_str(line).expect("it is JSON");
        for key in ["seconds", "samples_per_second"] {
            epoch.as_object_mut().expect("an object").remove(key);
        }
        epoch.to_string()
    });
    lines.collect()
}
