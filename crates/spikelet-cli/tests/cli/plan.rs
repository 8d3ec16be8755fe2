//! Plans of training steps.

use crate::common::{complaint, said, said_json};
use std::fs;

#[test]
fn a_plan_lists_its_kernels_and_their_times() {
    let text = said(&[
        "plan",
        "mnist-fc",
        "--batch-size",
        "8",
        "--time-steps",
        "2",
        "--profile",
        "2",
    ]);
    for part in [
        "kernels",
        "lif_grad",
        "fc.1",
        "∂ matmul",
        "GFLOP/s",
        "one step: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let plan = &said_json(&["plan", "--batch-size", "8", "--preset", "spikingflow"])[0];
    assert_eq!(plan["settings"]["training"]["time_steps"], 50);
    assert_eq!(plan["settings"]["training"]["batch_size"], 8);
    assert!(
        plan["kernels"]
            .as_array()
            .is_some_and(|k| k.iter().any(|k| k["name"] == "lif_grad"))
    );
    assert!(plan["peak_bytes"].as_u64() > Some(0));
    assert!(plan["run_peak_bytes"].as_u64() >= plan["peak_bytes"].as_u64());
}

#[test]
fn plans_larger_than_any_memory_are_shown() {
    let words = ["plan", "cifar10-net", "--batch-size", "1000000"];
    for device in [["--device", "cpu"], ["--arch", "9.0"]] {
        // More elements than a GPU can count are refused instead.
        let words = [&words[..2], &device[..]].concat();
        said(&words);
    }
    let plan = &said_json(&[&words[..], &["--device", "cpu"]].concat())[0];
    assert!(plan["peak_bytes"].as_u64() > Some(1 << 40), "{plan}");
}

#[test]
fn a_printed_graph_is_planned_and_an_error_names_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("flip.graph");
    let words = ["plan", "--device", "cpu", "--graph", file.to_str().unwrap()];
    let text = "%0 = Data `x`  f32[8, 4]\n%1 = flip[1](%0)  f32[8, 4]\n`y` = %1\n";
    fs::write(&file, text).unwrap();
    let plan = said(&words);
    assert!(
        plan.contains("flip") && plan.contains("y f32[8, 4] ← x"),
        "{plan}"
    );
    fs::write(&file, text.replace("flip[1]", "flip[2]")).unwrap();
    let message = complaint(&words, 2);
    assert!(
        message.contains("line 2, column 6: flip: axis 2"),
        "{message}"
    );
}
