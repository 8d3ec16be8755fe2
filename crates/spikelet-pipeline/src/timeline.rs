//! The recorded run of a pipeline, and its export to the trace format of Chrome. `timeline_svg.rs` draws
//! it.

use super::task::Task;
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_core::files::write_atomically;
use std::path::Path;

/// When a task ran, in seconds from the start of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) task: Task,
    pub(super) device: usize,
    pub(super) start: f64,
    pub(super) end: f64,
}

/// The recorded start and end of each task of a run.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    pub(super) devices: Vec<String>,
    pub(super) spans: Vec<Span>,
}

impl Timeline {
    pub(super) fn new(devices: Vec<String>, spans: Vec<Span>) -> Self {
        Self { devices, spans }
    }

    /// The number of tasks.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether no task was recorded.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The time from the start of the first task to the end of the last one in seconds.
    pub fn seconds(&self) -> f64 {
        let start = self
            .spans
            .iter()
            .map(|s| s.start)
            .fold(f64::INFINITY, f64::min);
        let end = self.spans.iter().map(|s| s.end).fold(0.0, f64::max);
        (end - start).max(0.0)
    }

    /// The fraction of that time in which the devices were idle.
    pub fn idle(&self) -> f64 {
        let busy: f64 = self.spans.iter().map(|s| s.end - s.start).sum();
        let total = self.seconds() * self.devices.len() as f64;
        if total > 0.0 { 1.0 - busy / total } else { 0.0 }
    }

    /// The timeline in the format of `chrome://tracing` and Perfetto: one process per device, in
    /// microseconds.
    pub fn to_json(&self) -> Value {
        let mut events: Vec<Value> = (self.devices.iter().enumerate())
            .map(|(pid, name)| {
                json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}})
            })
            .collect();
        for span in &self.spans {
            let phase = serde_json::to_value(span.task.phase).unwrap_or_default();
            let name = format!(
                "{} {}.{}",
                phase.as_str().unwrap_or_default(),
                span.task.micro_batch.index,
                span.task.micro_batch.chunk
            );
            events.push(json!({
                "ph": "X", "name": name, "cat": phase, "pid": span.device, "tid": span.task.stage,
                "ts": span.start * 1e6, "dur": (span.end - span.start) * 1e6,
                "args": {"stage": span.task.stage, "micro": span.task.micro_batch.index, "chunk": span.task.micro_batch.chunk},
            }));
        }
        json!({"traceEvents": events, "displayTimeUnit": "ms"})
    }

    /// Writes [`Timeline::to_json`] to a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_json(&self, path: impl AsRef<Path>) -> Result<()> {
        Ok(write_atomically(
            path,
            self.to_json().to_string().as_bytes(),
        )?)
    }
}
