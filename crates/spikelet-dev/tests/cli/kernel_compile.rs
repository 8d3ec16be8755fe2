//! `spikelet-dev kernel compile`, and the engine's own kernels compiled with it.

use crate::common::{code, complaint, program, run, stderr, stdout};
use std::fs;
use std::path::Path;
use std::process::Output;

/// The results of compiling with NVRTC.
fn compile(file: &Path, words: &[&str]) -> Output {
    let file = file.to_string_lossy();
    let output = run(&[&["kernel", "compile", &file], words].concat());
    let message = stderr(&output);
    assert!(!message.starts_with("error: NVRTC ("), "{message}");
    output
}

const SCALE: &str = "#include \"factor.cuh\"
extern \"C\" __global__ void scale(float* x) {
    x[threadIdx.x] *= FACTOR;
}
extern \"C\" __global__ void add(float* x) {
    int unused;
    x[threadIdx.x] += FACTOR;
}
";

/// A folder with `scale.cu` and what it includes.
fn sources(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("factor.cuh"), "#define FACTOR 2.0f\n").expect("written");
    fs::write(folder.path().join("scale.cu"), text).expect("written");
    folder
}

#[test]
#[ignore = "needs NVRTC"]
fn a_file_becomes_machine_code_and_its_kernels_are_listed() {
    let folder = sources(SCALE);
    let (file, out) = (
        folder.path().join("scale.cu"),
        folder.path().join("new/scale.cubin"),
    );
    let out_text = out.to_string_lossy();
    let output = compile(&file, &["--arch", "80", "--out", &out_text]);
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    let text = stdout(&output);
    assert!(text.contains("scale.cu(6): warning"), "{text}");
    assert!(
        text.contains("scale.cu for compute capability 8.0 by NVRTC"),
        "{text}"
    );
    for name in ["add ", "scale "] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{text}");
    }
    assert!(text.ends_with(&format!("written: {out_text}\n")), "{text}");
    let machine_code = fs::read(&out).expect("it was written");
    assert_eq!(&machine_code[..4], b"\x7fELF");
    let beside = fs::read_dir(folder.path().join("new")).expect("a folder");
    assert_eq!(beside.count(), 1, "nothing else is left there");

    let output = compile(&file, &["--name", "scale", "--json"]);
    let made: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(made["compiled"], true);
    assert_eq!(made["capability"], serde_json::json!([9, 0]));
    assert_eq!(made["kernels"].as_array().map(Vec::len), Some(1));
    assert!(made["kernels"][0]["registers"].as_u64() > Some(0));
    assert_eq!(made["messages"][0]["line"], 6);
    assert_eq!(made["messages"][0]["kind"], "warning");
}

#[test]
#[ignore = "needs NVRTC"]
fn a_file_that_does_not_compile_is_shown_where() {
    let folder = sources(&SCALE.replace("+= FACTOR", "+= FCATOR"));
    let (file, out) = (
        folder.path().join("scale.cu"),
        folder.path().join("scale.cubin"),
    );
    let output = compile(&file, &["--json", "--out", &out.to_string_lossy()]);
    assert_eq!(code(&output), 1);
    let message = stderr(&output);
    assert!(message.starts_with("error: "), "{message}");
    assert!(
        message.contains("identifier \"FCATOR\" is undefined"),
        "{message}"
    );
    assert!(
        message.contains(">    7 |     x[threadIdx.x] += FCATOR;\n"),
        "{message}"
    );
    assert!(message.contains("help: correct the lines"), "{message}");
    let told: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(told["compiled"], false);
    let errors = told["messages"].as_array().into_iter().flatten();
    let errors: Vec<_> = errors.filter(|m| m["kind"] == "error").collect();
    assert_eq!((errors.len(), &errors[0]["line"]), (1, &7.into()));
    assert!(!out.exists());
}

#[test]
#[ignore = "needs NVRTC"]
fn an_unknown_architecture_or_kernel_is_a_wrong_argument() {
    let folder = sources(SCALE);
    let file = folder.path().join("scale.cu");
    for (words, reason) in [
        (["--arch", "97"], "supports 7.5"),
        (["--arch", "3.5"], "supports 7.5"),
        (["--name", "sacle"], "scale"),
    ] {
        let output = compile(&file, &words);
        let message = stderr(&output);
        assert_eq!(code(&output), 2, "{words:?}: {message}");
        assert!(message.contains(reason), "{words:?}: {message}");
        assert_eq!(stdout(&output), "");
    }
}

#[test]
fn a_file_that_cannot_be_read_or_written_is_named() {
    let folder = sources(SCALE);
    let file = folder.path().join("scale.cu");
    let file = file.to_string_lossy();
    let message = complaint(&["kernel", "compile", "not/there.cu"], 1);
    assert!(message.contains("not/there.cu"), "{message}");
    let message = complaint(&["kernel", "compile", &file, "--out", &file], 2);
    assert!(message.contains(&*file), "{message}");
    let message = complaint(&["kernel", "compile", &file, "--arch", "new"], 2);
    assert!(
        message.contains("--arch") && message.contains("new"),
        "{message}"
    );
    let binary = folder.path().join("binary.cu");
    fs::write(&binary, b"// one\n\xff\xfe").expect("written");
    let message = complaint(&["kernel", "compile", &binary.to_string_lossy()], 1);
    assert!(
        message.contains("binary.cu") && message.contains("line 2"),
        "{message}"
    );
}

#[test]
fn without_nvrtc_the_error_names_the_package() {
    let folder = sources(SCALE);
    let file = folder.path().join("scale.cu");
    let mut command = program(&["kernel", "compile", &file.to_string_lossy()]);
    for variable in [
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "CUDA_PATH",
        "CUDA_HOME",
        "LD_LIBRARY_PATH",
    ] {
        command.env_remove(variable);
    }
    let output = command
        .env("PATH", "")
        .output()
        .expect("the program starts");
    let message = stderr(&output);
    // A toolkit where it always is, is found without any variable.
    if code(&output) != 0 {
        assert_eq!(code(&output), 1);
        assert!(
            message.contains("pip install nvidia-cuda-nvrtc"),
            "{message}"
        );
    }
}
