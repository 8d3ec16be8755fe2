//! The curves of training batches: one point every few steps.

use super::RunRecords;

/// The prefix of the tags of curves with one point every few steps.
const STEP_TAGS: &str = "step/";

/// The values of training batches under this name, as a curve.
pub(super) fn over_steps(curve: &[(u64, f32)]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = curve
        .iter()
        .map(|(step, value)| (*step as f64, f64::from(*value)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The curves of training batches by their names.
pub(super) fn step_curves<'r>(
    run: &RunRecords<'r>,
) -> impl Iterator<Item = (&'r str, &'r Vec<(u64, f32)>)> {
    let scalars = run.scalars;
    scalars
        .iter()
        .filter_map(|(tag, curve)| Some((tag.strip_prefix(STEP_TAGS)?, curve)))
}
