//! Learning rate schedules against PyTorch's. `tools/baselines/optimizers.py` makes the reference values.

use serde::Deserialize;
use spikelet_train::optim::{LrSchedule, SCHEDULES};

#[derive(Deserialize)]
struct Reference {
    epochs: usize,
    steps_per_epoch: usize,
    cases: Vec<Case>,
    plateaus: Vec<PlateauCase>,
}

#[derive(Deserialize)]
struct Case {
    case: String,
    schedule: LrSchedule,
    /// One for each step.
    factors: Vec<f64>,
}

#[derive(Deserialize)]
struct PlateauCase {
    case: String,
    schedule: LrSchedule,
    /// One for each epoch; `None` is NaN.
    metrics: Vec<Option<f64>>,
    /// One for each epoch.
    factors: Vec<f64>,
}

fn reference() -> Reference {
    let text = include_str!("data/schedules.json");
    serde_json::from_str(text).expect("the script writes all fields")
}

#[track_caller]
fn assert_near(found: f64, expected: f64, what: &str) {
    let near = (found - expected).abs() <= 1e-9 * expected.abs() + 1e-11;
    assert!(near, "{what}: {found}, expected {expected}");
}

#[test]
fn every_step_has_the_learning_rate_of_pytorch() {
    let reference = reference();
    let names: Vec<&str> = (reference.cases.iter())
        .map(|c| c.schedule.shape.declaration().name)
        .collect();
    for name in SCHEDULES.names().filter(|name| *name != "plateau") {
        assert!(names.contains(&name), "no case of {name}");
    }
    for Case {
        case,
        schedule,
        factors,
    } in &reference.cases
    {
        spikelet_schema::check(schedule).expect("the constants are in their domains");
        assert_eq!(factors.len(), reference.epochs * reference.steps_per_epoch);
        for (k, expected) in factors.iter().enumerate() {
            let epoch = k as f64 / reference.steps_per_epoch as f64;
            let found = schedule.factor(epoch, reference.epochs as f64);
            assert_near(found, *expected, &format!("{case}, step {k}"));
        }
    }
}

#[test]
fn a_plateau_reduces_the_rate_in_the_epochs_of_pytorch() {
    for PlateauCase {
        case,
        schedule,
        metrics,
        factors,
    } in reference().plateaus
    {
        let metrics: Vec<f64> = metrics.iter().map(|m| m.unwrap_or(f64::NAN)).collect();
        for (k, expected) in factors.iter().enumerate() {
            let found = schedule.factor_with(k as f64, factors.len() as f64, &metrics[..k]);
            let near = (found - expected).abs() <= 1e-12 * expected;
            assert!(near, "{case}, epoch {k}: {found}, expected {expected}");
        }
    }
}
