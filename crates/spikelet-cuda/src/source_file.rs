//! Compilation of CUDA C++ files for one architecture, without a GPU.
//!
//! NVRTC compiles them with the options of all kernels of this crate: IEEE arithmetic without
//! contraction.

mod usage;

pub use crate::compiler::{Message, Severity};
pub use usage::KernelUse;

use crate::compiler::{CompileError, Compiler, Text};
use crate::library::generation;
use std::path::Path;

/// Machine code of a file.
#[derive(Clone, Debug)]
pub struct CompiledFile {
    /// Its compute capability, such as `(9, 0)`.
    pub capability: (i32, i32),
    /// The version of NVRTC, such as `13.0`.
    pub nvrtc: String,
    /// The machine code: a cubin.
    pub code: Vec<u8>,
    /// Its kernels, in the order of their names.
    pub kernels: Vec<KernelUse>,
    /// The compiler's warnings and notes.
    pub log: String,
}

/// Compiles a source for a compute capability, such as `(9, 0)`. `file` is its name in messages;
/// included files are searched for in `folder` and among the toolkit's headers, if they are installed
/// beside NVRTC.
///
/// ```
/// use spikelet_cuda::{CompileError, source_file};
/// let source = r#"extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }"#;
/// match source_file::compile(source, "twice.cu", None, (9, 0)) {
///     Ok(compiled) => assert_eq!(compiled.kernels[0].name, "twice"),
///     Err(error) => assert!(matches!(error, CompileError::Missing(_))),
/// }
/// ```
///
/// # Errors
/// If NVRTC cannot be loaded, if it does not support this compute capability, or if the source has
/// errors: [`CompileError::Source`] contains its messages and the lines in question.
pub fn compile(
    source: &str,
    file: &str,
    folder: Option<&Path>,
    capability: (i32, i32),
) -> Result<CompiledFile, CompileError> {
    let compiler = Compiler::get()?;
    let target = compiler.machine_code(capability)?;
    let mut options = vec!["--ptxas-options=-v".to_string()];
    // Code from NVRTC's own cache, which version 13 has on machines with a driver, comes without the
    // assembler's statistics.
    if generation(compiler.version()) >= Some(13) {
        options.push("--no-cache".to_string());
    }
    options.extend(folder.map(|folder| format!("--include-path={}", folder.display())));
    let text = Text {
        source,
        name: file,
        file,
    };
    let compiled = compiler
        .compile_text(&text, target, compiler.all_headers(source), &options)
        .map_err(|error| match error {
            CompileError::Source { name, log, excerpt } => CompileError::Source {
                name,
                log: usage::of(&log).0,
                excerpt,
            },
            other => other,
        })?;
    let (log, kernels) = usage::of(&compiled.log);
    Ok(CompiledFile {
        capability,
        nvrtc: compiler.version().to_string(),
        code: compiled.code,
        kernels,
        log,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"#include "factor.cuh"
extern "C" __global__ void scale(float* x) { x[threadIdx.x] *= FACTOR; }
__global__ void other(float* x, int n) {
    __shared__ float sums[64];
    int unused;
    sums[threadIdx.x] = x[n];
    __syncthreads();
    x[threadIdx.x] = sums[63 - threadIdx.x];
}
"#;

    /// The result for a source in a folder with a header.
    fn compiled(source: &str, capability: (i32, i32)) -> Result<CompiledFile, CompileError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("factor.cuh"), "#define FACTOR 2.0f\n").unwrap();
        compile(source, "k.cu", Some(folder.path()), capability)
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn a_file_is_compiled_to_machine_code_with_kernels_and_warnings() {
        let compiled = compiled(SOURCE, (9, 0)).unwrap();
        assert_eq!(&compiled.code[..4], b"\x7fELF");
        let names: Vec<&str> = compiled.kernels.iter().map(|k| k.name.as_str()).collect();
        assert_eq!(names, ["_Z5otherPfi", "scale"]);
        assert_eq!(
            (compiled.kernels[0].shared, compiled.kernels[1].shared),
            (256, 0)
        );
        assert!(compiled.kernels.iter().all(|kernel| kernel.registers > 0));
        let warnings = Message::all(&compiled.log);
        assert_eq!(warnings.len(), 1, "{}", compiled.log);
        assert_eq!(warnings[0].line, Some(5));
        assert!(!compiled.log.contains("ptxas"), "{}", compiled.log);
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn errors_in_a_file_are_shown_with_their_lines() {
        let source = SOURCE.replace("int unused;", "int y = unknown;");
        match compiled(&source, (8, 0)) {
            Err(CompileError::Source { name, log, excerpt }) => {
                assert_eq!(name, "k.cu");
                assert_eq!(Message::all(&log)[0].line, Some(5), "{log}");
                assert!(
                    excerpt.contains(">    5 |     int y = unknown;\n"),
                    "{excerpt}"
                );
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn what_only_the_assembler_refuses_is_told_without_the_rest() {
        let source = SOURCE.replace("sums[64]", "sums[100000]");
        match compiled(&source, (9, 0)) {
            Err(CompileError::Source { log, excerpt, .. }) => {
                assert!(log.contains("too much shared data"), "{log}");
                assert!(!log.contains("ptxas info"), "{log}");
                let errors = Message::all(&log);
                let errors = errors.iter().filter(|m| m.severity == Severity::Error);
                assert_eq!(errors.count(), 1, "{log}");
                assert_eq!(excerpt, "");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn an_architecture_that_the_compiler_does_not_know_is_refused_with_those_it_knows() {
        for capability in [(9, 7), (3, 5), (99, 0), (i32::MAX, 9)] {
            match compiled(SOURCE, capability) {
                Err(error @ CompileError::Architecture { .. }) => {
                    let message = error.to_string();
                    assert!(message.contains("9.0, "), "{message}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
