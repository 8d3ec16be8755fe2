//! The description of a pipeline.

use serde_json::{Value, json};
use spikelet::human::bytes;
use spikelet::pipeline::{Partition, PipelineStep};
use spikelet::train::memory::RunMemory;

/// A line for each stage, and one with the predicted idle time and the memory of each device; with
/// `peak`, also that of the complete run.
pub fn describe(step: &PipelineStep, partition: &Partition, peak: Option<&RunMemory>) -> String {
    let mut lines = vec![];
    for (k, (stage, kept)) in partition.report().iter().zip(step.in_flight()).enumerate() {
        let modules = match &stage.modules[..] {
            [first, .., last] => format!("{first} to {last}"),
            modules => modules.join(", "),
        };
        lines.push(format!(
            "stage {k} on {}: {modules} · keeps {kept} micro-batch{}",
            stage.devices.join(" and "),
            if *kept == 1 { "" } else { "es" },
        ));
    }
    let devices = partition.devices().iter().zip(step.peak_bytes());
    let memory: Vec<String> = devices
        .map(|(device, held)| format!("{} {}", device.name(), bytes(*held as u64)))
        .collect();
    let peak = peak.map_or(String::new(), |run| {
        format!(
            "{} peak, with {} images evaluated at once: ",
            bytes(run.peak as u64),
            run.evaluation_batch
        )
    });
    lines.push(format!(
        "pipeline: {} expected idle · {peak}{}",
        spikelet::human::percent(step.predicted_idle()).trim_start(),
        memory.join(", "),
    ));
    lines.join("\n")
}

/// The same as JSON.
pub fn json_of(step: &PipelineStep, partition: &Partition) -> Value {
    json!({
        "stages": partition.report(),
        "in_flight": step.in_flight(),
        "predicted_idle": step.predicted_idle(),
        "device_bytes": step.peak_bytes(),
    })
}
