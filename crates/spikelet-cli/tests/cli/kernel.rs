//! `spikelet kernel …`: texts without a GPU, and what the compiler makes of them.

use crate::common::{code, complaint, program, run, said, said_json, stderr, stdout};
use spikelet::neuron;
use spikelet::surrogate;
use std::fs;
use std::path::Path;
use std::process::Output;

fn show(words: &str) -> String {
    let words: Vec<&str> = ["kernel", "show"]
        .into_iter()
        .chain(words.split_whitespace())
        .collect();
    said(&words)
}

fn refused(words: &str) -> String {
    let words: Vec<&str> = ["kernel", "show"]
        .into_iter()
        .chain(words.split_whitespace())
        .collect();
    complaint(&words, 2)
}

/// The results of compiling with NVRTC.
fn compile(file: &Path, words: &[&str]) -> Output {
    let file = file.to_string_lossy();
    let output = run(&[&["kernel", "compile", &file], words].concat());
    let message = stderr(&output);
    assert!(!message.starts_with("error: NVRTC ("), "{message}");
    output
}

#[test]
fn a_kernels_text_is_all_that_is_printed() {
    for style in ["auto_cuda", "fused"] {
        for pass in ["fptt", "bptt"] {
            let words = format!("--neuron lif --surrogate sigmoid --style {style} --pass {pass}");
            insta::assert_snapshot!(format!("{style}_lif_{pass}"), show(&words));
        }
    }
}

#[test]
fn what_is_asked_for_is_in_the_text() {
    let soft = show("--neuron if --dtype half2 --set v_reset=null");
    assert!(
        soft.contains("void IFNodeFPTTKernel_half2_soft_reset("),
        "{soft}"
    );
    let detached = show("--neuron plif --pass bptt --reset-grad detach");
    assert!(
        detached.contains("void ParametricLIFNodeBPTTKernel_float_hard_reset_detach_reset("),
        "{detached}"
    );
    let undecayed = show("--set decay_input=false");
    assert!(undecayed.contains("temp_var + x_seq[t]"), "{undecayed}");
    let steep = show("--pass bptt --surrogate atan --set surrogate.alpha=3");
    assert_ne!(steep, show("--pass bptt --surrogate atan"));
    let small = show("--style fused --dtype bf16 -T 8 -N 96");
    assert!(
        small.contains("const spk_bf16* __restrict__ x_seq0") && small.contains("if (i >= 96u)"),
        "{small}"
    );
    let half = show("--style fused --dtype half");
    assert_eq!(half, show("--style fused --dtype half2"));
    let on = |arch| show(&format!("--style fused --neurons 60000 --arch {arch}"));
    assert_ne!(
        on("80"),
        on("90"),
        "60,000 neurons fill an A100, and not an H100"
    );
}

#[test]
fn sections_are_marked_where_that_is_asked_for() {
    for (style, first) in [("auto_cuda", "declaration"), ("fused", "library")] {
        let marked = show(&format!("--style {style} --markers"));
        let plain = show(&format!("--style {style}"));
        assert!(marked.starts_with(&format!("//------{first} start------\n")));
        let without = marked.lines().filter(|line| !line.starts_with("//------"));
        assert!(without.eq(plain.lines()));
        assert!(!plain.contains("//------"));
    }
}

#[test]
fn for_machines_the_text_comes_with_its_parameters() {
    let words = ["kernel", "show", "--pass", "bptt", "--set", "tau=4"];
    let shown = &said_json(&words)[0];
    assert_eq!(
        shown["name"],
        "LIFNodeBPTTKernel_float_hard_reset_nodetach_reset"
    );
    assert_eq!(shown["style"], "auto_cuda");
    assert_eq!(shown["source"], said(&words));
    let parameters = shown["parameters"].as_array().expect("a list");
    assert_eq!(
        parameters[1],
        serde_json::json!({"type": "float &", "name": "decay", "value": 0.25})
    );

    let words = [
        "kernel", "show", "--style", "fused", "-T", "100", "--neuron", "plif",
    ];
    let shown = &said_json(&words)[0];
    assert_eq!(shown["name"], "spk_plif_fptt");
    assert_eq!(shown["capability"], serde_json::json!([9, 0]));
    assert_eq!(
        (&shown["block"], &shown["grid"][0]),
        (&128.into(), &1024.into())
    );
    let what: Vec<&str> = shown["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|p| p["what"].as_str())
        .collect();
    assert_eq!(what, ["x", "w", "s", "v after every 16 steps but the last"]);
}

/// The fused kernels of every neuron: the words that show one, its name and its text.
fn fused() -> Vec<(String, String, String)> {
    let mut all = vec![];
    for entry in neuron::entries() {
        for (pass, dtype) in [
            ("fptt", "float"),
            ("bptt", "float"),
            ("fptt", "half"),
            ("bptt", "bf16"),
        ] {
            let name = entry.name;
            let words = format!("--style fused --neuron {name} --pass {pass} --dtype {dtype}");
            let text = show(&words);
            all.push((words, format!("spk_{name}_{pass}"), text));
        }
    }
    all
}

#[test]
fn every_neuron_has_a_fused_kernel() {
    for (words, name, text) in fused() {
        assert!(text.contains(&format!(" {name}(")), "{words}");
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn every_neurons_fused_kernel_compiles() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("k.cu");
    for (words, name, text) in fused() {
        fs::write(&file, text).expect("written");
        let output = compile(&file, &["--name", &name]);
        assert_eq!(code(&output), 0, "{words}: {}", stderr(&output));
    }
}

#[test]
fn every_surrogate_has_a_text() {
    assert_eq!(surrogate::entries().len(), 21);
    for entry in surrogate::entries() {
        let name = entry.name;
        let text = show(&format!("--pass bptt --dtype half2 --surrogate {name}"));
        assert!(text.contains("const half2 grad_s_to_h ="), "{name}: {text}");
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn every_kernel_of_auto_cuda_compiles() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("k.cu");
    for name in ["if", "lif", "plif"] {
        for dtype in ["float", "half2"] {
            for pass in ["fptt", "bptt"] {
                let words = format!("--neuron {name} --pass {pass} --dtype {dtype}");
                fs::write(&file, show(&words)).expect("written");
                let output = compile(&file, &["--arch", "80"]);
                assert_eq!(code(&output), 0, "{words}: {}", stderr(&output));
            }
        }
    }
}

#[test]
fn what_auto_cuda_does_not_have_is_answered_with_what_there_is() {
    let message = refused("--neuron lfi");
    assert!(message.contains("'lif'"), "{message}");
    let message = refused("--neuron soft_pulse_lif");
    assert!(
        message.contains("but of if, lif, plif") && message.contains("--style fused"),
        "{message}"
    );
    for words in [
        "--reset-grad soft",
        "--set spiking=false",
        "--neuron plif --set granularity=neuron",
        "--dtype half",
        "--dtype bf16",
        "--time-steps 4",
        "--neurons 4",
        "--arch 80",
    ] {
        let message = refused(words);
        assert!(
            message.contains("auto_cuda") && message.contains("--style fused"),
            "{words}: {message}"
        );
        assert!(!show(&format!("--style fused {words}")).is_empty());
    }
}

#[test]
fn what_cannot_be_written_is_refused_with_the_reason() {
    let message = refused("--style fused -T 1000000 -N 1000000");
    assert!(message.contains("2³¹ − 1"), "{message}");
    let message = refused("--style fused --reset-grad soft --surrogate super_spike");
    assert!(message.contains("no primitive"), "{message}");
    for words in [
        "-T 0",
        "--arch ninety",
        "--arch 90a",
        "--style mine",
        "--pass both",
    ] {
        assert!(refused(words).contains("invalid value"), "{words}");
    }
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
fn an_architecture_or_a_kernel_that_is_not_there_is_a_wrong_argument() {
    let folder = sources(SCALE);
    let file = folder.path().join("scale.cu");
    for (words, reason) in [
        (["--arch", "97"], "but for 7.5"),
        (["--arch", "3.5"], "but for 7.5"),
        (["--name", "sacle"], "it has: add, scale"),
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
    assert!(message.contains("cannot read not/there.cu"), "{message}");
    let message = complaint(&["kernel", "compile", &file, "--out", &file], 2);
    assert!(message.contains("is the source itself"), "{message}");
    let message = complaint(&["kernel", "compile", &file, "--arch", "new"], 2);
    assert!(message.contains("such as 90"), "{message}");
    let binary = folder.path().join("binary.cu");
    fs::write(&binary, b"// one\n\xff\xfe").expect("written");
    let message = complaint(&["kernel", "compile", &binary.to_string_lossy()], 1);
    assert!(message.contains("line 2 is not UTF-8"), "{message}");
}

#[test]
fn without_nvrtc_the_error_says_what_brings_it() {
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
    // Texts need no compiler.
    assert!(show("").contains("LIFNodeFPTTKernel"));
}
