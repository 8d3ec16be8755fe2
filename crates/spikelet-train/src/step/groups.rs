//! Parameter groups: which parameters are trained, by which optimizer, with which learning rate.

use super::error::StepError;
use crate::optim::{GradientNoise, Optimizer, decays};
use glob::Pattern;
use spikelet_nn::module::{Traced, TracedTensor};
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

/// Parameters with a common optimizer.
#[derive(Clone)]
pub(super) struct Group {
    /// `None` for all parameters that are in no other group.
    pub(super) names: Option<Names>,
    pub(super) optimizer: Arc<dyn Optimizer>,
}

/// The assignment of parameters to groups.
#[derive(Clone, Default)]
pub(super) struct Groups {
    pub(super) groups: Vec<Group>,
    pub(super) frozen: Vec<Names>,
    /// Whether vectors and scalars (biases, normalization, constants of neurons) have no weight decay.
    pub(super) matrices_decay_only: bool,
    /// The factor of the learning rate from each layer to the one before it, if layers have different ones.
    pub(super) layer_decay: Option<f64>,
    /// The variance of noise on the gradients in the first step.
    pub(super) gradient_noise: Option<f64>,
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

/// The part of a parameter's name that names its layer: the first, and the second where it is the number of a block.
fn layer_of(name: &str) -> &str {
    let mut dots = name.match_indices('.').map(|(at, _)| at);
    let first = dots.next().unwrap_or(name.len());
    let second = dots.next().unwrap_or(name.len());
    let block = name.get(first + 1..second).unwrap_or_default();
    match !block.is_empty() && block.bytes().all(|byte| byte.is_ascii_digit()) {
        true => &name[..second],
        false => &name[..first],
    }
}

impl Groups {
    /// The group of the parameters that are in no other one.
    pub(super) fn of_others(&self) -> Option<&Group> {
        self.groups.iter().find(|group| group.names.is_none())
    }

    /// Assigns each parameter to the first group that matches its name, unless it is frozen. There is one at least, if no
    /// layer learns by a rule.
    pub(super) fn assign(&self, traced: &Traced) -> Result<Assignment, StepError> {
        let parameters = &traced.parameters;
        let names = parameters.iter().map(|p| p.name.as_str());
        let patterns = self.groups.iter().filter_map(|group| group.names.as_ref());
        for pattern in patterns.chain(&self.frozen) {
            pattern.check(names.clone())?;
        }
        let (mut made, mut trained) = (vec![], vec![]);
        let mut unassigned = vec![];
        for (parameter, above) in parameters.iter().zip(self.layers_above(parameters)) {
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
            let key = (index, decays, above);
            let group = match made.iter().position(|(_, of)| *of == key) {
                Some(group) => group,
                None => {
                    let mut group = self.groups[index].clone();
                    if !decays {
                        group.optimizer = group
                            .optimizer
                            .with_weight_decay(0.0)
                            .unwrap_or(group.optimizer);
                    }
                    if let (Some(factor), Ok(above)) = (self.layer_decay, i32::try_from(above)) {
                        let lr = group.optimizer.lr() * factor.powi(above);
                        group.optimizer = group.optimizer.with_lr(lr);
                    }
                    if let Some(eta) = self.gradient_noise {
                        group.optimizer = Arc::new(GradientNoise::new(group.optimizer, eta));
                    }
                    made.push((group, key));
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
        if trained.is_empty() && traced.plastic.is_empty() {
            return Err(StepError::NothingTrained {
                parameters: parameters.iter().map(|p| p.name.clone()).collect(),
            });
        }
        Ok(Assignment {
            groups: made.into_iter().map(|(group, _)| group).collect(),
            trained,
        })
    }

    /// The number of layers above that of each parameter, all 0 without a layer decay. A layer begins with a weight of
    /// two or more axes under another name than the parameter before it; what follows it, as batch norm, belongs to it.
    fn layers_above(&self, parameters: &[TracedTensor]) -> Vec<usize> {
        if self.layer_decay.is_none() {
            return vec![0; parameters.len()];
        }
        let (mut layer, mut last) = (0, "");
        let mut layers = vec![];
        for TracedTensor { name, shape, .. } in parameters {
            let own = layer_of(name);
            if own != last && decays(shape) {
                (layer, last) = (layer + 1, own);
            }
            layers.push(layer);
        }
        layers.iter().map(|own| layer - own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::Sgd;
    use spikelet_nn::module::Init;

    fn rates(names: &[(&str, usize)], layer_decay: Option<f64>) -> Vec<f64> {
        let tensor = |&(name, axes): &(&str, usize)| TracedTensor {
            name: name.to_string(),
            shape: vec![2; axes],
            init: Init::Constant(0.0),
            limits: None,
        };
        let groups = Groups {
            groups: vec![Group {
                names: None,
                optimizer: Arc::new(Sgd::new(1.0)),
            }],
            layer_decay,
            ..Groups::default()
        };
        let traced = Traced {
            parameters: names.iter().map(tensor).collect(),
            ..Traced::default()
        };
        let assignment = groups.assign(&traced).expect("all have an optimizer");
        let of = |trained: &Trained| assignment.groups[trained.group].optimizer.lr();
        assignment.trained.iter().map(of).collect()
    }

    #[test]
    fn learning_rates_fall_from_layer_to_layer() {
        let names = [
            ("conv1.weight", 4),
            ("bn1.weight", 1),
            ("layer1.0.conv1.weight", 4),
            ("layer1.0.conv2.weight", 4),
            ("layer1.1.conv1.weight", 4),
            ("layer1.1.bn.weight", 1),
            ("fc.weight", 2),
            ("fc.bias", 1),
        ];
        let expected = [0.125, 0.125, 0.25, 0.25, 0.5, 0.5, 1.0, 1.0];
        assert_eq!(rates(&names, Some(0.5)), expected);
        assert_eq!(rates(&names, None), [1.0; 8]);
    }
}
