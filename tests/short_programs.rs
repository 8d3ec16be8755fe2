//! Common programs stay short, and a loop of one's own needs few names.

use spikelet::train::experiment::Experiment;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines from the one that begins with `from` to before the one that begins with `to`, without comments and empty ones.
fn program(text: &str, from: &str, to: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with(from));
    let lines = lines.take_while(|line| to.is_empty() || !line.starts_with(to));
    let code = lines.map(str::trim).filter(|line| {
        !line.is_empty()
            && !["//", "#[", "# "]
                .iter()
                .any(|start| line.starts_with(start))
    });
    code.map(String::from).collect()
}

#[test]
fn programs_are_short() {
    // Imports and the function that makes the data do not count.
    for (name, from, to, most) in [
        ("two_heads.rs", "struct Net", "/// A leaky neuron", 40),
        ("python/two_heads.py", "rng =", "", 25),
        ("delays.rs", "fn main", "/// Recordings", 35),
        ("python/delays.py", "torch.manual_seed", "", 24),
        ("published_model.rs", "fn fine_tune", "", 10),
        ("python/published_model.py", "net = ", "print(report", 6),
        ("sweep/residual.toml", "[data]", "", 25),
        ("sweep/sweep.toml", "experiment", "", 6),
    ] {
        let lines = program(&example(name), from, to);
        assert!(lines.len() > 2, "{name}: {lines:?}");
        assert!(
            lines.len() <= most,
            "{name} has {} lines of at most {most}",
            lines.len()
        );
    }
    let text = example("two_heads.rs");
    assert!(
        text.lines().count() <= 100,
        "two_heads.rs with its neuron and data"
    );
}

#[test]
fn the_experiment_of_the_sweep_is_sound() -> spikelet::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sweep");
    let experiment = Experiment::read(folder.join("residual.toml"))?;
    assert_eq!(experiment.network.classes(), 10);
    Ok(())
}

/// The names of the library in a loop of one's own, beside layers, losses and neurons, as in the guide to loops.
const NAMES: [&str; 14] = [
    "Adam",
    "DType",
    "DataLoader",
    "Dataset",
    "Field",
    "InMemory",
    "Module",
    "Outputs",
    "Sequential",
    "Step",
    "VarStore",
    "device",
    "held_out",
    "metric",
];

#[test]
fn a_loop_of_ones_own_needs_few_names() {
    let text = example("two_heads.rs");
    let code = [
        program(&text, "struct Net", "/// A leaky neuron"),
        program(&text, "fn recordings", ""),
    ];
    let code = code.concat().join("\n") + "#[derive(Module)]";
    let mut found = BTreeSet::new();
    for word in code.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if NAMES.contains(&word) || word.len() > 1 && word.starts_with(char::is_uppercase) {
            found.insert(word);
        }
    }
    let others = [
        "Arc",
        "CHANNELS",
        "F32",
        "I64",
        "Linear",
        "Net",
        "Ok",
        "Result",
        "SampleRandom",
        "Saturating",
    ];
    for other in others {
        assert!(found.remove(other), "{other}");
    }
    assert!(found.iter().eq(&NAMES), "{found:?}");
}
