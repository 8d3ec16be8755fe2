//! Constants of neurons on the command line: their domains are printed and checked.

use crate::common::{complaint, mentions, said, said_json};

#[test]
fn a_constant_outside_its_domain_is_refused_before_anything_runs() {
    let cases = [
        (
            &["--set", "tau=0"][..],
            &["`tau`", "`lif`", "0", "a number above 1"][..],
        ),
        (
            &["--set", "tau=0.5"],
            &["`tau`", "`lif`", "0.5", "a number above 1"][..],
        ),
        (
            &["--set", "tau=-3"],
            &["`tau`", "`lif`", "-3", "a number above 1"][..],
        ),
        (
            &["--preset", "spikingflow", "--set", "tau=0.5"],
            &["`tau`", "`soft_pulse_lif`", "0.5", "a number above 1"][..],
        ),
        (
            &["--set", "v_threshold=0"],
            &["`v_threshold`", "`lif`", "0", "a number above 0"][..],
        ),
        (
            &["--set", "surrogate.alpha=0"],
            &["`alpha`", "`atan`", "0", "a number above 0"][..],
        ),
        (
            &["--neuron", "sliding_psn", "--set", "k=1000000000"],
            &[
                "`k`",
                "`sliding_psn`",
                "1000000000",
                "a whole number from 1 to 65536",
            ][..],
        ),
        (
            &["--set", "tau=nan"],
            &["`tau`", "`lif`", "\"nan\"", "a number above 1"][..],
        ),
        (
            &["--set", "tau=1e400"],
            &["`tau`", "`lif`", "\"1e400\"", "a number above 1"][..],
        ),
        (
            &["--encoder", "weighted_phase:k=0"],
            &[
                "`k`",
                "`weighted_phase`",
                "0",
                "a whole number from 1 to 126",
            ][..],
        ),
    ];
    for (words, expected) in cases {
        for command in ["train", "plan"] {
            let message = complaint(&[&[command, "mnist-fc"], words].concat(), 2);
            mentions(&message, expected);
        }
    }
}

#[test]
fn a_preset_of_another_network_is_refused_with_the_networks_own() {
    let message = complaint(&["plan", "csnn", "--preset", "spikingflow"], 2);
    assert!(message.contains("spikingjelly"), "{message}");
    complaint(&["plan", "csnn", "--preset", "tutorial"], 2);
}

#[test]
fn the_first_line_of_a_run_names_the_preset_it_starts_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let short = [
        "train",
        "--dataset",
        "synthetic",
        "--preset",
        "spikingflow",
        "-T",
        "2",
        "-e",
        "1",
        "-b",
        "64",
        "--train-images",
        "128",
        "--test-images",
        "64",
        "--device",
        "cpu",
        "--out",
        out.to_str().expect("UTF-8"),
    ];
    let text = said(&short);
    let first = text.lines().next().unwrap_or_default();
    assert!(first.contains("spikingflow"), "{first}");
}

#[test]
fn domains_are_printed_beside_the_constants() {
    let lif = said(&["neuron", "show", "lif"]);
    let row = lif.lines().find(|line| line.starts_with("tau"));
    assert!(
        row.is_some_and(|row| row.ends_with("a number above 1")),
        "{lif}"
    );
    assert!(lif.contains("alpha: a number above 0"), "{lif}");
    let json = &said_json(&["neuron", "show", "brf"])[0];
    assert_eq!(json["domains"]["omega"], "a number of at least 0");
    assert_eq!(json["surrogate"]["domains"]["alpha"], "a number above 0");
}

#[test]
fn a_plan_shows_the_network_as_a_tree() {
    let text = said(&["plan", "mnist-fc", "-T", "2", "-b", "2", "--device", "cpu"]);
    let expected = "\
Sequential(
  (fc): Sequential(
    (0): Flatten
    (1): Linear(inputs=784, outputs=196, bias=false)
    (2): Lif(tau=4.0, decay_input=false, v_threshold=1.0, v_reset=None, surrogate=Atan(alpha=2.0), reset_grad=Surrogate)
    (3): Linear(inputs=196, outputs=10, bias=false)
    (4): Lif(tau=4.0, decay_input=false, v_threshold=1.0, v_reset=None, surrogate=Atan(alpha=2.0), reset_grad=Surrogate)
  )
)
";
    assert!(text.starts_with(expected), "{text}");
}
