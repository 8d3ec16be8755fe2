//! Completions and manual pages.

use crate::common::{complaint, mentions, said, said_json};
use std::path::Path;
use std::process::Command;

#[test]
fn every_shell_gets_a_script_that_names_the_commands_and_all_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = said(&["completions", shell]);
        for name in ["train", "completions", "epochs", "curve-steps", "help-all"] {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
    let line = &said_json(&["completions", "bash"])[0];
    assert_eq!(line["shell"], "bash");
    assert_eq!(
        line["script"].as_str().map(str::trim_end),
        Some(said(&["completions", "bash"]).trim_end())
    );
}

#[test]
fn an_unknown_shell_is_answered_with_those_that_exist() {
    let message = complaint(&["completions", "bahs"], 2);
    mentions(&message, &["bahs", "bash", "zsh"]);
}

/// The words that bash offers for the last of these.
#[cfg(unix)]
fn offered(script: &Path, words: &[&str]) -> Vec<String> {
    let last = words.len() - 1;
    let quoted = words.join(" ");
    let program = format!(
        "source {}; COMP_WORDS=({quoted} ''); COMP_CWORD={last}; \
         _spikelet spikelet \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{}]}}\"; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        last - 1,
    );
    let bash = Command::new("bash").args(["-c", &program]).output();
    let bash = bash.expect("bash starts");
    assert!(bash.status.success(), "{bash:?}");
    let text = String::from_utf8(bash.stdout).expect("UTF-8");
    text.split_whitespace().map(String::from).collect()
}

#[test]
#[cfg(unix)]
fn bash_accepts_its_script_and_completes_commands_options_and_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("spikelet.bash");
    std::fs::write(&script, said(&["completions", "bash"])).expect("it is written");
    let check = Command::new("bash").arg("-n").arg(&script).output();
    let check = check.expect("bash starts");
    assert!(
        check.status.success() && check.stderr.is_empty(),
        "{check:?}"
    );
    for (words, expected) in [
        (&["spikelet", "tr"][..], &["train"][..]),
        (&["spikelet", "train", "--epo"], &["--epochs"]),
        (&["spikelet", "train", "--curve-s"], &["--curve-steps"]),
        (
            &["spikelet", "train", "--dataset", "cifar100"],
            &["cifar100"],
        ),
        (&["spikelet", "neuron", "show", "pli"], &["plif"]),
    ] {
        assert_eq!(offered(&script, words), expected, "{words:?}");
    }
}

#[test]
fn every_command_has_a_manual_page_with_its_options_and_examples() {
    let folder = tempfile::tempdir().expect("a folder");
    // A folder that does not exist yet.
    let out = folder.path().join("man/man1");
    let out = out.to_string_lossy();
    let line = &said_json(&["man", &out])[0];
    let pages: Vec<&str> = (line["pages"].as_array().expect("an array").iter())
        .map(|page| page.as_str().expect("a path"))
        .collect();
    let page = |name: &str| {
        let path = format!("{out}/{name}.1");
        assert!(pages.contains(&path.as_str()), "{name}: {pages:?}");
        // roff writes a hyphen as `\-`.
        let text = std::fs::read_to_string(path).expect("it was written");
        text.replace("\\-", "-")
    };
    for name in ["spikelet", "spikelet-neuron-show", "spikelet-bench-train"] {
        let text = page(name);
        for section in ["NAME", "SYNOPSIS", "OPTIONS", "EXAMPLES"] {
            assert!(text.contains(&format!(".SH {section}\n")), "{name}: {text}");
        }
    }
    let train = page("spikelet-train");
    for part in [
        ".TH spikelet-train 1",
        "Number of training steps between two points of the training curves",
        "spikelet train --dataset mnist --download --epochs 20",
        "on MNIST, downloaded if it is missing",
    ] {
        assert!(train.contains(part), "{part}: {train}");
    }
    assert!(!train.contains('\x1b'), "color in a manual page");
}

#[test]
fn a_folder_that_cannot_be_created_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("it is written");
    let below = file.join("man1");
    let message = complaint(&["man", &below.to_string_lossy()], 1);
    mentions(&message, &[&below.to_string_lossy(), "help: "]);
}
