//! When each device did what, and Chrome's trace format of it. `picture.rs` draws it.

use super::worker::Span;
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_core::files::write_atomically;
use std::path::Path;

/// A run of a pipeline, task by task.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    pub(super) devices: Vec<String>,
    pub(super) spans: Vec<Span>,
}

impl Timeline {
    pub(super) fn new(devices: Vec<String>, spans: Vec<Span>) -> Self {
        Self { devices, spans }
    }

    /// How many tasks there were.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether nothing was noted.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Seconds from the first task's start to the last one's end.
    pub fn seconds(&self) -> f64 {
        let start = self
            .spans
            .iter()
            .map(|s| s.start)
            .fold(f64::INFINITY, f64::min);
        let end = self.spans.iter().map(|s| s.end).fold(0.0, f64::max);
        (end - start).max(0.0)
    }

    /// The share of that time in which the devices had nothing to do.
    pub fn idle(&self) -> f64 {
        let busy: f64 = self.spans.iter().map(|s| s.end - s.start).sum();
        let room = self.seconds() * self.devices.len() as f64;
        if room > 0.0 { 1.0 - busy / room } else { 0.0 }
    }

    /// The trace as `chrome://tracing` and Perfetto read it: a process a device, microseconds.
    pub fn to_json(&self) -> Value {
        let mut events: Vec<Value> = (self.devices.iter().enumerate())
            .map(|(pid, name)| {
                json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}})
            })
            .collect();
        for span in &self.spans {
            let work = serde_json::to_value(span.task.work).unwrap_or_default();
            let name = format!(
                "{} {}.{}",
                work.as_str().unwrap_or_default(),
                span.task.unit.micro,
                span.task.unit.chunk
            );
            events.push(json!({
                "ph": "X", "name": name, "cat": work, "pid": span.device, "tid": span.task.stage,
                "ts": span.start * 1e6, "dur": (span.end - span.start) * 1e6,
                "args": {"stage": span.task.stage, "micro": span.task.unit.micro, "chunk": span.task.unit.chunk},
            }));
        }
        json!({"traceEvents": events, "displayTimeUnit": "ms"})
    }

    /// Writes [`Timeline::to_json`] to a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        Ok(write_atomically(
            path,
            self.to_json().to_string().as_bytes(),
        )?)
    }
}
