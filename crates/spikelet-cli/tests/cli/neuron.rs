//! `spikelet neuron …` and `spikelet surrogate …` on things that exist.

use crate::common::{code, run, said, said_json};
use serde_json::json;
use spikelet::neuron::NEURONS;
use spikelet::surrogate::SURROGATES;

#[test]
fn the_lists_have_every_neuron_and_every_surrogate() {
    let neurons = said_json(&["neuron", "list"]);
    let names: Vec<&str> = neurons.iter().filter_map(|n| n["name"].as_str()).collect();
    assert_eq!(
        names,
        NEURONS
            .summaries()
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
    );
    let lif = &neurons[names.iter().position(|n| *n == "lif").expect("lif")];
    assert_eq!(lif["constants"]["tau"], 2.0);
    assert_eq!(lif["constants"]["surrogate"]["name"], "sigmoid");

    let text = said(&["surrogate", "list"]);
    for (name, summary) in SURROGATES.summaries() {
        assert!(
            text.lines()
                .any(|line| line.starts_with(name) && line.contains(&summary)),
            "{text}"
        );
    }
}

#[test]
fn a_neurons_equations_are_readable() {
    insta::assert_snapshot!(
        "show_lif_atan",
        said(&["neuron", "show", "lif", "--surrogate", "atan"])
    );
    insta::assert_snapshot!("show_plif", said(&["neuron", "show", "plif"]));
    let soft = said(&[
        "neuron",
        "show",
        "lif",
        "--set",
        "tau=100",
        "--set",
        "v_reset=null",
        "--reset-grad",
        "detach",
    ]);
    insta::assert_snapshot!("show_lif_soft_reset_detached", soft);
    insta::assert_snapshot!(
        "show_surrogate_atan",
        said(&["surrogate", "show", "atan", "--set", "alpha=4"])
    );
}

#[test]
fn every_neuron_can_be_shown_with_every_surrogate() {
    let step = &said_json(&[
        "neuron",
        "show",
        "lif",
        "--surrogate",
        "atan",
        "--set",
        "surrogate.alpha=3",
    ])[0];
    assert_eq!(step["step"]["S"], "H - 1 ≥ 0");
    assert_eq!(
        step["constants"]["surrogate"],
        json!({"name": "atan", "alpha": 3.0})
    );
    assert!(step["step_gradients"]["x"].is_string());
    for name in NEURONS.names() {
        let text = said(&[
            "neuron",
            "show",
            name,
            "--surrogate",
            "multi_level_spike_count",
        ]);
        assert!(text.contains("∂x ="), "{text}");
    }
    for name in SURROGATES.names() {
        assert!(said(&["surrogate", "show", name]).contains("g′(x) ="));
    }
}

#[test]
fn a_constant_is_trainable_on_request() {
    let shown = said(&["neuron", "show", "lif", "--set", "trainable.tau=channel"]);
    let learned = "trainable: tau, one per channel, starts at 2";
    assert!(
        shown.contains(learned) && shown.contains("∂tau ="),
        "{shown}"
    );
    let bounded = r#"trainable.tau={"bound": {"above": {"low": 1}}}"#;
    let shown = said(&["neuron", "show", "lif", "--set", bounded]);
    assert!(shown.contains("p, which stands for"), "{shown}");
    let output = run(&["neuron", "show", "lif", "--set", "trainable.tua=layer"]);
    assert_eq!(code(&output), 2);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("no constant `tua`") && told.contains("tau"),
        "{told}"
    );
}

#[test]
fn a_parallel_neuron_prints_its_input_transformation() {
    let shown = said(&["neuron", "show", "psn"]);
    assert!(shown.contains("x is computed from the complete input sequence"));
    assert!(shown.contains("W·X + b"), "{shown}");
}

#[test]
fn all_neurons_are_measured_in_one_table() {
    let words = "bench neuron --all --time-steps 2 --neurons 256 --repeats 1 --warm-up 0 --threads 1 --device cpu";
    let words: Vec<&str> = words.split(' ').collect();
    let text = said(&words);
    for name in NEURONS.names() {
        let lines = text
            .lines()
            .filter(|l| l.split_whitespace().next() == Some(name));
        let with_copy = lines.filter(|l| l.contains(" % ")).count();
        assert_eq!(with_copy, 2, "{}: forward and backward\n{text}", name);
    }
}

/// The neuron of SpikingFlow's tutorial, whose reset is above its threshold.
#[test]
fn a_neuron_that_fires_without_input_is_shown_and_trained_with_a_warning() {
    let constants = ["--set", "tau=100", "--set", "v_reset=5"];
    let expected = "neuron `lif` fires at every time step without input";
    let words = [&["neuron", "show", "lif"][..], &constants].concat();
    let text = said(&words);
    assert!(text.contains(&format!("\nwarning: {expected}")), "{text}");
    let warnings = &said_json(&words)[0]["warnings"];
    let warning = warnings[0].as_str().unwrap_or_default();
    assert!(warning.starts_with(expected), "{warnings}");
    assert_eq!(
        said_json(&["neuron", "show", "lif"])[0]["warnings"],
        json!([])
    );

    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run").to_string_lossy().into_owned();
    let small = [
        "train",
        "--epochs",
        "1",
        "--train-images",
        "256",
        "--test-images",
        "64",
        "--out",
        &out,
    ];
    let start = &said_json(&[&small[..], &constants].concat())[0];
    assert_eq!(
        start["warnings"],
        json!([
            format!("layer `fc.2`: {warning}"),
            format!("layer `fc.4`: {warning}")
        ])
    );
}
