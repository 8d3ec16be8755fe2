//! The rules of the diagnosis, from causes to consequences.

mod constant_input;
mod dead;
mod exploding;
mod labels;
mod learning_rate;
mod loss;
mod no_gradient;
mod not_finite;
mod overfitting;
mod saturated;
mod vanishing;

use super::{Evidence, Finding};

/// A rule: the problems of one kind.
type Rule = fn(&Evidence) -> Vec<Finding>;

/// All rules. The first that finds something is reported.
pub(super) const ALL: [Rule; 11] = [
    constant_input::find,
    exploding::find,
    not_finite::find,
    learning_rate::find,
    dead::find,
    saturated::find,
    no_gradient::find,
    vanishing::find,
    labels::find,
    loss::find,
    overfitting::find,
];
