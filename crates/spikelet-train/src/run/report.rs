//! The reports at the end of a run: `report.svg` and `report.html`.

use super::Run;
use crate::html_report::{End, RunRecords};
use crate::log::tensorboard::read_scalars;
use crate::sequence_pass::SequencePass;
use crate::step::LABELS;
use crate::test_pass::TestPass;
use crate::{FitReport, TrainStep, folder, picture};
use spikelet_core::{Error, Result};
use spikelet_data::{DataLoader, Dataset, Subset, image_shape};
use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

/// The memory of the test images that a report reads again, if they are not in memory.
const MOST_BYTES: usize = 64 << 20;

/// The test images in a report: all of them, or the first ones, at least one, in at most 64 MiB, if they are not in memory.
fn reported(test: &Arc<dyn Dataset>) -> Result<Arc<dyn Dataset>> {
    if test.in_memory() {
        return Ok(test.clone());
    }
    let bytes = image_shape(&**test)?.iter().product::<usize>().max(1);
    let count = (MOST_BYTES / bytes).clamp(1, test.len());
    Ok(Arc::new(Subset::new(test.clone(), (0..count).collect())?))
}

impl Run<'_> {
    /// Writes the reports of a run that has ended and sets their paths. That of an interrupted run has no forward pass, so
    /// that the run ends at once, and no picture.
    pub(super) fn write_reports(&mut self, outcome: &mut FitReport) -> Result<()> {
        let Some(logs) = &self.logs else {
            return Ok(());
        };
        let path = logs.folder.path().to_path_buf();
        let end = match outcome {
            FitReport {
                interrupted: true, ..
            } => End::Interrupted,
            FitReport {
                stopped_early: true,
                ..
            } => End::StoppedEarly,
            _ => End::Finished,
        };
        let mut pass = TestPass::default();
        let mut shown = None;
        let mut sequences = None;
        if end != End::Interrupted {
            if let Some(images) = self.evaluation.test().map(DataLoader::dataset)
                && self.evaluated.test
                && image_shape(&**images).is_ok()
            {
                let test = reported(images)?;
                let store = self.averaged.as_mut().unwrap_or(&mut self.store);
                pass = TestPass::run(self.trainer, &test, &mut self.evaluation, store)?;
                shown = Some(test);
            }
            if let (Some(sample), Some(test)) = (self.sample, self.evaluation.test()) {
                let store = self.averaged.as_mut().unwrap_or(&mut self.store);
                sequences = SequencePass::run(&self.trainer.subject, sample, test, store)?;
            }
            let name = self.loader.dataset().name();
            let device = self.store.backend().name();
            let examples = std::mem::take(&mut pass.examples);
            let classes = shown.as_ref().map(|test| test.class_names(LABELS).to_vec());
            let examples_of = (&examples[..], classes.unwrap_or_default());
            let picture = picture::report(self.trainer, name, &device, examples_of, outcome);
            pass.examples = examples;
            let file = path.join(folder::REPORT);
            picture.save(&file)?;
            outcome.picture = Some(file);
        }
        let tested = shown.as_deref().map(|test| (test, &pass));
        outcome.report = self.write_html(outcome, &end, tested, sequences.as_ref())?;
        Ok(())
    }

    /// Writes the report of a run that failed. Its own errors are ignored: that of the run is returned.
    pub(super) fn write_report_of_failure(&mut self, error: &Error) {
        let outcome = self.outcome(false);
        let _ = self.write_html(&outcome, &End::Failed(error.to_string()), None, None);
    }

    fn write_html(
        &mut self,
        outcome: &FitReport,
        end: &End,
        tested: Option<(&dyn Dataset, &TestPass)>,
        sequences: Option<&SequencePass>,
    ) -> Result<Option<PathBuf>> {
        let speed_unit = self.unit();
        let Some(logs) = &mut self.logs else {
            return Ok(None);
        };
        logs.curves.flush()?;
        let path = logs.folder.path();
        let scalars = read_scalars(path.join(folder::CURVES))?;
        let subject = &self.trainer.subject;
        let engine: &dyn Any = &*self.engine;
        let step = engine.downcast_ref::<TrainStep>();
        let plateau = (self.progress).monitored(subject.schedule(), &self.monitor.of_plateau);
        let records = RunRecords {
            name: subject.name(),
            dataset: self.loader.dataset().name(),
            end,
            history: &outcome.history,
            findings: &outcome.findings,
            too_short: outcome.evidence.too_short(),
            epochs: subject.epochs(),
            metric: &self.monitor.name,
            seconds: outcome.seconds,
            samples_per_second: outcome.samples_per_second,
            speed_unit,
            device: &self.store.backend().name(),
            ranks: self.together.ranks(),
            memory: self.memory,
            plan: step.map(|step| step.program().plan()),
            settings: subject.settings(),
            schedule: subject.schedule(),
            plateau: &plateau,
            scalars: &scalars,
            definition: self.identity.as_ref(),
            command: std::fs::read_to_string(path.join(folder::COMMAND)).ok(),
            experiment: std::fs::read_to_string(path.join(folder::EXPERIMENT)).ok(),
            folder: path.display().to_string(),
            sequences,
            tested,
        };
        let file = path.join(folder::REPORT_PAGE);
        records.report().save(&file)?;
        Ok(Some(file))
    }
}
