//! `report.html` from the records of a run.

mod activity;
mod configuration;
mod curves;
mod headline;
mod layers;
mod steps;
mod tested;

use super::Settings;
use super::checkpoint::{DatasetId, EpochRecord, RunDefinition};
use super::memory::RunMemory;
use super::test_pass::TestPass;
use crate::health::Finding;
use spikelet_data::Dataset;
use spikelet_graph::Plan;
use spikelet_report::report::html::{Advice, HtmlReport};
use std::collections::BTreeMap;

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Finished,
    StoppedEarly,
    Interrupted,
    Failed(String),
}

/// Everything that is known of a run at its end.
pub(super) struct RunRecords<'a> {
    /// The network or step, and the data set.
    pub(super) name: &'a str,
    pub(super) dataset: &'a str,
    pub(super) end: &'a End,
    pub(super) history: &'a [EpochRecord],
    pub(super) findings: &'a [Finding],
    /// Why the run cannot be judged, if it is too short.
    pub(super) too_short: Option<String>,
    /// The metric that selects the best epoch.
    pub(super) metric: &'a str,
    pub(super) seconds: f64,
    pub(super) samples_per_second: f64,
    /// `img/s` or `samples/s`.
    pub(super) speed_unit: &'static str,
    pub(super) device: &'a str,
    pub(super) ranks: usize,
    pub(super) memory: RunMemory,
    /// The plan of a training step on one device.
    pub(super) plan: Option<&'a Plan>,
    pub(super) settings: &'a Settings,
    /// The time steps of a classifier.
    pub(super) time_steps: Option<usize>,
    /// The values that a plateau schedule monitors, one for each epoch.
    pub(super) plateau: &'a [f64],
    /// The curves of steps and epochs by their tags.
    pub(super) scalars: &'a BTreeMap<String, Vec<(u64, f32)>>,
    pub(super) definition: Option<&'a (RunDefinition, DatasetId)>,
    pub(super) command: Option<String>,
    /// The file of the experiment.
    pub(super) experiment: Option<String>,
    pub(super) folder: String,
    /// The test samples, with the results of the forward passes.
    pub(super) tested: Option<(&'a dyn Dataset, &'a TestPass)>,
}

impl RunRecords<'_> {
    /// The first epoch with the best value of the metric on the validation set.
    fn best(&self) -> Option<&EpochRecord> {
        super::checkpoint::best_of(self.history)
    }

    /// The data of the page.
    pub(super) fn report(&self) -> HtmlReport {
        let observed = self.tested.map(|(_, pass)| pass.layers.as_slice());
        let mut panels = curves::of_epochs(self);
        panels.extend(curves::of_steps(self));
        let monitored = layers::panels(self);
        let measured = !monitored.is_empty();
        panels.extend(monitored);
        let rows = layers::rows(self, observed.unwrap_or_default());
        let (confusion, worst) = match self.tested {
            Some((test, pass)) => tested::quality(self, test, pass),
            None => (None, None),
        };
        let samples = self
            .tested
            .and_then(|(test, pass)| activity::samples(test, pass));
        let classes = self
            .tested
            .filter(|_| confusion.is_some() || samples.is_some())
            .map(|(test, pass)| tested::class_names(test, pass));
        let mut report = HtmlReport {
            title: format!("{} on {}", short(self.name), short(self.dataset)),
            subtitle: headline::subtitle(self),
            status: match self.end {
                End::Finished => "finished",
                End::StoppedEarly => "stopped early",
                End::Interrupted => "interrupted",
                End::Failed(_) => "failed",
            },
            message: headline::message(self),
            version: env!("CARGO_PKG_VERSION"),
            tiles: headline::tiles(self),
            findings: self.findings.iter().map(advice).collect(),
            too_short: self.too_short.clone(),
            panels,
            no_monitors: (!measured).then(|| NO_MONITORS.to_string()),
            layers_note: layers::note(self),
            layers: rows,
            classes: classes.unwrap_or_default(),
            samples,
            confusion,
            worst,
            command: self.command.as_deref().map(|command| cut(command, 4000)),
            experiment: self.experiment.as_deref().map(|text| cut(text, 50_000)),
            configuration: configuration::tables(self),
        };
        report.bound();
        report
    }
}

/// The text in place of curves of layers.
const NO_MONITORS: &str = "Layers were not measured in this run. With --monitor all (in a program: \
Trainer::monitor_layers) this section has firing rates, neurons that never or always fire, potentials, synaptic \
operations and norms of gradients of every layer over training.";

fn advice(finding: &Finding) -> Advice {
    Advice {
        layer: finding.layer.as_deref().map(short),
        sentence: cut(&finding.sentence, 1000),
        advice: cut(&finding.advice, 1000),
    }
}

/// The largest number of characters of a name.
const LONGEST_NAME: usize = 200;

/// A name, shortened if it is very long.
fn short(name: &str) -> String {
    cut(name, LONGEST_NAME)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests;
