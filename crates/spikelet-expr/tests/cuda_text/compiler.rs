//! Runs the text that is meant for a device on the host.

use std::path::Path;
use std::process::{Command, Stdio};

const SHIM: &str = include_str!("shim.h");

/// Compiles `text` with g++, runs it on `input`, and returns its standard output. `name` is a file
/// name of the test's own.
pub fn run(name: &str, text: &str, input: &[u8]) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join(format!("{name}.cpp"));
    let program = folder.join(name);
    let given = folder.join(format!("{name}.in"));
    std::fs::write(
        &source,
        format!("#include <cstdio>\n#include <vector>\n{SHIM}\n{text}"),
    )
    .expect("the folder for tests is writable");
    std::fs::write(&given, input).expect("the folder for tests is writable");
    let compiled = Command::new("g++")
        .args(["-std=c++17", "-O2", "-ffp-contract=off", "-fno-fast-math"])
        .args(if cfg!(target_arch = "x86_64") {
            &["-msse2"][..]
        } else {
            &[]
        })
        .args([
            "-Wall",
            "-Wno-unused-function",
            "-Wno-unused-variable",
            "-Wno-unknown-pragmas",
            "-Werror",
        ])
        .arg("-o")
        .args([&program, &source])
        .output()
        .expect("g++ can be started");
    let messages = String::from_utf8_lossy(&compiled.stderr);
    assert!(
        compiled.status.success(),
        "{}: {messages}",
        source.display()
    );
    let ran = Command::new(&program)
        .stdin(std::fs::File::open(&given).expect("it has just been written"))
        .stderr(Stdio::inherit())
        .output()
        .expect("a program that was compiled can be started");
    assert!(ran.status.success(), "{}", program.display());
    ran.stdout
}

/// Numbers as a program reads and writes them.
pub fn bytes(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// The numbers that a program wrote.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    let (words, rest) = bytes.as_chunks();
    assert!(rest.is_empty(), "{} bytes", bytes.len());
    words.iter().map(|word| u32::from_ne_bytes(*word)).collect()
}
