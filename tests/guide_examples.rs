//! Pages of the guide that contain an example have the example's program, and the files that
//! `examples/autodidax.rs` leads to exist.

use std::fs;
use std::path::Path;

#[test]
fn programs_of_the_guide_are_those_of_the_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: String| fs::read_to_string(root.join(&path)).expect(&path);
    for (page, example) in [
        ("training-loop", "own_loop"),
        ("fine-tuning", "fine_tuning"),
        ("two-networks", "two_networks"),
        ("regression", "regression"),
    ] {
        let program = read(format!("examples/{example}.rs"));
        let (_, program) = program
            .split_once("\n\n")
            .expect("a comment, then the program");
        let text = read(format!("docs/guide/{page}.md"));
        let start = text.find("```rust\n").expect("a program") + "```rust\n".len();
        let end = start + text[start..].find("\n```").expect("its end");
        assert_eq!(
            &text[start..end],
            program.trim_end(),
            "{page} and {example}"
        );
    }
}

#[test]
fn files_that_autodidax_leads_to_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("examples/autodidax.rs")).expect("the example");
    let names = text.split('`').skip(1).step_by(2);
    let mut count = 0;
    for name in names.filter(|name| name.ends_with(".rs") && !name.starts_with("crates/")) {
        let (crate_name, path) = name.split_once('/').expect("a crate and a file");
        let file = root.join(format!("crates/spikelet-{crate_name}/src/{path}"));
        assert!(file.exists(), "`{name}`: {} is not a file", file.display());
        count += 1;
    }
    assert!(count > 30, "only {count} files were found in the comments");
}
