//! Wrong input gets an error that says what to do, never a panic.

use crate::common::{complaint, golden, program, stderr};
use serde_json::{Value, json};
use spikelet::graph::Tensor;
use spikelet::tensors::TensorFile;

#[test]
fn a_misspelt_name_is_answered_with_the_names_there_are() {
    let message = complaint(&["neuron", "show", "lfi"], 2);
    assert!(
        message.contains("soft_pulse_lif") && message.contains("'lif'"),
        "{message}"
    );
    let message = complaint(&["neuron", "show", "lif", "--surrogate", "sigmiod"], 2);
    assert!(
        message.contains("piecewise_quadratic") && message.contains("'sigmoid'"),
        "{message}"
    );
    let message = complaint(&["neuron", "show", "lif", "--set", "tua=3"], 2);
    assert!(
        message.contains("did you mean `tau`?") && message.contains("decay_input"),
        "{message}"
    );
    let message = complaint(&["neuron", "show", "lif", "--set", "surrogate.aplha=3"], 2);
    assert!(message.contains("did you mean `alpha`?"), "{message}");
    let message = complaint(
        &["surrogate", "show", "poisson_pass", "--set", "alpha=1"],
        2,
    );
    assert!(message.contains("it has none"), "{message}");
}

#[test]
fn a_value_of_the_wrong_kind_is_refused() {
    for words in [
        &["neuron", "show", "lif", "--set", "tau=slow"][..],
        &["neuron", "show", "lif", "--set", "tau"],
        &["neuron", "show", "lif", "--set", "surrogate=atan"],
        &["neuron", "show", "plif", "--set", "granularity=chanel"],
        &["neuron", "show", "lif", "--reset-grad", "hard"],
        &[
            "neuron",
            "show",
            "lif",
            "--surrogate",
            "super_spike",
            "--reset-grad",
            "soft",
        ],
        &["neuron", "diff", "a", "b", "--tolerance", "-1"],
        &["train", "--epochs", "0"],
        &["train", "--lr", "-0.1"],
        &["train", "--threads", "4096"],
        &["plan", "resnet"],
        &["plan", "--hidden", "1000000000"],
        &["plan", "--propagation", "sideways"],
        &["bench", "neuron", "--dtype", "f8"],
        &["bench", "neuron", "--time-steps", "8,0"],
        &["bench", "linear-lif", "--precision", "int8"],
        &["bench", "linear-lif", "--features", "1000000000"],
        &["bench", "neuron", "--neurons", "0"],
        &[
            "bench",
            "neuron",
            "--neurons",
            "4294967295",
            "--time-steps",
            "4294967295",
        ],
    ] {
        complaint(words, 2);
    }
}

#[test]
fn an_unknown_device_is_answered_with_those_there_are() {
    for command in [
        &["train"][..],
        &["plan"],
        &["bench", "neuron"],
        &["bench", "train"],
        &["eval", &golden("if_T1_N64")],
        &["train", "--pipeline", "cpu,abacus"],
    ] {
        let message = complaint(&[command, &["--device", "abacus"]].concat(), 2);
        assert!(
            message.contains("abacus") && message.contains("help: use auto, cpu"),
            "{message}"
        );
    }
}

#[test]
fn a_file_that_is_missing_or_no_tensor_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (text, missing, out) = (at("text"), at("missing"), at("out"));
    std::fs::write(&text, "no tensors in here").expect("written");
    let half = at("half");
    let whole = std::fs::read(golden("if_hard_surrogate_atan")).expect("a case");
    std::fs::write(&half, &whole[..whole.len() / 2]).expect("written");
    for file in [&text, &missing, &half] {
        for words in [
            vec!["neuron", "run", "--case", file, "--out", &out],
            vec!["neuron", "diff", file, &text],
            vec!["eval", file],
        ] {
            let message = complaint(&words, 1);
            assert!(
                message.contains(file.as_str()) && message.contains("help: "),
                "{message}"
            );
        }
    }
    let golden = golden("if_hard_surrogate_atan");
    let message = complaint(&["eval", &golden], 1);
    assert!(message.contains("format"), "{message}");
    let message = complaint(&["neuron", "run", "--case", &golden, "--out", &golden], 2);
    assert!(message.contains("the case itself"), "{message}");
}

#[test]
fn files_without_a_tensor_in_common_cannot_be_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str| {
        let mut file = TensorFile::default();
        file.tensors
            .insert(name.to_string(), Tensor::f32([1], [0.0]));
        let path = folder.path().join(name);
        file.write(&path).expect("written");
        path.to_string_lossy().into_owned()
    };
    let message = complaint(&["neuron", "diff", &write("left"), &write("right")], 1);
    assert!(
        message.contains("the first has: left; the second has: right"),
        "{message}"
    );
}

/// Runs a case made of these parts, which must be refused.
fn refused(spec: Option<&str>, tensors: &[(&str, Tensor)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let mut case = TensorFile::default();
    case.metadata
        .extend(spec.map(|s| ("spec".to_string(), s.to_string())));
    case.tensors.extend(
        tensors
            .iter()
            .map(|(name, tensor)| ((*name).to_string(), tensor.clone())),
    );
    let path = folder.path().join("case");
    case.write(&path).expect("written");
    let out = folder.path().join("out");
    complaint(
        &[
            "neuron",
            "run",
            "--case",
            &path.to_string_lossy(),
            "--out",
            &out.to_string_lossy(),
        ],
        1,
    )
}

#[test]
fn a_case_that_is_none_is_refused() {
    let x = ("x_seq", Tensor::f32([2, 3], [1.0; 6]));
    assert!(refused(None, std::slice::from_ref(&x)).contains("no `spec` in the metadata"));
    assert!(refused(Some("{"), std::slice::from_ref(&x)).contains("`spec` is not JSON"));
    let spec = |value: Value| value.to_string();
    let unknown = refused(
        Some(&spec(json!({"neuron": "lfi"}))),
        std::slice::from_ref(&x),
    );
    assert!(
        unknown.contains("no neuron is called `lfi`; there are: if, lif"),
        "{unknown}"
    );
    assert!(refused(Some("{}"), std::slice::from_ref(&x)).contains("needs `neuron`"));
    let constant = refused(
        Some(&spec(json!({"neuron": "lif", "params": {"tua": 1}}))),
        &[x],
    );
    assert!(constant.contains("no constant `tua`"), "{constant}");
    assert!(refused(Some(&spec(json!({"neuron": "lif"}))), &[]).contains("there is no `x_seq`"));
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let plif = json!({"neuron": "plif"}).to_string();
    let x = ("x_seq", Tensor::f32([2, 3], [1.0; 6]));
    for wrong in [
        vec![("x_seq", Tensor::f32([6], [1.0; 6]))],
        vec![("x_seq", Tensor::f32([], [1.0]))],
        vec![("x_seq", Tensor::i64([2, 3], [1; 6]))],
        vec![x.clone(), ("v_init", Tensor::f32([4], [0.0; 4]))],
        vec![x.clone(), ("v_init", Tensor::f64([3], [0.0; 3]))],
        vec![x.clone(), ("w", Tensor::f32([2], [0.0; 2]))],
        vec![x.clone(), ("grad_spike_seq", Tensor::f32([2, 4], [0.0; 8]))],
        vec![x.clone(), ("grad_v_seq", Tensor::f64([2, 3], [0.0; 6]))],
    ] {
        refused(Some(&plif), &wrong);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_limit_of_file_sizes_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run").to_string_lossy().into_owned();
    let words = [
        "train",
        "--train-images",
        "256",
        "--test-images",
        "20",
        "--epochs",
        "1",
        "--out",
        &out,
    ];
    // In blocks of 512 bytes: the weights of the first layer alone take 614,656 bytes.
    let limited = program(&words);
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", "ulimit -f 200; exec \"$@\"", "sh"])
        .arg(limited.get_program())
        .args(limited.get_args());
    let output = shell.output().expect("the shell starts");
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains(".safetensors") && message.contains("ulimit -f"),
        "{message}"
    );
}
