//! The pages of real runs and of very long ones.

use super::*;
use crate::metric::MetricValues;
use crate::{FitReport, Goal, Loaders, Monitor, Outputs, Step, Trainer, metric};
use serde_json::Value;
use spikelet_data::{DType, DataLoader, Field, InMemory, LoaderConfig, Split, synthetic};
use spikelet_nn::layer::*;
use spikelet_nn::loss;
use spikelet_nn::module::*;
use spikelet_nn::neuron::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn network() -> Sequential {
    Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 12).bias(false))
        .add(Lif::new(2.0))
        .add(Linear::new(12, 10).bias(false))
        .add(Lif::new(2.0))
}

fn settings() -> Settings {
    Settings {
        epochs: 2,
        time_steps: 5,
        batch_size: 16,
        validation: 0.2,
        ..Settings::default()
    }
}

fn data() -> Split {
    synthetic::digits_of(0, 100, 40)
}

/// The data of a page.
fn page(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("report.html")).expect("a report");
    let (_, rest) = text.split_once("id=\"data\">").expect("the data");
    serde_json::from_str(rest.split_once("</script>").expect("their end").0).expect("JSON")
}

fn ids(page: &Value) -> Vec<&str> {
    let panels = page["panels"].as_array().expect("panels");
    panels
        .iter()
        .map(|panel| panel["id"].as_str().expect("an id"))
        .collect()
}

fn train(folder: &Path, trainer: Trainer<'_>) -> FitReport {
    trainer
        .folder(folder)
        .curve_steps(2)
        .fit(&data())
        .expect("a run")
}

#[test]
fn the_page_of_a_monitored_run_has_all_figures() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut trainer = Trainer::new(network(), settings()).command("spikelet train --epochs 2");
    for monitor in Monitor::ALL {
        trainer = trainer.monitor_layers(monitor, "*");
    }
    let outcome = train(folder.path(), trainer);
    assert_eq!(outcome.report, Some(folder.path().join("report.html")));
    let page = page(folder.path());
    let expected = [
        "epoch-loss",
        "epoch-accuracy",
        "epoch-learning-rate",
        "epoch-speed",
        "step-loss",
        "step-accuracy",
        "layers-rate",
        "layer-steps-rate",
        "layers-dead",
        "layers-saturated",
        "layers-potential",
        "layers-potential_std",
        "layers-distance",
        "layers-synaptic_operations",
        "layers-gradient",
        "layer-steps-gradient",
    ];
    assert_eq!(ids(&page), expected);
    assert_eq!(page["status"], "finished");
    assert_eq!(page["command"], "spikelet train --epochs 2");
    let loss = page["panels"][0]["series"].as_array().expect("curves");
    assert_eq!(loss.len(), 3);
    let layers = page["layers"].as_array().expect("layers");
    assert_eq!(layers.len(), 2);
    assert_eq!(
        (&layers[0]["name"], &layers[0]["shape"]),
        (&"2".into(), &serde_json::json!([12]))
    );
    assert!(
        layers
            .iter()
            .all(|layer| layer["rate"].is_number() && layer["distance"].is_number())
    );
    let titles = page["configuration"]
        .as_array()
        .expect("tables")
        .iter()
        .map(|table| &table["title"]);
    assert_eq!(
        titles.collect::<Vec<_>>(),
        ["Settings", "Data", "Plan and device"]
    );
    assert_eq!(page["classes"].as_array().map(Vec::len), Some(10));
}

#[test]
fn samples_have_spikes_potentials_and_the_threshold() {
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = train(folder.path(), Trainer::new(network(), settings()));
    let page = page(folder.path());
    let samples = page["samples"]["samples"].as_array().expect("samples");
    assert_eq!(samples.len(), 6);
    let labels = data().test.labels().expect("labels");
    for (k, sample) in samples.iter().enumerate() {
        assert_eq!(sample["label"], labels[k]);
        assert!(
            sample["png"]
                .as_str()
                .is_some_and(|png| png.starts_with("data:image/png;base64,"))
        );
        let scores = sample["scores"].as_array().expect("scores");
        assert_eq!(scores.len(), 10);
        // An output without a spike recognizes nothing.
        let is_silent = scores.iter().all(|score| *score == 0.0);
        assert_eq!(sample["predicted"].is_null(), is_silent, "{sample}");
    }
    let silent = samples
        .iter()
        .filter(|sample| sample["predicted"].is_null());
    let silent = silent.count() as u64;
    let counted = page["confusion"]["silent"].as_u64().expect("a count");
    assert!((silent..=silent + 34).contains(&counted), "{counted}");
    let layer = &page["samples"]["layers"][0];
    assert_eq!(layer["threshold"], 1.0);
    assert_eq!(layer["neurons"].as_array().map(Vec::len), Some(12));
    let own = &layer["samples"][0];
    let spikes = own["spikes"].as_array().expect("trains");
    // Five time steps are two digits.
    assert!(
        spikes
            .iter()
            .all(|train| train.as_str().map(str::len) == Some(2))
    );
    let bits: u32 = spikes
        .iter()
        .map(|train| {
            u8::from_str_radix(train.as_str().expect("digits"), 16)
                .expect("hexadecimal")
                .count_ones()
        })
        .sum();
    let rate = own["rate"].as_f64().expect("a rate");
    assert!(
        (rate - f64::from(bits) / 60.0).abs() < 1e-4,
        "{rate}, {bits}"
    );
    assert_eq!(own["v"][0].as_array().map(Vec::len), Some(5));

    // All test images are counted once, and the matrix has the accuracy of the evaluation.
    let confusion = &page["confusion"];
    assert_eq!(
        (&confusion["samples"], &confusion["of"]),
        (&40.into(), &40.into())
    );
    let rows = confusion["counts"].as_array().expect("rows");
    let count = |i: usize, j: usize| rows[i][j].as_u64().expect("a count");
    let all: u64 = (0..10)
        .flat_map(|i| (0..10).map(move |j| (i, j)))
        .map(|(i, j)| count(i, j))
        .sum();
    let hits: u64 = (0..10).map(|k| count(k, k)).sum();
    assert_eq!(all, 40);
    assert_eq!(hits as f64 / 40.0, outcome.test_accuracy());
    let worst = page["worst"]["images"].as_array().expect("images");
    assert_eq!(worst.len(), 24);
    let losses: Vec<f64> = worst
        .iter()
        .map(|image| image["loss"].as_f64().expect("a loss"))
        .collect();
    assert!(losses.is_sorted_by(|a, b| a >= b));
    // The mean of all losses is that of the evaluation; the largest ones are not below it.
    let mean = outcome.last().expect("an epoch").test_loss();
    assert!(losses[0] > mean * 0.999, "{} and {mean}", losses[0]);
    assert!(page["no_monitors"].is_string());
}

#[test]
fn a_run_without_validation_has_no_curve_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings {
        validation: 0.0,
        ..settings()
    };
    train(folder.path(), Trainer::new(network(), settings));
    let page = page(folder.path());
    let loss = page["panels"][0]["series"].as_array().expect("curves");
    let names: Vec<&Value> = loss.iter().map(|curve| &curve["name"]).collect();
    assert_eq!(names, ["training", "test"]);
    let tiles = page["tiles"].as_array().expect("tiles");
    assert!(
        tiles
            .iter()
            .all(|tile| tile["name"] != "Best validation accuracy")
    );
    assert!(page["command"].is_null());
}

/// The page without times.
fn timeless(mut page: Value) -> Value {
    let is_timed = |value: &Value| ["Time", "Speed"].iter().any(|name| value["name"] == *name);
    page["tiles"]
        .as_array_mut()
        .expect("tiles")
        .retain(|tile| !is_timed(tile));
    page["panels"]
        .as_array_mut()
        .expect("panels")
        .retain(|panel| panel["id"] != "epoch-speed");
    page
}

#[test]
fn an_interrupted_run_has_its_curves_and_a_resumed_one_the_page_of_an_unbroken_one() {
    let folders = tempfile::tempdir().expect("a folder");
    let [unbroken, broken] = ["unbroken", "broken"].map(|name| folders.path().join(name));
    let make = || Trainer::new(network(), settings()).monitor_layers(Monitor::Rate, "*");
    train(&unbroken, make().command("spikelet train"));
    let asked = AtomicUsize::new(0);
    let interrupted = Trainer {
        end_request: Some(Arc::new(move || asked.fetch_add(1, Ordering::Relaxed) >= 8)),
        ..make().command("spikelet train")
    };
    assert!(train(&broken, interrupted).interrupted);
    let before = page(&broken);
    assert_eq!(before["status"], "interrupted");
    assert!(
        before["message"]
            .as_str()
            .is_some_and(|text| text.contains("after 1 of 2 epochs"))
    );
    assert!(ids(&before).contains(&"epoch-loss"));
    assert!(before["samples"].is_null() && before["confusion"].is_null());
    train(
        &broken,
        make().resume(true).command("spikelet train --resume"),
    );
    assert_eq!(timeless(page(&broken)), timeless(page(&unbroken)));
}

#[test]
fn a_run_that_failed_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let step = Step::new(|cx, inputs| {
        let y = Linear::new(1, 1).bias(false).forward(cx, &inputs["x"])?;
        Ok(loss::mse(&y, &inputs["x"]))
    })
    .batch_size(4)
    .input("x", DType::F32, [1])
    .optimizer(crate::optim::Sgd::new(1e30));
    let values = InMemory::new("numbers");
    let values = values
        .with(Field::new("x", DType::F32, [1]), vec![3.0; 64])
        .expect("a field");
    let config = LoaderConfig {
        batch_size: 4,
        drop_last: true,
        ..LoaderConfig::default()
    };
    let data = Loaders::new(DataLoader::new(Arc::new(values), config).expect("a loader"));
    let settings = Settings {
        epochs: 1,
        ..Settings::default()
    };
    let error = Trainer::over(step, settings)
        .folder(folder.path())
        .fit(&data)
        .expect_err("it diverges");
    let page = page(folder.path());
    assert_eq!(page["status"], "failed");
    assert_eq!(page["message"], error.to_string());
    assert!(ids(&page).is_empty());
}

#[test]
fn a_step_with_scores_has_the_report_of_a_classifier() {
    let folder = tempfile::tempdir().expect("a folder");
    let net = network();
    let step = Step::new(|cx, inputs| {
        let y = net.forward(cx, &inputs["images"].repeat_over_time(4))?;
        let scores = y.mean(&[0]);
        let accuracy = metric::accuracy(&scores, &inputs["labels"]);
        Ok(
            Outputs::loss(loss::cross_entropy(&scores, &inputs["labels"]))
                .metric("accuracy", accuracy)
                .output("scores", &scores)
                .output("output_seq", &y),
        )
    })
    .input("images", DType::F32, [1, 28, 28])
    .input("labels", DType::I64, []);
    let trainer = Trainer::over(step, settings()).folder(folder.path());
    let digits = spikelet_data::synthetic::digits_of(0, 128, 40);
    let report = trainer.fit(&digits).expect("a run");
    let page = page(folder.path());
    let counts = page["confusion"]["counts"].as_array().expect("a matrix");
    let hits = (0..10).map(|k| counts[k][k].as_u64().expect("a count"));
    assert_eq!(hits.sum::<u64>() as f64 / 40.0, report.test_accuracy());
    let samples = &page["samples"]["samples"];
    assert_eq!(samples.as_array().map(Vec::len), Some(6));
    assert!(samples[0]["png"].is_string() && samples[0]["label"].is_u64());
    assert!(page["layers"][0]["rate"].is_f64());
    assert!(page["worst"].is_null());
}

const HOSTILE: &str = "</script><script>alert(1)</script>";

#[test]
fn a_step_of_ones_own_has_its_metrics_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let net = Sequential::new()
        .add(Linear::new(2, 8).bias(false))
        .add(Lif::new(2.0))
        .add(Linear::new(8, 1).bias(false));
    let step = Step::new(|cx, inputs| {
        let y = net
            .forward(cx, &inputs["x"].repeat_over_time(4))?
            .mean(&[0]);
        let r2 = metric::r2(&y, &inputs["y"]);
        let outputs = Outputs::loss(loss::mse(&y, &inputs["y"]));
        Ok(outputs.metric("r2", r2.clone()).metric(HOSTILE, r2))
    })
    .batch_size(8)
    .input("x", DType::F32, [2])
    .input("y", DType::F32, [1])
    .optimizer(crate::optim::Adam::new(1e-2));
    let values = |len: usize| (0..len).map(|k| (k as f32).sin()).collect::<Vec<_>>();
    let data = InMemory::new(HOSTILE)
        .with(Field::new("x", DType::F32, [2]), values(128))
        .and_then(|data| data.with(Field::new("y", DType::F32, [1]), values(64)))
        .expect("fields");
    let config = LoaderConfig {
        batch_size: 8,
        drop_last: true,
        ..LoaderConfig::default()
    };
    let data = Loaders::new(DataLoader::new(Arc::new(data), config).expect("a loader"));
    let fit = Settings {
        epochs: 2,
        ..Settings::default()
    };
    let trainer = Trainer::over(step, fit).monitor("r2", Goal::Maximize);
    trainer.folder(folder.path()).fit(&data).expect("a run");
    let text = std::fs::read_to_string(folder.path().join("report.html")).expect("a report");
    assert_eq!(text.matches("<script").count(), 2);
    let page = page(folder.path());
    let hostile = format!("epoch-{HOSTILE}");
    let expected = [
        "epoch-loss",
        "epoch-r2",
        &hostile,
        "epoch-learning-rate",
        "epoch-speed",
    ];
    assert_eq!(ids(&page), expected);
    assert!(
        ["samples", "confusion", "worst"]
            .iter()
            .all(|part| page[part].is_null())
    );
    assert_eq!(page["title"], format!("network on {HOSTILE}"));
}

#[test]
fn two_thousand_epochs_of_two_hundred_layers_are_below_three_megabytes() {
    let keys = [
        "rate",
        "dead",
        "saturated",
        "potential",
        "potential_std",
        "distance",
    ];
    let value = |epoch: usize, k: usize| ((epoch * 31 + k * 17) as f64).sin().abs() * 0.123_456_789;
    let set = |epoch: usize| {
        let layers = (0..200).flat_map(|layer| {
            keys.iter()
                .map(move |key| format!("stage.{layer}.block.neuron.{key}"))
        });
        let gradients = (0..400).map(|k| format!("stage.{k}.block.convolution.weight.gradient"));
        let names = layers.chain(gradients).chain(["accuracy".to_string()]);
        MetricValues::new(
            value(epoch, 1),
            names.enumerate().map(|(k, name)| (name, value(epoch, k))),
        )
    };
    let history: Vec<EpochRecord> = (1..=2000)
        .map(|epoch| EpochRecord {
            epoch,
            train: set(epoch),
            validation: Some(set(epoch + 7)),
            test: Some(MetricValues::new(value(epoch, 2), [("accuracy", 0.5)])),
            monitor: "accuracy".to_string(),
            best: Some(0.1),
            samples_per_second: 1000.0 + value(epoch, 3),
            seconds: 1.0,
        })
        .collect();
    let curve = |k: usize| {
        (1..20_000)
            .map(|step| (step * 50, value(step as usize, k) as f32))
            .collect::<Vec<_>>()
    };
    let mut scalars = BTreeMap::from([("step/loss".to_string(), curve(1))]);
    scalars.extend((0..20).map(|layer| {
        (
            format!("step/stage.{layer}.block.neuron.rate"),
            curve(layer),
        )
    }));
    let settings = Settings {
        epochs: 2000,
        ..Settings::default()
    };
    let run = RunRecords {
        name: "deep",
        dataset: "images",
        end: &End::Finished,
        history: &history,
        findings: &[],
        too_short: None,
        metric: "accuracy",
        seconds: 2000.0,
        samples_per_second: 1000.0,
        speed_unit: "img/s",
        device: "cpu",
        ranks: 1,
        memory: RunMemory::default(),
        plan: None,
        settings: &settings,
        time_steps: Some(8),
        plateau: &[],
        scalars: &scalars,
        definition: None,
        command: None,
        experiment: None,
        folder: String::new(),
        tested: None,
    };
    let page = run.report().to_html();
    println!("{} bytes", page.len());
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

#[test]
fn long_texts_are_cut_between_characters() {
    assert_eq!(cut("ααα", 2), "αα…");
    assert_eq!(cut("ααα", 3), "ααα");
}
