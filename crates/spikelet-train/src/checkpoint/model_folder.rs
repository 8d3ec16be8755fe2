//! The folder of a model: `model.safetensors` with its weights and `config.json` with its network, as other programs share models.

use super::{
    Checkpoint, CheckpointProblem, DatasetId, FORMAT, Progress, RunDefinition, model_card, to_json,
    unfit,
};
use crate::folder::{CONFIG, MODEL};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_core::files::{self, write_atomically};
use std::collections::BTreeMap;
use std::path::Path;

/// The largest configuration: 16 MiB.
const LARGEST: u64 = 16 << 20;

impl Checkpoint {
    /// Writes the network and its weights into a folder, without the tensors that only training needs: `model.safetensors`,
    /// which is a checkpoint, `config.json` with the network, the settings and the names of the classes, and a model card,
    /// `README.md`, unless there is one that someone else wrote. The path of the folder, and `hf://owner/name` if it is uploaded, are those of a checkpoint wherever one is taken.
    ///
    /// ```no_run
    /// let checkpoint = spikelet_train::Checkpoint::read("runs/mnist-fc")?;
    /// checkpoint.write_model("model")?;
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_model(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        files::create_folder(folder)?;
        let model = self.model_tensors();
        let model = model
            .into_iter()
            .map(|(name, own)| (name.to_string(), own.clone()));
        let weights = Self::of_tensors(
            model.collect(),
            self.definition.clone(),
            self.progress.clone(),
            // A shared model does not name a folder of this computer.
            DatasetId {
                folder: None,
                ..self.dataset.clone()
            },
        );
        weights.write(folder.join(MODEL))?;
        let RunDefinition {
            network, settings, ..
        } = &self.definition;
        let config = json!({
            "model_type": "spikelet",
            "format": FORMAT,
            "network": network,
            "settings": settings,
            "classes": self.dataset.classes,
        });
        let text = format!("{config:#}\n");
        write_atomically(folder.join(CONFIG), text.as_bytes())?;
        model_card::write(self, folder)
    }
}

/// Adds the metadata of a checkpoint to those of a file of weights, if these have none and a `config.json` is beside it.
pub(super) fn with_config(texts: &mut BTreeMap<String, String>, path: &Path) -> Result<()> {
    let config = path.with_file_name(CONFIG);
    if texts.contains_key("format") || !path.ends_with(MODEL) || !config.is_file() {
        return Ok(());
    }
    let wrong = |problem: String| unfit(&config, CheckpointProblem::NotACheckpoint(problem));
    let bytes = files::read_at_most(&config, LARGEST)?;
    let read: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    if read["network"].is_null() {
        return Err(wrong("it has no `network`".to_string()));
    }
    let settings = match &read["settings"] {
        Value::Null => json!({}),
        settings => settings.clone(),
    };
    let classes = match &read["classes"] {
        Value::Null => vec![],
        names => serde_json::from_value(names.clone())
            .map_err(|error| wrong(format!("classes: {error}")))?,
    };
    let format = read["format"].as_str().unwrap_or(FORMAT);
    let dataset = DatasetId {
        name: "unknown".to_string(),
        train_samples: settings["training"]["batch_size"].as_u64().unwrap_or(128) as usize,
        validation_samples: 0,
        test_samples: 0,
        sha256: "0".repeat(64),
        classes,
        folder: None,
    };
    let progress = Progress {
        ranks: 1,
        ..Progress::default()
    };
    let entries = [
        ("format", format.to_string()),
        ("network", read["network"].to_string()),
        ("settings", settings.to_string()),
        ("progress", to_json(&progress)),
        ("dataset", to_json(&dataset)),
    ];
    texts.extend(entries.map(|(name, text)| (name.to_string(), text)));
    Ok(())
}
