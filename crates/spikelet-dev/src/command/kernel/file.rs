//! Compilation of a CUDA C++ file for one architecture, without a GPU.
//!
//! NVRTC compiles it with the options of the engine's own kernels: IEEE arithmetic without contraction.

use spikelet_cuda::{CompileError, Compiled, Compiler, Text};
use std::path::Path;

/// Compiles a source to machine code for a compute capability, such as `(9, 0)`; the log has the compiler's warnings and
/// the assembler's statistics of the kernels. `file` is its name in messages; included files are searched for in `folder`,
/// and among the toolkit's headers, if they are installed beside NVRTC.
pub fn compile(
    source: &str,
    file: &str,
    folder: &Path,
    capability: (i32, i32),
) -> Result<Compiled, CompileError> {
    let compiler = Compiler::get()?;
    let mut options = vec![
        "--ptxas-options=-v".to_string(),
        format!("--include-path={}", folder.display()),
    ];
    // Code from NVRTC's own cache, which version 13 has on machines with a driver, comes without the
    // assembler's statistics.
    let generation = compiler.version().split('.').next();
    if generation.is_some_and(|text| text.parse::<u32>().is_ok_and(|n| n >= 13)) {
        options.push("--no-cache".to_string());
    }
    let text = Text {
        source,
        name: file,
        file,
    };
    compiler.compile_file(&text, capability, &options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_cuda::{Message, Severity};

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
    fn compiled(source: &str, capability: (i32, i32)) -> Result<Compiled, CompileError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("factor.cuh"), "#define FACTOR 2.0f\n").unwrap();
        compile(source, "k.cu", folder.path(), capability)
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn a_file_is_compiled_to_machine_code_with_statistics_and_warnings() {
        let compiled = compiled(SOURCE, (9, 0)).unwrap();
        assert_eq!(&compiled.code[..4], b"\x7fELF");
        for statistics in ["'_Z5otherPfi'", "'scale'", "registers", "256 bytes smem"] {
            assert!(compiled.log.contains(statistics), "{}", compiled.log);
        }
        let warnings = Message::all(&compiled.log);
        assert_eq!(warnings.len(), 1, "{}", compiled.log);
        assert_eq!(warnings[0].line, Some(5));
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
    fn what_only_the_assembler_refuses_is_an_error() {
        let source = SOURCE.replace("sums[64]", "sums[100000]");
        match compiled(&source, (9, 0)) {
            Err(CompileError::Source { log, excerpt, .. }) => {
                assert!(log.contains("too much shared data"), "{log}");
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
