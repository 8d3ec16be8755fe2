//! Compiles the text of kernels for the host and runs it.

use std::path::Path;
use std::process::{Command, Stdio};

const SHIM: &str = include_str!("shim.h");

/// A compiler of a kernel language for the host.
pub struct Compiler {
    pub program: &'static str,
    /// Of source files.
    pub extension: &'static str,
    pub standard: &'static str,
    /// The text in front of the kernel's.
    pub header: &'static str,
}

/// C++ with the definitions that CUDA C++ adds.
pub const CUDA: Compiler = Compiler {
    program: "g++",
    extension: "cpp",
    standard: "-std=c++17",
    header: SHIM,
};

/// Compiles `text`, runs it on `input`, and returns its standard output. `name` is a file name that
/// no other test uses.
pub fn run(compiler: &Compiler, name: &str, text: &str, input: &[u8]) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join(format!("{name}.{}", compiler.extension));
    let program = folder.join(name);
    let given = folder.join(format!("{name}.in"));
    std::fs::write(
        &source,
        format!("#include <stdio.h>\n{}\n{text}", compiler.header),
    )
    .expect("the folder for tests is writable");
    std::fs::write(&given, input).expect("the folder for tests is writable");
    let compiled = Command::new(compiler.program)
        .args([compiler.standard, "-O2"])
        .args(["-ffp-contract=off", "-fno-fast-math"])
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
        .arg("-lm")
        .output()
        .unwrap_or_else(|error| panic!("{} can be started: {error}", compiler.program));
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

/// Words as a program reads and writes them.
pub fn bytes(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// The words that a program wrote.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    let (words, rest) = bytes.as_chunks();
    assert!(rest.is_empty(), "{} bytes", bytes.len());
    words.iter().map(|word| u32::from_ne_bytes(*word)).collect()
}
