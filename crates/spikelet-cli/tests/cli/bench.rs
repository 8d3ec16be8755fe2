//! Measurements of neurons and training steps.

use crate::common::{code, program, run, said, said_json, stderr, stdout};

#[test]
fn a_neurons_passes_are_measured_against_a_copy() {
    let words = [
        "bench",
        "neuron",
        "--time-steps",
        "3",
        "--neurons",
        "1000",
        "--repeats",
        "2",
        "--threads",
        "1",
    ];
    let lines = said_json(&words);
    let names: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["name"].as_str())
        .collect();
    let expected = [
        "copy",
        "lif_forward_step_by_step_unfused",
        "lif_forward_backward_step_by_step_unfused",
        "lif_forward_step_by_step",
        "lif_forward_backward_step_by_step",
        "lif_forward",
        "lif_forward_backward",
    ];
    assert_eq!(names, expected);
    let number = |k: usize, key: &str| lines[k][key].as_f64().expect("a number");
    // 3000 elements, and the reset value, a scalar.
    assert!((24_000.0..24_100.0).contains(&number(5, "bytes")));
    assert!((60_000.0..60_100.0).contains(&number(6, "bytes")));
    assert!(number(1, "bytes") > number(3, "bytes") && number(3, "bytes") > number(5, "bytes"));
    // Three kernels a step or one, and two for the potentials before the first step.
    assert_eq!((number(1, "kernels"), number(3, "kernels")), (11.0, 5.0));
    for (k, line) in lines.iter().enumerate() {
        assert!(number(k, "median_ms") > 0.0 && number(k, "repeats") >= 2.0);
        assert!(k == 0 || line["copy_share"].as_f64() > Some(0.0));
    }

    let text = said(
        &[
            &words[..],
            &[
                "--neuron",
                "plif",
                "--dtype",
                "f64,f32,f16",
                "--surrogate",
                "poisson_pass",
                "--propagation",
                "layer-by-layer",
            ],
        ]
        .concat(),
    );
    assert!(
        text.contains("layer-by-layer  + backward") && text.contains("of copy"),
        "{text}"
    );
    assert!(!text.contains("step-by-step"), "{text}");
}

#[test]
fn a_training_step_is_measured() {
    let words = [
        "bench",
        "train",
        "mnist-fc",
        "--batch-size",
        "4",
        "--time-steps",
        "2",
        "--repeats",
        "2",
    ];
    let lines = said_json(&words);
    assert_eq!(lines[0]["name"], "copy");
    let line = &lines[1];
    assert_eq!(line["name"], "mnist_fc_step");
    assert!(line["median_ms"].as_f64() > Some(0.0));
    let text = said(&words);
    assert!(
        text.contains("2 time steps, batches of 4") && text.contains("ms a step"),
        "{text}"
    );
    assert!(stdout(&program(&words).arg("--quiet").output().expect("it starts")).is_empty());
}

#[test]
fn measured_sizes_are_printed_even_if_a_later_one_does_not_fit() {
    let mut words = vec!["bench", "infer", "mnist-fc", "--batch-sizes", "1,100000000"];
    words.extend(["--time-steps", "2", "--repeats", "3", "--device", "cpu"]);
    let output = run(&words);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let needs = "a forward pass of 100000000 samples needs";
    assert!(stderr(&output).contains(needs), "{}", stderr(&output));
    let table = stdout(&output);
    let row = |line: &str| line.trim_start().starts_with("1 ");
    assert!(table.contains("img/s") && table.lines().any(row), "{table}");
}
