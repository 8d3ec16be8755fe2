//! The log of the measurements from which the health of a run is diagnosed: `health.jsonl`.
//!
//! Its first line has the facts about the run, each further line a probe.

use super::{Evidence, Probe, RunFacts};
use crate::folder::HEALTH;
use serde::{Deserialize, Serialize};
use spikelet_core::Result;
use spikelet_report::log::{JsonLines, jsonl};
use std::path::{Path, PathBuf};

/// A line of the log.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Run { run: RunFacts },
    Probe(Probe),
}

/// The log, which is created with the first probe.
#[derive(Debug)]
pub(crate) struct HealthLog {
    path: PathBuf,
    file: Option<JsonLines>,
}

impl HealthLog {
    /// The log of a new run.
    pub(crate) fn create(folder: &Path) -> Self {
        Self {
            path: folder.join(HEALTH),
            file: None,
        }
    }

    /// Continues the log of a run that resumes after `step` steps, and reads its probes.
    pub(crate) fn resume(folder: &Path, step: u64) -> Result<(Self, Vec<Probe>)> {
        let mut log = Self::create(folder);
        if log.path.exists() {
            log.file = Some(JsonLines::resume(&log.path, "step", step)?);
        }
        Ok((log, evidence(folder)?.probes))
    }

    pub(crate) fn append(&mut self, run: &RunFacts, probe: &Probe) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let run = run.clone();
                let file = self.file.insert(JsonLines::create(&self.path)?);
                file.append(&Line::Run { run })?;
                file
            }
        };
        Ok(file.append(probe)?)
    }
}

/// The evidence in the folder of a run, without the history.
pub(crate) fn evidence(folder: &Path) -> Result<Evidence> {
    let path = folder.join(HEALTH);
    let mut evidence = Evidence::default();
    if path.exists() {
        for line in jsonl::read(&path)? {
            match line {
                Line::Run { run } => evidence.run = run,
                Line::Probe(probe) => evidence.probes.push(probe),
            }
        }
    }
    Ok(evidence)
}
