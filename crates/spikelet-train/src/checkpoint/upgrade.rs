//! Metadata of earlier checkpoint formats.
//!
//! Format 3 counted images, and had the accuracy as its only metric.

use serde_json::{Value, json};

/// The earlier format that is read.
pub(super) const EARLIER: &str = "spikelet checkpoint 3";

/// Renames a field of an object.
fn rename(object: &mut Value, from: &str, to: &str) {
    if let Some(fields) = object.as_object_mut()
        && let Some(value) = fields.remove(from)
    {
        fields.insert(to.to_string(), value);
    }
}

/// The progress of a run of format 3 in the current format.
pub(super) fn progress(mut progress: Value) -> Value {
    rename(&mut progress, "images", "samples");
    if let Some(fields) = progress.as_object_mut()
        && let Some(correct) = fields.remove("correct")
    {
        fields.insert("sums".to_string(), json!({ "accuracy": [correct] }));
    }
    let history = progress.get_mut("history").and_then(Value::as_array_mut);
    for record in history.into_iter().flatten() {
        rename(record, "images_per_second", "samples_per_second");
    }
    progress
}

/// The identity of the data of a run of format 3 in the current format.
pub(super) fn dataset(mut dataset: Value) -> Value {
    for part in ["train", "validation", "test"] {
        rename(
            &mut dataset,
            &format!("{part}_images"),
            &format!("{part}_samples"),
        );
    }
    dataset
}
