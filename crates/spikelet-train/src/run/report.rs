//! The reports at the end of a run: `report.svg` and `report.html`.

use super::Run;
use crate::html_report::{End, RunRecords};
use crate::step::LABELS;
use crate::test_pass::TestPass;
use crate::{FitReport, TrainStep, folder, picture};
use spikelet_core::{Error, Result};
use spikelet_data::{DataLoader, Dataset, image_shape};
use spikelet_report::log::tensorboard::read_scalars;
use std::any::Any;
use std::path::PathBuf;

/// The memory of the test images that a report reads again, if they are not in memory.
const MOST_BYTES: usize = 64 << 20;

/// The test samples in a report: all of them, or the first images, at least one, in at most 64 MiB, if they are not in memory.
fn reported(test: &DataLoader) -> Result<DataLoader> {
    let dataset = test.dataset();
    let Ok(image) = image_shape(&**dataset) else {
        return Ok(test.clone());
    };
    if dataset.in_memory() {
        return Ok(test.clone());
    }
    let bytes = image.iter().product::<usize>().max(1);
    let count = (MOST_BYTES / bytes).clamp(1, dataset.len());
    Ok(test.in_order(1)?.first(count)?)
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
        let mut tested = None;
        if end != End::Interrupted {
            let test = self.evaluation.test().filter(|_| self.evaluated.test);
            if let Some(test) = test.map(reported).transpose()? {
                let store = self.averaged.as_mut().unwrap_or(&mut self.store);
                let evaluation = &mut self.evaluation;
                let pass = TestPass::run(&self.report, &self.settings, &test, evaluation, store)?;
                tested = Some((test, pass));
            }
            let name = self.loader.dataset().name();
            let device = self.store.backend().name();
            let examples = tested.as_ref().map_or(&[][..], |(_, pass)| &pass.examples);
            let classes = tested
                .as_ref()
                .map(|(test, _)| test.dataset().class_names(LABELS));
            let classes = classes.unwrap_or_default().to_vec();
            let picture =
                picture::report(self.trainer, name, &device, (examples, classes), outcome);
            let file = path.join(folder::REPORT);
            picture.save(&file)?;
            outcome.picture = Some(file);
        }
        let tested = tested.as_ref();
        let tested = tested.map(|(test, pass)| (&**test.dataset(), pass));
        outcome.report = self.write_html(outcome, &end, tested)?;
        Ok(())
    }

    /// Writes the report of a run that failed. Its own errors are ignored: that of the run is returned.
    pub(super) fn write_report_of_failure(&mut self, error: &Error) {
        let outcome = self.outcome(false);
        let _ = self.write_html(&outcome, &End::Failed(error.to_string()), None);
    }

    fn write_html(
        &mut self,
        outcome: &FitReport,
        end: &End,
        tested: Option<(&dyn Dataset, &TestPass)>,
    ) -> Result<Option<PathBuf>> {
        let speed_unit = self.unit();
        let Some(logs) = &mut self.logs else {
            return Ok(None);
        };
        logs.curves.flush()?;
        let path = logs.folder.path();
        let scalars = read_scalars(path.join(folder::CURVES))?;
        let settings = &self.settings;
        let engine: &dyn Any = &*self.engine;
        let step = engine.downcast_ref::<TrainStep>();
        let plateau = (self.progress).monitored(&settings.schedule, &self.monitor.of_plateau);
        let records = RunRecords {
            name: self.trainer.name(),
            dataset: self.loader.dataset().name(),
            end,
            history: &outcome.history,
            findings: &outcome.findings,
            too_short: outcome.evidence.too_short(),
            metric: &self.monitor.name,
            seconds: outcome.seconds,
            samples_per_second: outcome.samples_per_second,
            speed_unit,
            device: &self.store.backend().name(),
            ranks: self.together.ranks(),
            memory: self.memory,
            plan: step.map(|step| step.program().plan()),
            settings,
            time_steps: self.trainer.time_steps(),
            plateau: &plateau,
            scalars: &scalars,
            definition: self.identity.as_ref(),
            command: std::fs::read_to_string(path.join(folder::COMMAND)).ok(),
            experiment: std::fs::read_to_string(path.join(folder::EXPERIMENT)).ok(),
            folder: path.display().to_string(),
            tested,
        };
        let file = path.join(folder::REPORT_PAGE);
        records.report().save(&file)?;
        Ok(Some(file))
    }
}
