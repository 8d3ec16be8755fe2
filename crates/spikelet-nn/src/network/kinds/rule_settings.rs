//! The keys of layers whose weights change by a learning rule: `rule = { name = "pair-stdp", a2_plus = 2e-3 }`, `update`,
//! `learning_rate`, `bounds`, `normalize`.

use super::number;
use crate::domain::Domain;
use crate::learning::{LearningRule, RULES, Update};
use crate::network::layer_fields::interval;
use crate::network::problem::NetworkProblem;
use spikelet_core::document::{Fields, Located, Node};
use std::sync::Arc;

/// The rules that need a reward, which the key `reward` of a layer gives.
const WITH_REWARD: [&str; 2] = ["reward-stdp", "reward-trace-stdp"];

/// The settings of a learning rule in a file.
pub(super) struct RuleSettings {
    pub rule: Arc<dyn LearningRule>,
    pub update: Update,
    pub learning_rate: Option<f64>,
    pub bounds: Option<[f64; 2]>,
    pub normalize: Option<f64>,
}

impl RuleSettings {
    /// The settings of a layer; `reward`: whether it gives its rule a reward.
    pub(super) fn of(fields: &Fields<'_>, reward: bool) -> Result<Self, Located> {
        let rule = fields.require(
            "rule",
            "the name of a learning rule, or a table with `name` and constants",
        )?;
        let rule = rule_of(rule, reward)?;
        let (update, learning_rate) = update(fields, Update::default())?;
        let bounds = outside_optimizer(fields, update, "bounds")?;
        Ok(Self {
            rule,
            update,
            learning_rate,
            bounds: bounds.map(|node| interval(node, "bounds")).transpose()?,
            normalize: factor(fields, update, "normalize", Domain::above(0.0))?,
        })
    }
}

/// The learning rule of a name, or of a table with `name` and constants.
fn rule_of(node: &Node, reward: bool) -> Result<Arc<dyn LearningRule>, Located> {
    let name = match node.as_text() {
        Some(_) => Some(node),
        None if node.entries().is_none() => None,
        None => node.get("name"),
    };
    let name = name.ok_or_else(|| {
        node.wrong(
            "rule",
            "the name of a learning rule, or a table with `name` and constants",
        )
    })?;
    let text = name.text("name")?;
    if let Some(rule) = WITH_REWARD
        .into_iter()
        .find(|rule| text == *rule && !reward)
    {
        return Err(NetworkProblem::RuleReward { rule }.at(name.span.clone()));
    }
    if text == "eprop" {
        return Err(NetworkProblem::RuleOfLayer.at(name.span.clone()));
    }
    RULES.read("rule", node)
}

/// When the weights change, and the factor of a change.
pub(super) fn update(
    fields: &Fields<'_>,
    default: Update,
) -> Result<(Update, Option<f64>), Located> {
    let words = &["each-step", "end-of-call", "gradient"];
    let word = fields
        .get("update")
        .map(|node| node.choice("update", words));
    let update = match word.transpose()? {
        None => default,
        Some("end-of-call") => Update::EndOfCall,
        Some("gradient") => Update::Gradient,
        Some(_) => Update::EachStep,
    };
    let rate = factor(fields, update, "learning_rate", Domain::FINITE)?;
    Ok((update, rate))
}

/// The value of a key that the optimizer replaces.
fn outside_optimizer<'a>(
    fields: &Fields<'a>,
    update: Update,
    key: &'static str,
) -> Result<Option<&'a Node>, Located> {
    match (fields.entry(key), update) {
        (Some(entry), Update::Gradient) => {
            Err(NetworkProblem::PlasticByOptimizer { key }.at(entry.span.clone()))
        }
        (entry, _) => Ok(entry.map(|entry| &entry.value)),
    }
}

fn factor(
    fields: &Fields<'_>,
    update: Update,
    key: &'static str,
    domain: Domain,
) -> Result<Option<f64>, Located> {
    let node = outside_optimizer(fields, update, key)?;
    node.map(|node| number(node, key, domain)).transpose()
}
