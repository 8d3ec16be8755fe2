//! Help texts.

use crate::common::{code, program, run, said, said_json, stderr, stdout};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

const COMMANDS: [&str; 30] = [
    "",
    "train",
    "config",
    "eval",
    "predict",
    "energy",
    "show",
    "record",
    "sweep",
    "runs",
    "runs diff",
    "watch",
    "plan",
    "simulate",
    "diff",
    "models",
    "check",
    "convert",
    "neuron",
    "neuron list",
    "neuron show",
    "surrogate",
    "surrogate show",
    "kernel",
    "bench neuron",
    "bench pipeline",
    "bench train",
    "doctor",
    "completions",
    "man",
];

#[test]
fn every_command_has_a_help_with_usage_and_examples() {
    for command in COMMANDS {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let help = said(&words);
        assert!(
            help.contains("Usage: spikelet") && help.contains("Examples:"),
            "{command}: {help}"
        );
        assert!(
            !help.contains('\x1b'),
            "{command}: color without a terminal"
        );
        let name = if command.is_empty() {
            "spikelet".to_string()
        } else {
            command.replace(' ', "_")
        };
        insta::assert_snapshot!(name, without_neurons(&help));
    }
}

#[test]
fn the_short_help_fits_a_screen_and_leads_to_the_longer_ones() {
    for command in COMMANDS {
        let words: Vec<&str> = command.split_whitespace().chain(["-h"]).collect();
        let help = said(&words);
        let lines = help.lines().count();
        assert!(lines <= 76, "{command}: {lines} lines");
        let name = format!("{} short", ["spikelet", command].join(" ").trim());
        insta::assert_snapshot!(name.replace(' ', "_"), without_neurons(&help));
    }
}

#[test]
fn the_help_of_train_has_about_thirty_options_and_help_all_the_others() {
    let options = |length: &str| -> Vec<String> {
        let help = said(&["train", length]);
        let names = help.lines().filter_map(|line| {
            let line = line.trim_start();
            let long = line.find("--")?;
            let is_option = long == 0 || (long == 4 && line.starts_with('-'));
            let name = line[long..].split([' ', '[', '=']).next();
            name.filter(|_| is_option).map(String::from)
        });
        names.collect()
    };
    let (short, long, all) = (options("-h"), options("--help"), options("--help-all"));
    assert_eq!(short, long);
    assert!((25..=35).contains(&long.len()), "{}", long.len());
    for rare in ["--rendezvous-timeout", "--gamma", "--curve-steps"] {
        let has = |names: &[String]| names.iter().any(|name| name == rare);
        assert!(has(&all) && !has(&long), "{rare}");
    }
    assert!(long.iter().all(|name| all.contains(name)), "{all:?}");
    for (length, last) in [("-h", "--help-all\n"), ("--help", "--help-all\n")] {
        assert!(said(&["train", length]).ends_with(last), "{length}");
    }
    let short = said(&["train", "-h"]);
    assert!(
        short.contains("examples: spikelet train --help\n"),
        "{short}"
    );
}

#[test]
fn every_command_takes_help_all() {
    for command in COMMANDS {
        let words = |length| -> Vec<&str> { command.split_whitespace().chain([length]).collect() };
        let (help, all) = (said(&words("--help")), said(&words("--help-all")));
        let listed = help.lines().any(|line| line.trim() == "--help-all");
        assert!(listed == (help != all), "{command}: {all}");
        if command == "train" {
            insta::assert_snapshot!("train_all", without_neurons(&all));
        }
    }
}

/// The help with one line in place of the list of neurons, which grows with each new one.
fn without_neurons(help: &str) -> String {
    let mut kept = String::new();
    let mut lines = help.split_inclusive('\n').peekable();
    let is_item = |line: &str| line.starts_with("          - ");
    let goes_on = |line: &str| line.starts_with("            ");
    while let Some(line) = lines.next() {
        if !line.starts_with("          - if: ") {
            kept.push_str(line);
            continue;
        }
        kept.push_str("          (a line for each neuron)\n");
        while lines.peek().is_some_and(|l| is_item(l) || goes_on(l)) {
            lines.next();
        }
    }
    kept
}

#[test]
fn the_help_lists_every_neuron_in_a_line() {
    let help = said(&["neuron", "show", "--help"]);
    for neuron in said_json(&["neuron", "list"]) {
        let name = neuron["name"].as_str().expect("a neuron has a name");
        assert!(help.contains(&format!("\n          - {name}: ")), "{name}");
    }
}

#[test]
fn without_a_command_the_help_is_printed_as_a_usage_error() {
    let output = run(&[]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("Usage: spikelet"));
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(
        said(&["--version"]),
        format!("spikelet {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn json_and_quiet_exclude_each_other() {
    let message = crate::common::complaint(&["doctor", "--json", "--quiet"], 2);
    assert!(
        message.contains("--json") && message.contains("--quiet"),
        "{message}"
    );
}

#[test]
fn a_quiet_command_prints_nothing() {
    for words in [
        ["neuron", "list"],
        ["surrogate", "list"],
        ["neuron", "show"],
    ] {
        let lif = if words[1] == "show" {
            vec!["lif"]
        } else {
            vec![]
        };
        assert_eq!(said(&[&words[..], &lif, &["--quiet"]].concat()), "");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut child = program(&["surrogate", "list", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    let mut reader = BufReader::with_capacity(64, child.stdout.take().expect("piped"));
    reader.read_line(&mut line).expect("a line");
    drop(reader);
    let mut message = String::new();
    child
        .stderr
        .take()
        .expect("piped")
        .read_to_string(&mut message)
        .expect("UTF-8");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(message, "");
}

#[test]
fn the_doctor_names_library_devices_and_folders() {
    let text = said(&["doctor"]);
    for part in [
        "gemm (built in)",
        "SPIKELET_GEMM=gemm",
        "cpu",
        "NVRTC",
        "SPIKELET_DATA",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let found = &crate::common::said_json(&["doctor"])[0];
    assert_eq!(found["gemm"]["name"], "gemm");
    assert_eq!(found["devices"][0], "cpu");
    assert!(found["threads"].as_u64() >= Some(1));
}

#[test]
fn the_doctor_fails_if_the_requested_matrix_library_is_unknown() {
    let output = program(&["doctor"])
        .env("SPIKELET_GEMM", "abacus")
        .output()
        .expect("the program starts");
    assert_eq!(code(&output), 1);
    assert!(
        stdout(&output).contains("unknown SPIKELET_GEMM `abacus`"),
        "{}",
        stdout(&output)
    );
}
