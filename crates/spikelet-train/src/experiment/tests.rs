use super::*;
use crate::ParameterGroup;
use crate::optim::LrSchedule;
use crate::optim::schedule::Cosine;
use crate::penalty::{Penalty, RateBounds, SpikeCount};
use serde_json::Value;
use spikelet_nn::layer::DelayWidth;
use spikelet_nn::loss::{CrossEntropy, Tet};
use spikelet_nn::network::Model;

fn of(text: &str) -> Experiment {
    Experiment::from_toml("run.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn named(name: &str) -> Experiment {
    Experiment::of_network(Network::find(name).expect("it is known"))
}

fn changed(name: &str, text: &str) -> Experiment {
    let mut experiment = named(name);
    let document = Document::from_toml("--set", text).expect("it is TOML");
    let made = experiment.change(&document);
    made.unwrap_or_else(|error| panic!("{error}"));
    experiment
}

#[test]
fn the_experiment_of_every_network_is_written_and_read() {
    for name in Model::names() {
        let network = Network::find(name).expect("it is known");
        let experiment = Experiment::of_network(network);
        let text = experiment.to_toml();
        let read = of(&text);
        assert_eq!(read.settings, experiment.settings, "{name}\n{text}");
        assert_eq!(read.to_toml(), text);
        assert_eq!(
            (&read.data, &read.device),
            (&experiment.data, &experiment.device)
        );
    }
}

#[test]
fn every_setting_is_written_and_read() {
    let text = r#"
        [data]
        dataset = "cifar10"
        train_images = 1000
        test_images = "all"
        validation = 0.25
        normalize = { mean = [0.5, 0.4, 0.3], std = [0.2] }
        augment = ["crop=4", { color-jitter = { hue = 0.2 } }, "flip", "auto-augment"]
        mixup = 0.2
        cutmix = 1
        loader_threads = 3
        [encoder]
        name = "latency"
        code = "log"
        [network]
        name = "csnn"
        channels = 16
        neuron = "plif"
        [loss]
        name = "tet"
        label_smoothing = 0.1
        penalties = [
            { name = "spike-count", layers = "4", weight = 6e-4 },
            { name = "rate-bounds", layers = "*", weight = 1, low = 0, high = 0.25 },
        ]
        [optimizer]
        name = "adamw"
        lr = 3e-4
        beta2 = 0.99
        clip_norm = 1
        bias_decay = false
        groups = [{ parameters = "*.bias", lr = 1e-5, weight_decay = 0 }, { parameters = "fc*", frozen = true }]
        [schedule]
        name = "cosine"
        epochs = 12
        min_factor = 0.1
        warm_up = 2
        per_epoch = true
        [training]
        epochs = 15
        time_steps = 3
        batch_size = 7
        accumulate = 2
        ema = 0.99
        delay_width = { start = 12, end = 0.5, epochs = 4 }
        precision = "bf16"
        propagation = "step-by-step"
        memory_budget = "400MiB"
        evaluation_batch = 70
        seed = 5
        [device]
        name = "cpu"
        threads = 2
        data_parallel = 2
        sync_batch_norm = true
        pipeline = ["0", "1"]
        split_size = 4
        [output]
        monitor = ["rate", "gradient=fc.*", "all=fc"]
        curve_steps = 10
        checkpoint_seconds = 1.5
    "#;
    let experiment = of(text);
    let settings = &experiment.settings;
    assert_eq!(
        settings.encoder,
        "latency code=log".parse().expect("an encoder")
    );
    let tet = Tet {
        cross_entropy: CrossEntropy::new().label_smoothing(0.1),
    };
    assert_eq!(settings.loss, tet.into());
    let bounds = RateBounds {
        low: 0.0,
        high: 0.25,
    };
    let penalties = [
        Penalty::new(SpikeCount, "4", 6e-4),
        Penalty::new(bounds, "*", 1.0),
    ];
    assert_eq!(settings.penalties, penalties);
    assert_eq!(settings.optimizer.name(), "adamw");
    assert_eq!(settings.delay_width, Some(DelayWidth::new(12.0, 0.5, 4)));
    assert_eq!(settings.optimizer.weight_decay(), 0.01);
    let frozen = ParameterGroup {
        frozen: true,
        ..ParameterGroup::new("fc*")
    };
    assert_eq!(settings.groups[1], frozen);
    let group = settings.groups[0]
        .config(&*settings.optimizer)
        .expect("it is sound");
    assert_eq!(
        (group.weight_decay(), group.constants()["beta2"].as_f64()),
        (0.0, Some(0.99))
    );
    let cosine = Cosine {
        epochs: Some(12.0),
        min_factor: 0.1,
    };
    let schedule = LrSchedule::from(cosine).warm_up(2.0).per_epoch();
    assert_eq!(settings.schedule, schedule);
    assert_eq!(
        (experiment.device.threads, experiment.output.monitor.len()),
        (2, 3)
    );
    let again = of(&experiment.to_toml());
    assert_eq!(again.settings, experiment.settings);
    assert_eq!(again.data, experiment.data);
    assert_eq!(again.output, experiment.output);
    assert_eq!(again.to_toml(), experiment.to_toml());
}

#[test]
fn keys_that_are_not_given_keep_the_defaults_of_the_network() {
    let csnn = of("[network]\nname = \"csnn\"\n[training]\nepochs = 1\n");
    let expected = Settings {
        epochs: 1,
        ..named("csnn").settings
    };
    assert_eq!(csnn.settings, expected);
    // Another optimizer starts from its defaults and keeps the learning rate.
    let other = changed("csnn", "optimizer.name = \"adam\"");
    assert_eq!(
        other.settings.optimizer.constants()["beta2"].as_f64(),
        Some(0.999)
    );
    assert_eq!(other.settings.optimizer.lr(), expected.optimizer.lr());
    let same = changed("csnn", "optimizer.weight_decay = 1e-4");
    assert_eq!(
        same.settings.optimizer.constants()["momentum"].as_f64(),
        Some(0.9)
    );
}

#[test]
fn a_change_that_is_refused_changes_nothing() {
    let mut experiment = named("mnist-fc");
    let before = experiment.clone();
    let text = "training.epochs = 3\noptimizer.lrr = 1";
    let document = Document::from_toml("--set", text).expect("it is TOML");
    let refused = experiment
        .change(&document)
        .expect_err("lrr is unknown")
        .to_string();
    assert!(refused.contains("--set:2:11"), "{refused}");
    assert!(refused.contains("did you mean `lr`?"), "{refused}");
    assert_eq!(experiment, before);
}

#[test]
fn the_schema_has_every_key_that_is_written() {
    let schema = Experiment::schema();
    for name in Model::names() {
        let experiment = named(name);
        let text = experiment.to_toml();
        let document = Document::from_toml("run.toml", &text).expect("it is TOML");
        let Value::Object(tables) = document.root().to_json() else {
            panic!("a file is a table");
        };
        for (table, keys) in tables {
            let known = &schema["properties"][&table]["properties"];
            for (key, value) in keys.as_object().expect("it is a table") {
                let key_schema = &known[key];
                assert!(key_schema.is_object(), "{table}.{key}");
                let kind = match value {
                    Value::Bool(_) => "boolean",
                    Value::Number(number) if number.is_f64() => "number",
                    _ => continue,
                };
                let text = key_schema.to_string();
                assert!(text.contains(kind), "{table}.{key}: {text}");
            }
        }
    }
}

#[test]
fn the_case_of_a_name_in_a_file_does_not_matter() {
    let text = "[network]\nname = \"MNIST-FC\"\n[data]\ndataset = \"Fashion-MNIST\"\n";
    let experiment = Experiment::from_toml("run.toml", text).expect("it is read");
    assert_eq!(experiment.network.name(), "mnist-fc");
    assert_eq!(experiment.data.dataset.as_deref(), Some("fashion-mnist"));
    assert!(experiment.settings.augment.is_empty());
    let text = "[network]\nname = \"mnist-fc\"\n[data]\ndataset = \"imagenet\"\n";
    let experiment = Experiment::from_toml("run.toml", text).expect("it is read");
    assert!(experiment.settings.augment.flip);
    let text = format!("{text}augment = []\n");
    let experiment = Experiment::from_toml("run.toml", &text).expect("it is read");
    assert!(experiment.settings.augment.is_empty());
}
