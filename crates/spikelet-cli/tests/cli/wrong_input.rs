//! Wrong input gets an error that says what to do, never a panic.

use crate::common::{complaint, golden, mentions, program, said, stderr};

#[test]
fn a_misspelled_name_is_answered_with_all_names() {
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
    assert!(message.contains("it has: factor"), "{message}");
}

#[test]
fn the_case_of_a_name_does_not_matter_and_a_name_of_another_kind_is_told() {
    let lower = said(&["neuron", "show", "lif"]);
    assert_eq!(said(&["neuron", "show", "LIF"]), lower);
    let shown = |network: &str| said(&["config", network, "--dataset", "Fashion-MNIST"]);
    assert_eq!(shown("MNIST_FC"), shown("mnist-fc"));
    let message = complaint(&["train", "MNIST"], 2);
    mentions(&message, &["'MNIST'", "--dataset mnist"]);
    for (key, meant) in [
        ("lr=1e-3", "--set optimizer.lr=…"),
        ("learning-rate=1e-3", "--set optimizer.lr=…"),
        ("hidden=100", "--hidden N"),
        ("epochs=3", "--set training.epochs=…"),
    ] {
        let message = complaint(&["train", "--set", key], 2);
        mentions(&message, &["no constant", meant, "tau"]);
    }
    let help = "`mse` is for values; use `mse-one-hot` for labels of classes";
    for option in [&["--loss", "mse"][..], &["--set", "loss.name=mse"]] {
        let message = complaint(&[&["config", "mnist-fc"], option].concat(), 2);
        mentions(&message, &["no loss is called `mse`", help]);
    }
    let message = complaint(&["train", "./x.png"], 2);
    mentions(&message, &["./x.png is an image", "spikelet predict"]);
}

#[test]
fn the_last_of_several_values_counts() {
    let once = said(&["config", "mnist-fc", "--epochs", "3", "--set", "tau=3"]);
    let words = [
        "config", "mnist-fc", "--epochs", "1", "--set", "tau=3", "--epochs", "3",
    ];
    assert_eq!(said(&words), once);
}

#[test]
fn a_value_of_the_wrong_type_is_an_error() {
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
        &["train", "--epochs", "0"],
        &["train", "--lr", "-0.1"],
        &["train", "--threads", "4096"],
        &["plan", "resnet"],
        &["plan", "--hidden", "1000000000"],
        &["plan", "--propagation", "sideways"],
        &["bench", "neuron", "--dtype", "f8"],
        &["bench", "neuron", "--time-steps", "8,0"],
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
fn an_unknown_device_is_answered_with_all_devices() {
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
            message.contains("`abacus`") && message.contains("auto, cpu"),
            "{message}"
        );
    }
}

#[test]
fn a_missing_or_invalid_tensor_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (text, missing) = (at("text"), at("missing"));
    std::fs::write(&text, "no tensors in here").expect("written");
    let half = at("half");
    let whole = std::fs::read(golden("if_hard_surrogate_atan")).expect("a case");
    std::fs::write(&half, &whole[..whole.len() / 2]).expect("written");
    for file in [&text, &missing, &half] {
        let message = complaint(&["eval", file], 1);
        assert!(
            message.contains(file.as_str()) && message.contains("help: "),
            "{message}"
        );
    }
    let golden = golden("if_hard_surrogate_atan");
    let message = complaint(&["eval", &golden], 1);
    assert!(message.contains("format"), "{message}");
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
