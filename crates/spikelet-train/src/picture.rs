//! The report of a run.

use super::checkpoint::EpochRecord;
use super::evaluation::Evaluator;
use super::forward::Forward;
use super::show::{examples_of, first_examples};
use super::step::{BatchShape, Step};
use super::subject::Subject;
use super::trainer::{EXAMPLES, FitReport, Trainer};
use crate::metric::MetricValues;
use crate::report::{EpochPoint, Example, Report};
use spikelet_core::Result;
use spikelet_core::human::percent;
use spikelet_data::ImageDataset;
use spikelet_nn::runtime::VarStore;

/// The first test images with the output spikes of a classifier; none of another step.
pub(super) fn examples(
    trainer: &Trainer<'_>,
    test: &ImageDataset,
    evaluation: &mut Evaluator,
    store: &mut VarStore,
) -> Result<Vec<Example>> {
    let Subject::Classifier {
        module, settings, ..
    } = &trainer.subject
    else {
        return Ok(vec![]);
    };
    if let Some(eval) = evaluation.engine_within(test.len())
        && let Some(examples) = first_examples(eval, settings, test, EXAMPLES)?
    {
        return Ok(examples);
    }
    let indices: Vec<usize> = (0..EXAMPLES.min(test.len())).collect();
    let shape = BatchShape {
        batch: indices.len(),
        image: test.shape,
    };
    let limit = settings.memory_budget.map(|_| store.arena_bytes());
    let device = store.backend().clone();
    let forward = Forward {
        step: &Step::classifier_with_sequence(&**module, settings, shape)?,
        batch: None,
        device: &*device,
    };
    let step = forward.plan(indices.len(), limit)?.load(store)?;
    examples_of(step, settings, test, &indices)
}

/// The report of a run on the data set `dataset`.
pub(super) fn report(
    trainer: &Trainer<'_>,
    dataset: &str,
    device: &str,
    examples: Vec<Example>,
    outcome: &FitReport,
) -> Report {
    let metric = outcome.last().map_or("loss", |last| last.monitor.as_str());
    let shown = |value: f64| show(metric, value);
    let of_last = |set: &str, values: Option<&MetricValues>| {
        let value = values?.get(metric)?;
        Some(format!("{set} {metric} {}", shown(value)))
    };
    let last = outcome.last().and_then(|last| {
        of_last("test", last.test.as_ref())
            .or_else(|| of_last("validation", last.validation.as_ref()))
            .or_else(|| of_last("training", Some(&last.train)))
    });
    let steps = trainer.subject.settings();
    let steps = steps.map(|settings| format!("{} time steps", settings.time_steps));
    let best = outcome.best().map(|best| {
        let test = of_last("test", best.test.as_ref());
        let text = test.or_else(|| of_last("validation", best.validation.as_ref()));
        let text = text.unwrap_or_default();
        format!("; best by validation: epoch {}, {text}", best.epoch)
    });
    let parts = [Some(device.to_string()), steps, last];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let point = |r: &EpochRecord| {
        let value = |set: Option<&MetricValues>| set?.get(metric);
        EpochPoint {
            epoch: r.epoch,
            train_loss: r.train.loss,
            test_loss: r.test.as_ref().map(|test| test.loss),
            validation_loss: r.validation.as_ref().map(|validation| validation.loss),
            train: value(Some(&r.train)),
            validation: value(r.validation.as_ref()),
            test: value(r.test.as_ref()),
        }
    };
    Report {
        title: format!("{} on {dataset}", trainer.subject.name()),
        subtitle: format!("{}{}", parts.join(" · "), best.unwrap_or_default()),
        metric: metric.to_string(),
        goal: outcome.goal,
        epochs: outcome.history.iter().map(point).collect(),
        examples,
    }
}

/// The value of a metric as text: an accuracy in percent.
fn show(metric: &str, value: f64) -> String {
    match metric {
        "accuracy" => percent(value),
        _ => format!("{value:.4}"),
    }
}
