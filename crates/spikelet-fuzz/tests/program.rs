//! The program that mutates the inputs of every reader.

use std::process::Command;

#[test]
fn every_target_runs_on_a_few_mutated_inputs() {
    let output = Command::new(env!("CARGO_BIN_EXE_spikelet-fuzz"))
        .args(["--inputs", "20", "--seconds", "60"])
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for target in &spikelet_fuzz::TARGETS {
        assert!(said.contains(target.name), "{}: {said}", target.name);
    }
}
