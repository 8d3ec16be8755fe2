//! Parameter groups: which parameters are trained, by which optimizer, with which learning rate.

use super::error::StepError;
use crate::optim::{Optimizer, decays};
use glob::Pattern;
use spikelet_nn::module::TracedTensor;
use std::sync::Arc;

/// A pattern of parameter names as given, and compiled.
#[derive(Clone, Debug)]
pub(super) struct Names {
    text: String,
    pattern: Result<Pattern, String>,
}

impl Names {
    pub(super) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            pattern: Pattern::new(&text).map_err(|error| error.to_string()),
            text,
        }
    }

    /// The pattern as given.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        self.pattern
            .as_ref()
            .is_ok_and(|pattern| pattern.matches(name))
    }

    /// Checks that the pattern is valid and matches a name.
    pub(super) fn check<'a>(
        &self,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(), StepError> {
        if let Err(problem) = &self.pattern {
            return Err(StepError::Pattern {
                pattern: self.text.clone(),
                problem: problem.clone(),
            });
        }
        if names.clone().any(|name| self.matches(name)) {
            return Ok(());
        }
        Err(StepError::NoMatch {
            pattern: self.text.clone(),
            names: names.map(String::from).collect(),
        })
    }
}

/// Parameters with a common optimizer and learning rate.
#[derive(Clone)]
pub(super) struct Group {
    /// `None` for all parameters that are in no other group.
    pub(super) names: Option<Names>,
    pub(super) optimizer: Arc<dyn Optimizer>,
    pub(super) learning_rate: f64,
}

/// The assignment of parameters to groups.
#[derive(Clone, Default)]
pub(super) struct Groups {
    pub(super) groups: Vec<Group>,
    pub(super) frozen: Vec<Names>,
    /// Whether vectors and scalars (biases, normalization, constants of neurons) have no weight decay.
    pub(super) matrices_decay_only: bool,
}

/// A trained parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trained {
    pub(super) name: String,
    /// The index of its group in [`Assignment::groups`].
    pub(super) group: usize,
    /// The limits of its values after an update.
    pub(super) limits: Option<[f64; 2]>,
}

/// The groups that have parameters, and the parameters that are trained.
#[derive(Clone)]
pub(super) struct Assignment {
    pub(super) groups: Vec<Group>,
    pub(super) trained: Vec<Trained>,
}

impl Groups {
    /// Assigns each parameter to the first group that matches its name, unless it is frozen.
    pub(super) fn assign(&self, parameters: &[TracedTensor]) -> Result<Assignment, StepError> {
        let names = parameters.iter().map(|p| p.name.as_str());
        let patterns = self.groups.iter().filter_map(|group| group.names.as_ref());
        for pattern in patterns.chain(&self.frozen) {
            pattern.check(names.clone())?;
        }
        let (mut made, mut trained): (Vec<(Group, usize, bool)>, Vec<Trained>) = (vec![], vec![]);
        let mut unassigned = vec![];
        for parameter in parameters {
            let name = &parameter.name;
            if self.frozen.iter().any(|pattern| pattern.matches(name)) {
                continue;
            }
            let matching = |group: &Group| group.names.as_ref().is_some_and(|p| p.matches(name));
            let by_name = self.groups.iter().position(matching);
            let default = || self.groups.iter().position(|group| group.names.is_none());
            let Some(index) = by_name.or_else(default) else {
                unassigned.push(name.clone());
                continue;
            };
            let decays = !self.matrices_decay_only || decays(&parameter.shape);
            let known = made
                .iter()
                .position(|(_, of, d)| (*of, *d) == (index, decays));
            let group = match known {
                Some(group) => group,
                None => {
                    let mut group = self.groups[index].clone();
                    if !decays {
                        group.optimizer = group
                            .optimizer
                            .with_weight_decay(0.0)
                            .unwrap_or(group.optimizer);
                    }
                    made.push((group, index, decays));
                    made.len() - 1
                }
            };
            trained.push(Trained {
                name: name.clone(),
                group,
                limits: parameter.limits,
            });
        }
        if !unassigned.is_empty() {
            return Err(StepError::NoOptimizer {
                parameters: unassigned,
            });
        }
        if trained.is_empty() {
            return Err(StepError::NothingTrained {
                parameters: parameters.iter().map(|p| p.name.clone()).collect(),
            });
        }
        Ok(Assignment {
            groups: made.into_iter().map(|(group, ..)| group).collect(),
            trained,
        })
    }
}
