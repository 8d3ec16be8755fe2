//! The report of a run.

use super::checkpoint::EpochRecord;
use super::evaluation::Evaluator;
use super::forward::Forward;
use super::show::{examples_of, first_examples};
use super::trainer::{EXAMPLES, FitReport, Trainer};
use crate::report::{EpochPoint, Report};
use spikelet_core::Result;
use spikelet_core::human::percent;
use spikelet_data::Split;
use spikelet_nn::network::Network;
use spikelet_nn::runtime::VarStore;

/// The report of a run.
pub(super) fn draw(
    trainer: &Trainer,
    data: &Split,
    evaluation: &mut Evaluator,
    store: &mut VarStore,
    outcome: &FitReport,
) -> Result<Report> {
    let (test, settings) = (&data.test, &trainer.settings);
    let indices: Vec<usize> = (0..EXAMPLES.min(test.len())).collect();
    let compiled = match evaluation.engine_within(test.len()) {
        Some(eval) => first_examples(eval, settings, test, EXAMPLES)?,
        None => None,
    };
    let examples = match compiled {
        Some(examples) => examples,
        None => {
            let limit = settings.memory_budget.map(|_| store.arena_bytes());
            let device = store.backend().clone();
            let forward = Forward {
                module: &*trainer.module,
                settings,
                image: test.shape,
                device: &*device,
            };
            let step = forward.plan(indices.len(), true, limit)?.load(store)?;
            examples_of(step, settings, test, &indices)?
        }
    };
    let name = trainer.network.as_ref().map_or("network", Network::name);
    let point = |r: &EpochRecord| EpochPoint {
        epoch: r.epoch,
        train_loss: r.train_loss,
        test_loss: Some(r.test_loss),
        train_accuracy: r.train_accuracy,
        validation_accuracy: r.validation_accuracy,
        test_accuracy: Some(r.test_accuracy),
    };
    Ok(Report {
        title: format!("{name} on {}", test.name),
        subtitle: format!(
            "{} · {} time steps · test accuracy {}{}",
            store.backend().name(),
            settings.time_steps,
            percent(outcome.test_accuracy),
            best_of_run(outcome),
        ),
        epochs: outcome.history.iter().map(point).collect(),
        examples,
    })
}

/// `; best by validation: epoch 7, test accuracy 98.0 %`
fn best_of_run(outcome: &FitReport) -> String {
    outcome.best().map_or_else(String::new, |best| {
        let test = percent(best.test_accuracy);
        format!(
            "; best by validation: epoch {}, test accuracy {test}",
            best.epoch
        )
    })
}
