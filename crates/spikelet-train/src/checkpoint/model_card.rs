//! The model card of the folder of a model, `README.md`, as the Hugging Face Hub shows it. It says what the checkpoint knows.
//!
//! Source: <https://huggingface.co/docs/hub/model-cards>, and the metadata of <https://github.com/huggingface/hub-docs>, modelcard.md.

use super::{Checkpoint, DatasetId, EpochRecord, Progress, RunDefinition};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_core::files::{self, write_atomically};
use spikelet_core::human::{duration, thousands};
use std::path::Path;

/// The name of the file.
const CARD: &str = "README.md";

/// The line by which a card of this program is recognized.
const MARK: &str = "<!-- Written by spikelet, which replaces this file. Remove this line to keep your changes. -->";

/// The largest card that is searched for the line: 16 MiB.
const LARGEST: u64 = 16 << 20;

/// The name of a data set that is not known.
const UNKNOWN: [&str; 2] = ["unknown", "arrays"];

/// Endings of the names of tensors that are statistics, not parameters.
const STATISTICS: [&str; 2] = [".running_mean", ".running_var"];

/// The most names of classes that are listed.
const MOST_CLASSES: usize = 20;

/// Writes the card of a checkpoint into the folder of its model, unless someone else wrote one.
///
/// # Errors
/// When the file cannot be read or written.
pub(super) fn write(checkpoint: &Checkpoint, folder: &Path) -> Result<()> {
    let path = folder.join(CARD);
    let is_own = |path: &Path| -> Result<bool> {
        let text = files::read_at_most(path, LARGEST)?;
        Ok(String::from_utf8_lossy(&text).contains(MARK))
    };
    if path.exists() && !is_own(&path)? {
        return Ok(());
    }
    Ok(write_atomically(&path, text(checkpoint).as_bytes())?)
}

/// The results of the weights: those of the last epoch, unless the next one began.
fn evaluated(progress: &Progress) -> Option<&EpochRecord> {
    progress.history.last().filter(|_| progress.samples == 0)
}

/// The accuracies that were measured, with the name of their samples.
fn accuracies(progress: &Progress) -> Vec<(&'static str, f64)> {
    let Some(record) = evaluated(progress) else {
        return vec![];
    };
    let sets = [("test", &record.test), ("validation", &record.validation)];
    let found = sets
        .into_iter()
        .filter_map(|(name, values)| Some((name, values.as_ref()?.get("accuracy")?)));
    found.filter(|(_, value)| value.is_finite()).collect()
}

fn text(checkpoint: &Checkpoint) -> String {
    let RunDefinition {
        network, settings, ..
    } = &checkpoint.definition;
    let (dataset, progress) = (&checkpoint.dataset, &checkpoint.progress);
    let name = network.as_ref().map_or("network", |network| network.name());
    let mut card = metadata(name, dataset, progress);
    card.push_str(&format!(
        "\n{MARK}\n\n# {}\n\nA spiking neural network, trained with spikelet.\n\n",
        plain(name)
    ));
    card.push_str(&facts(checkpoint));
    card.push_str(&format!(
        "\n## How to load it\n\n{}",
        loading(network.is_some())
    ));
    card.push_str("\n## Network\n\n");
    card.push_str(&code("json", &format!("{:#}", json!(network))));
    card.push_str("\n## Settings\n\n");
    card.push_str(&code("json", &format!("{:#}", json!(settings))));
    card
}

/// The metadata in front, as YAML. Values of others are JSON strings, which YAML includes.
fn metadata(name: &str, dataset: &DatasetId, progress: &Progress) -> String {
    let mut yaml =
        "---\nlibrary_name: spikelet\ntags:\n- spiking-neural-network\n- spikelet\n".to_string();
    let known = is_known(dataset);
    let found = accuracies(progress);
    if known && !found.is_empty() {
        let string = |text: &str| Value::from(text).to_string();
        let name_of_data = string(&dataset.name);
        yaml.push_str("metrics:\n- accuracy\nmodel-index:\n");
        yaml.push_str(&format!("- name: {}\n  results:\n", string(name)));
        yaml.push_str("  - task:\n      type: other\n      name: Classification\n");
        yaml.push_str(&format!(
            "    dataset:\n      name: {name_of_data}\n      type: {name_of_data}\n    metrics:\n"
        ));
        for (set, value) in found {
            yaml.push_str(&format!(
                "    - type: accuracy\n      name: {set} accuracy\n      value: {value}\n"
            ));
        }
    }
    yaml + "---\n"
}

fn is_known(dataset: &DatasetId) -> bool {
    !UNKNOWN.contains(&&dataset.name[..])
}

/// What is known of the model, as a table.
fn facts(checkpoint: &Checkpoint) -> String {
    let settings = &checkpoint.definition.settings;
    let (dataset, progress) = (&checkpoint.dataset, &checkpoint.progress);
    let mut rows: Vec<(&str, String)> = vec![];
    if let Some(network) = &checkpoint.definition.network {
        let sizes: Vec<String> = network.input().iter().map(usize::to_string).collect();
        rows.push(("input of a time step", sizes.join(" × ")));
    }
    rows.push(("time steps", settings.time_steps.to_string()));
    let model = checkpoint.model_tensors();
    let is_parameter = |name: &str| !STATISTICS.iter().any(|end| name.ends_with(end));
    let parameters = model.iter().filter(|(name, _)| is_parameter(name));
    let parameters: usize = parameters.map(|(_, tensor)| tensor.len()).sum();
    rows.push(("parameters", thousands(parameters as u64)));
    if !dataset.classes.is_empty() {
        let first = dataset.classes.iter().take(MOST_CLASSES);
        let mut names: Vec<String> = first.map(|class| plain(class)).collect();
        if dataset.classes.len() > MOST_CLASSES {
            names.push(format!("… ({} classes)", dataset.classes.len()));
        }
        rows.push(("classes", names.join(", ")));
    }
    if is_known(dataset) {
        let number = |samples: usize, of: &str| match samples {
            0 => None,
            samples => Some(format!("{} {of}", thousands(samples as u64))),
        };
        let samples = [
            number(dataset.train_samples, "training"),
            number(dataset.validation_samples, "validation"),
            number(dataset.test_samples, "test"),
        ];
        let samples: Vec<String> = samples.into_iter().flatten().collect();
        rows.push((
            "data",
            format!("{}: {} samples", plain(&dataset.name), samples.join(", ")),
        ));
    }
    if progress.step > 0 {
        rows.push((
            "training",
            format!(
                "{} epochs, {} steps, {}",
                progress.epoch,
                thousands(progress.step),
                duration(progress.seconds)
            ),
        ));
    }
    for (set, value) in accuracies(progress) {
        let name = match set {
            "test" => "test accuracy",
            _ => "validation accuracy",
        };
        rows.push((name, format!("{:.2} %", 100.0 * value)));
    }
    let mut table = "| | |\n|---|---|\n".to_string();
    for (name, value) in rows {
        table.push_str(&format!("| {name} | {value} |\n"));
    }
    table
}

/// The three ways to load it. A network that is a program's own has no definition in the file.
fn loading(has_network: bool) -> String {
    if !has_network {
        return "The network is a program's own: that program reads the tensors with `Checkpoint::read` and `Checkpoint::restore`.\n"
            .to_string();
    }
    let shell = "spikelet eval FOLDER                  # FOLDER: the path of this folder, or hf://OWNER/NAME\n\
                 spikelet predict FOLDER FILE";
    let python = "import spikelet\n\nnet = spikelet.load(\"FOLDER\")\nscores = net.predict(x)";
    let rust = "use spikelet::prelude::*;\nuse spikelet::train::{Checkpoint, SampleShape};\n\n\
                let checkpoint = Checkpoint::read(\"FOLDER\")?;\n\
                let network = checkpoint.network().expect(\"a network of layers\").module()?;\n\
                let mut store = VarStore::new(spikelet::device::cpu()?);\n\
                checkpoint.restore(&*network, SampleShape::of_dataset(&*test)?, &mut store)?;";
    [("sh", shell), ("python", python), ("rust", rust)]
        .map(|(language, text)| code(language, text))
        .join("\n")
}

/// A block of code, with a fence that its text does not have.
fn code(language: &str, text: &str) -> String {
    let mut fence = "```".to_string();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{text}\n{fence}\n")
}

/// A name that is not markup: a name of others may have any characters.
fn plain(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        match letter {
            letter if letter.is_control() => text.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '&' | '!' => {
                text.extend(['\\', letter]);
            }
            letter => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::metric::MetricValues;
    use spikelet_graph::Tensor;
    use spikelet_nn::network::Network;
    use std::collections::BTreeMap;

    /// A checkpoint at the end of its second epoch.
    fn trained(name: &str) -> Checkpoint {
        let values = |accuracy| MetricValues::new(0.5, [("accuracy", accuracy)]);
        let record = |epoch, accuracy| EpochRecord {
            epoch,
            train: values(0.5),
            validation: None,
            test: Some(values(accuracy)),
            monitor: "accuracy".to_string(),
            best: None,
            samples_per_second: 1.0,
            seconds: 1.0,
        };
        let network = Network::find("mnist-fc").expect("it is known");
        let tensors = BTreeMap::from([
            (
                "fc.1.weight".to_string(),
                Tensor::f32([30, 40], vec![0.0; 1200]),
            ),
            (
                "fc.2.running_mean".to_string(),
                Tensor::f32([7], vec![0.0; 7]),
            ),
        ]);
        Checkpoint::of_tensors(
            tensors,
            RunDefinition::of_classifier(Some(network), Settings::default()),
            Progress {
                step: 94,
                epoch: 2,
                ranks: 1,
                seconds: 12.0,
                history: vec![record(1, 0.25), record(2, 0.9375)],
                ..Progress::default()
            },
            DatasetId {
                name: name.to_string(),
                train_samples: 6000,
                validation_samples: 0,
                test_samples: 1000,
                sha256: "0".repeat(64),
                classes: vec!["cat|dog".to_string(), "sun\nrise".to_string()],
                folder: Some("/home/someone/data".to_string()),
            },
        )
    }

    #[test]
    fn a_card_says_what_the_checkpoint_knows() {
        let card = text(&trained("MNIST: \"small\""));
        let (front, body) = card[4..].split_once("\n---\n").expect("front matter");
        for line in [
            "library_name: spikelet",
            "- spiking-neural-network",
            "- name: \"mnist-fc\"",
            "      name: \"MNIST: \\\"small\\\"\"",
            "      value: 0.9375",
        ] {
            assert!(front.lines().any(|own| own == line), "{line}: {front}");
        }
        assert!(
            !card.contains("license") && !card.contains("/home/someone"),
            "{card}"
        );
        for part in [
            "| parameters | 1,200 |",
            "| time steps | ",
            "6,000 training, 1,000 test samples",
            "2 epochs, 94 steps",
            "| test accuracy | 93.75 % |",
            "cat\\|dog, sun rise",
            "spikelet.load(",
            "Checkpoint::read(",
            "spikelet predict FOLDER",
            "\"batch_size\"",
        ] {
            assert!(body.contains(part), "{part}: {body}");
        }
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut checkpoint = trained("arrays");
        checkpoint.progress = Progress {
            ranks: 1,
            ..Progress::default()
        };
        let card = text(&checkpoint);
        for part in [
            "model-index",
            "accuracy |",
            "arrays",
            "| training",
            "| data",
        ] {
            assert!(!card.contains(part), "{part}: {card}");
        }
        // In the middle of an epoch the weights are not those that were evaluated.
        let mut checkpoint = trained("MNIST");
        checkpoint.progress.samples = 64;
        assert!(!text(&checkpoint).contains("model-index"));
    }

    #[test]
    fn a_card_of_someone_else_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(CARD);
        let write = |name: &str| {
            trained(name)
                .write_model(folder.path())
                .expect("it is written");
            std::fs::read_to_string(&path).expect("a text")
        };
        assert!(write("first").contains("| data | first: "));
        assert!(write("second").contains("| data | second: "));
        std::fs::write(&path, "# My model\n").expect("it is written");
        assert_eq!(write("third"), "# My model\n");
    }
}
