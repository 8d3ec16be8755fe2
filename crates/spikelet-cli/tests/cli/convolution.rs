//! Networks of convolutions: their options, their data, training, and the picture of what they do.

use crate::common::{complaint, said, said_json};

const TINY: [&str; 12] = [
    "--channels",
    "2",
    "--train-images",
    "64",
    "--test-images",
    "16",
    "--batch-size",
    "16",
    "--time-steps",
    "2",
    "--device",
    "cpu",
];

#[test]
fn an_option_of_another_network_is_answered_with_the_networks_that_have_it() {
    for (words, expected) in [
        (
            &["plan", "mnist-fc", "--channels", "4"][..],
            "mnist-fc has no --channels\n  help: leave it out; networks that have it: csnn, cifar10-net, plif-net, resnet18, sew-7b-net, ",
        ),
        (
            &["train", "cifar10-net", "--hidden", "4"],
            "cifar10-net has no --hidden\n  help: leave it out; networks that have it: mnist-fc, csnn, plif-net, ",
        ),
        (
            &["bench", "train", "csnn", "--no-conv-bias"],
            "csnn has no --no-conv-bias\n  help: leave it out; networks that have it: cifar10-net\n",
        ),
    ] {
        let message = complaint(words, 2);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn images_that_do_not_fit_are_refused_before_they_are_read() {
    let message = complaint(&["train", "csnn", "--dataset", "cifar-10"], 2);
    for part in [
        "1 × 28 × 28",
        "3 × 32 × 32",
        "synthetic, mnist, fashion-mnist",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let message = complaint(&["train", "cifar10-net", "--dataset", "mnist"], 2);
    assert!(
        message.contains(
            "fit cifar10-net: cifar10, cifar100, image-folder, imagenet, synthetic-images\n"
        ),
        "{message}"
    );
    // Without a word it is CIFAR-10, which is not here.
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().to_string_lossy();
    let message = complaint(&["train", "cifar10-net", "--data-dir", &dir], 1);
    assert!(message.contains("CIFAR-10 is not complete"), "{message}");
    let words = ["train", "resnet18", "--dataset", "cifar100", "--data-dir"];
    let message = complaint(&[&words[..], &[&*dir]].concat(), 1);
    assert!(message.contains("CIFAR-100 is not complete"), "{message}");
}

#[test]
fn a_preset_selects_its_data_set_and_the_error_names_the_download_option() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().to_string_lossy();
    for (network, preset, data) in [
        ("mnist-fc", "spikingflow", "MNIST"),
        ("csnn", "spikingjelly", "Fashion-MNIST"),
        ("cifar10-net", "spikingflow", "CIFAR-10"),
    ] {
        let words = ["train", network, "--preset", preset, "--data-dir", &dir];
        let message = complaint(&words, 1);
        let expected = format!("error: {data} is not complete");
        assert!(message.starts_with(&expected), "{message}");
        assert!(message.contains("--download"), "{message}");
        let drawn = message.contains("--dataset synthetic");
        assert_eq!(drawn, network != "cifar10-net", "{message}");
    }
}

#[test]
fn invalid_augmentation_and_normalization_are_errors() {
    for (list, expected) in [
        ("crop=4,flp", "`flip`"),
        ("crop", "`crop`"),
        ("rotate=360", "180"),
        ("flip,flip", "twice"),
    ] {
        let message = complaint(&["train", "csnn", "--augment", list], 2);
        assert!(message.contains(expected), "{list}: {message}");
    }
    let small = ["--train-images", "8", "--test-images", "8"];
    for (words, expected) in [
        (
            &["train", "csnn", "--normalize", "half"][..],
            "write none, auto",
        ),
        (
            &["train", "mnist-fc", "--normalize", "auto"],
            "--encoder direct",
        ),
        (&["train", "csnn", "--amp", "--precision", "f16"], "--amp"),
        (
            &["train", "mnist-fc", "--momentum", "0.5"],
            "--optimizer muon or rmsprop or sgd",
        ),
        (&["train", "csnn", "--gamma", "0.5"], "--schedule step"),
    ] {
        let message = complaint(&[words, &small].concat(), 2);
        assert!(message.contains(expected), "{words:?}: {message}");
    }
    let means = ["train", "csnn", "--normalize", "0.1,0.2/0.3"];
    let message = complaint(&[&means[..], &small].concat(), 1);
    assert!(message.contains("mean"), "{message}");
}

#[test]
fn a_network_of_convolutions_is_planned_with_its_own_images() {
    let words = [
        "plan",
        "cifar10-net",
        "--channels",
        "2",
        "--batch-size",
        "2",
        "--no-conv-bias",
    ];
    let plan = &said_json(&[&words[..], &["--device", "cpu"]].concat())[0];
    assert_eq!(plan["network"]["bias"], false);
    assert_eq!(plan["settings"]["loss"]["name"], "mse-one-hot");
    let preset = [
        "--preset",
        "spikingflow",
        "--set",
        "tau=50",
        "--time-steps",
        "2",
        "--device",
        "cpu",
    ];
    let plan = &said_json(&[&words[..], &preset].concat())[0];
    assert_eq!(plan["network"]["neuron"]["params"]["tau"], 50.0);
    assert_eq!(plan["settings"]["encoder"]["name"], "poisson");
}

#[test]
fn a_network_of_convolutions_is_trained_then_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (run, out) = (at("run"), at("picture.png"));
    let words = [
        "train",
        "csnn",
        "--epochs",
        "1",
        "--out",
        &run,
        "--augment",
        "shift=0.1,noise=0.05",
        "--normalize",
        "auto",
        "--warm-up",
        "0.5",
    ];
    let lines = said_json(&[&words[..], &TINY].concat());
    let settings = &lines[0]["settings"];
    let noise = settings["data"]["augment"][1]["noise"]
        .as_f64()
        .expect("a number");
    assert!((noise - 0.05).abs() < 1e-6, "{noise}");
    let mean = settings["data"]["normalize"]["mean"][0].as_f64();
    assert!(mean > Some(0.05) && mean < Some(0.5), "{mean:?}");
    assert_eq!(settings["schedule"]["warm_up"], 0.5);
    assert!(lines[1]["test_loss"].as_f64() > Some(0.0));
    assert_eq!(lines[2]["event"], "done");

    let checkpoint = format!("{run}/best.safetensors");
    let words = [
        "show",
        &checkpoint,
        "--test-images",
        "16",
        "--device",
        "cpu",
    ];
    let pictures = ["--index", "3,5", "--out", &out];
    let shown = said_json(&[&words[..], &pictures].concat());
    assert_eq!(
        (shown.len(), &shown[1]["index"]),
        (2, &serde_json::json!(5))
    );
    assert_eq!(shown[0]["scores"].as_array().map(Vec::len), Some(10));
    let layers = shown[0]["layers"].as_array().expect("layers");
    let names: Vec<&str> = layers.iter().filter_map(|l| l["name"].as_str()).collect();
    assert_eq!(names, ["conv.0", "conv.4", "fc.1", "fc.3"]);
    assert_eq!(layers[0]["shape"], serde_json::json!([2, 28, 28]));
    let written = std::fs::read(&out).expect("the picture");
    assert!(written.starts_with(b"\x89PNG"));

    let text = said(&words);
    assert!(
        text.starts_with("image 0: ") && text.contains("2 × 28 × 28"),
        "{text}"
    );
    let message = complaint(&[&words[..], &["--out", "picture.jpeg"]].concat(), 2);
    assert!(message.contains("neither .svg nor .png"), "{message}");
    let message = complaint(&[&words[..], &["--index", "16"]].concat(), 1);
    assert!(message.contains("16 was given"), "{message}");
    let message = complaint(&[&words[..], &["--dataset", "cifar10"]].concat(), 2);
    assert!(message.contains("3 × 32 × 32"), "{message}");
}
