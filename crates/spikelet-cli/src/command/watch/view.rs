//! The data that `spikelet watch` shows.

use super::pages::{Page, pages};
use crate::failure::Failure;
use spikelet::human::{bytes, duration, percent, thousands};
use spikelet::log::tensorboard::read_scalars;
use spikelet::train::EpochRecord;
use spikelet::train::metric::MetricValues;
use spikelet::train::run::{RunInfo, RunState};
use std::collections::BTreeMap;
use std::path::Path;

/// A run and the curves that are shown of it.
pub struct View {
    pub run: RunInfo,
    pages: Vec<Page>,
    /// 0 is the overview of all pages, the others are counted from 1.
    selected: usize,
    /// The error of the last reading, if it failed.
    pub problem: Option<String>,
}

/// The number of epochs whose time predicts that of the remaining ones.
const RECENT: usize = 3;

impl View {
    /// Reads a run.
    ///
    /// # Errors
    /// When its files are damaged.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let run = RunInfo::read(folder)?;
        let curves = read_scalars(folder.join("tensorboard")).map_err(spikelet::Error::from)?;
        Ok(Self::new(run, curves))
    }

    /// The view of a run with the curves of its event files.
    pub fn new(run: RunInfo, curves: BTreeMap<String, Vec<(u64, f32)>>) -> Self {
        Self {
            pages: pages(&run.history, curves),
            run,
            selected: 0,
            problem: None,
        }
    }

    /// Reads the run again; if it cannot be read, the former data are shown with the problem.
    pub fn refresh(&mut self) {
        match Self::read(&self.run.folder) {
            Ok(read) => {
                let title = self.titles().nth(self.selected).map(String::from);
                let same = |known: &str| Some(known) == title.as_deref();
                let selected = read.titles().position(same).unwrap_or(0);
                *self = Self { selected, ..read };
            }
            Err(error) => self.problem = error.to_string().lines().next().map(String::from),
        }
    }

    /// The titles of the overview and of the pages.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        let pages = self.pages.iter().map(|page| page.title.as_str());
        ["overview"].into_iter().chain(pages)
    }

    /// Selects another title, this number of titles further.
    pub fn select(&mut self, by: isize) {
        let titles = self.pages.len() as isize + 1;
        self.selected = (self.selected as isize + by).rem_euclid(titles) as usize;
    }

    /// The index of the selected title.
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// The selected page, or for the overview all pages, of which those that fit are shown.
    pub fn shown(&self) -> &[Page] {
        match self.selected {
            0 => &self.pages,
            k => &self.pages[k - 1..k],
        }
    }

    /// The folder, the network and the data set.
    pub fn name(&self) -> String {
        let mut parts = vec![self.run.folder.display().to_string()];
        parts.extend(self.run.network().map(String::from));
        let checkpoint = self.run.checkpoint.as_ref();
        parts.extend(checkpoint.map(|checkpoint| checkpoint.dataset.name.clone()));
        parts.join("  ")
    }

    /// The state of the run.
    pub fn state(&self) -> String {
        match self.run.state {
            RunState::Running { pid: Some(pid) } => format!("running, process {pid}"),
            state => state.to_string(),
        }
    }

    /// The completed part of the current epoch at the last checkpoint.
    fn part_of_epoch(&self) -> f64 {
        match &self.run.checkpoint {
            Some(found) if found.progress.epoch == self.run.history.len() => {
                let samples = found.progress.samples as f64;
                (samples / found.dataset.train_samples.max(1) as f64).min(1.0)
            }
            _ => 0.0,
        }
    }

    /// The completed part of the run, from 0 to 1; `None` if the number of epochs is not known.
    pub fn completed(&self) -> Option<f64> {
        let total = self.run.epochs()?.max(1);
        let epochs = self.run.history.len() as f64 + self.part_of_epoch();
        Some(match self.run.state {
            // Early stopping ends a run before its last epoch.
            RunState::Finished => 1.0,
            _ => (epochs / total as f64).min(1.0),
        })
    }

    /// The remaining seconds of a run in progress, by the time of its last epochs.
    fn remaining(&self) -> Option<f64> {
        let run = &self.run;
        let total = run.epochs()?;
        let RunState::Running { .. } = run.state else {
            return None;
        };
        let (done, part) = (run.history.len(), self.part_of_epoch());
        let recent = &run.history[done.saturating_sub(RECENT)..];
        let each = match (&run.checkpoint, recent.len()) {
            // The first epoch, without its evaluation.
            (Some(found), 0) if part > 0.0 => found.progress.train_seconds / part,
            (_, 0) => return None,
            (_, n) => recent.iter().map(|record| record.seconds).sum::<f64>() / n as f64,
        };
        Some(each * (total as f64 - done as f64 - part).max(0.0))
    }

    /// Epochs, time, speed, memory and remaining time.
    pub fn progress(&self) -> String {
        let run = &self.run;
        let (done, part) = (run.history.len(), self.part_of_epoch());
        let total = run.epochs().map(|total| format!("/{total}"));
        let total = total.unwrap_or_default();
        let mut parts = vec![match part > 0.0 {
            true => format!("epoch {}{total} at {}", done + 1, trimmed(part)),
            false => format!("epoch {done}{total}"),
        }];
        let speed = match (run.history.last(), &run.checkpoint) {
            (Some(last), _) => Some(last.samples_per_second),
            (None, Some(found)) if part > 0.0 => {
                let progress = &found.progress;
                Some(progress.samples as f64 / progress.train_seconds.max(f64::MIN_POSITIVE))
            }
            _ => None,
        };
        parts.extend(speed.map(|speed| format!("{} samples/s", thousands(speed.round() as u64))));
        let memory = run.checkpoint.as_ref().map(|c| c.progress.peak_bytes);
        let memory = memory.filter(|memory| *memory > 0);
        parts.extend(memory.map(|memory| format!("{} memory", bytes(memory as u64))));
        parts.push(format!("{} elapsed", duration(run.seconds())));
        let left = self.remaining();
        parts.extend(left.map(|left| format!("{} left", duration(left))));
        parts.join("  ")
    }

    /// Loss and metrics of the last epoch in lines of text, the best epoch, and the firing rates.
    pub fn results(&self) -> Vec<String> {
        let run = &self.run;
        let Some(last) = run.history.last() else {
            return vec![];
        };
        let sets = [
            ("train", Some(&last.train)),
            ("validation", last.validation.as_ref()),
            ("test", last.test.as_ref()),
        ];
        let sets = sets.into_iter();
        let sets = sets.filter_map(|(name, set)| Some(format!("{name:<10} {}", values(set?))));
        let mut lines: Vec<String> = sets.collect();
        if let Some(best) = run.best()
            && let Some(value) = best.best
        {
            let value = metric(&best.monitor, value);
            lines.push(format!(
                "best       validation {value} in epoch {}",
                best.epoch
            ));
        }
        let rates = rates(last);
        let rates = rates
            .iter()
            .map(|(layer, rate)| format!("{layer} {rate:.3}"));
        let rates: Vec<String> = rates.collect();
        if !rates.is_empty() {
            lines.push(format!("rates      {}", rates.join("  ")));
        }
        lines
    }

    /// The run in lines of text.
    pub fn summary(&self) -> Vec<String> {
        let mut lines = vec![
            format!("{}  {}", self.name(), self.state()),
            self.progress(),
        ];
        lines.extend(self.results());
        lines
    }
}

/// The firing rates of layers in the evaluation of an epoch, if they were measured.
fn rates(record: &EpochRecord) -> Vec<(&str, f64)> {
    let sets = [&record.validation, &record.test];
    let sets = sets.into_iter().flatten().chain([&record.train]);
    for set in sets {
        let found: Vec<(&str, f64)> = (set.iter())
            .filter_map(|(name, rate)| Some((name.strip_suffix(".rate")?, rate)))
            .collect();
        if !found.is_empty() {
            return found;
        }
    }
    vec![]
}

/// Loss and metrics of a data set, without those of layers.
fn values(set: &MetricValues) -> String {
    let shown = set.iter().filter(|(name, _)| !name.contains('.'));
    let shown = shown.map(|(name, value)| metric(name, value));
    shown.collect::<Vec<_>>().join("  ")
}

fn metric(name: &str, value: f64) -> String {
    match name {
        "accuracy" => format!("{name} {}", trimmed(value)),
        _ => format!("{name} {value:.4}"),
    }
}

fn trimmed(share: f64) -> String {
    percent(share).trim_start().to_string()
}
