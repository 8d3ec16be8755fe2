//! Synapses whose weights a rule changes: what layers with a learning rule have in common.

use super::definition::Equations;
use super::{
    LearningError, LearningRule, PlasticSynapses, RULES, RuleInputs, Update, reward, run_rule,
};
use crate::domain::{Constant, Domain};
use crate::module::Context;
use crate::network::NetworkProblem;
use crate::network::kind::LayerFields;
use crate::network::values::Interval;
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_core::document::{Located, Node};
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_schema::{Field, FieldValue, Kind, Schema, member_to_json};
use std::sync::Arc;

/// The learning rule of a layer in a file.
#[derive(Clone, Debug)]
pub(super) struct RuleKey(Arc<dyn LearningRule>);

impl Default for RuleKey {
    fn default() -> Self {
        Self(RULES.entries[0].defaults())
    }
}

impl FieldValue for RuleKey {
    fn kind() -> Kind {
        Kind::Other(
            "the name of a learning rule, or a table with `name` and constants",
            || json!({"type": ["string", "object"]}),
        )
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        let name = node.get("name").unwrap_or(node);
        if name.as_text() == Some("eprop") {
            return Err(NetworkProblem::RuleOfLayer.at(name.span.clone()));
        }
        self.0 = RULES.read(field.key, node)?;
        Ok(())
    }

    fn write(&self) -> Value {
        member_to_json(&*self.0).into()
    }
}

impl RuleKey {
    /// The rule; `rewarded`: whether the layer gives it a reward.
    pub(super) fn rule(
        &self,
        layer: &LayerFields<'_>,
        rewarded: bool,
    ) -> Result<Arc<dyn LearningRule>, Located> {
        let needs_reward = |of: Equations| of.declared.signals.contains(&reward::SIGNAL);
        if !rewarded && Equations::of(&*self.0).is_ok_and(needs_reward) {
            let node = layer.get("rule");
            let name = node.map(|node| node.get("name").unwrap_or(node));
            let rule = self.0.name();
            return Err(
                NetworkProblem::RuleReward { rule }.at(name.and_then(|name| name.span.clone()))
            );
        }
        Ok(self.0.clone())
    }
}

/// How a rule changes the weights of a layer in a file.
#[derive(Debug, Schema)]
pub(super) struct ChangeKeys {
    /// When the weights change: `each-step`, `end-of-call` or `gradient`.
    update: Update,
    /// The factor of a change.
    #[schema(default = 1.0)]
    lr: f64,
    /// The interval to which weights are clamped; by default that of the rule.
    bounds: Option<Interval>,
}

/// Synapses, their rule, and how it changes the weights.
pub(super) struct ChangingSynapses {
    /// The name of the synapses in the layer.
    name: &'static str,
    pub(super) synapses: Box<dyn PlasticSynapses>,
    pub(super) rule: Arc<dyn LearningRule>,
    pub(super) update: Update,
    pub(super) lr: f64,
    pub(super) bounds: Option<[f64; 2]>,
    pub(super) normalize: Option<f64>,
}

impl ChangingSynapses {
    pub(super) fn new(
        name: &'static str,
        synapses: impl PlasticSynapses + 'static,
        rule: impl LearningRule + 'static,
    ) -> Self {
        Self {
            name,
            synapses: Box::new(synapses),
            bounds: rule.bounds(),
            rule: Arc::new(rule),
            update: Update::default(),
            lr: 1.0,
            normalize: None,
        }
    }

    /// Sets the values of `update`, `lr`, `bounds` and `normalize` in a file.
    pub(super) fn set(
        &mut self,
        keys: &ChangeKeys,
        normalize: Option<f64>,
        layer: &LayerFields<'_>,
    ) -> Result<(), Located> {
        for key in ["lr", "bounds", "normalize"] {
            keys.update.expect_without(layer, key)?;
        }
        (self.update, self.lr) = (keys.update, keys.lr);
        self.bounds = keys.bounds.map(|limits| limits.0).or(self.bounds);
        self.normalize = normalize;
        Ok(())
    }

    /// Refuses settings outside their domains, and ways to learn that the context does not allow.
    pub(super) fn check(&self, cx: &Context, what: &str) -> Result<()> {
        let mut constants = vec![Constant::new("lr", self.lr, Domain::FINITE)];
        if let Some([low, high]) = self.bounds {
            constants.push(Constant::new("the lower bound", low, Domain::FINITE));
            constants.push(Constant::new(
                "the upper bound",
                high,
                Domain::at_least(low),
            ));
        }
        if let Some(sum) = self.normalize {
            constants.push(Constant::new("normalize", sum, Domain::above(0.0)));
        }
        cx.expect_domains(what, &constants)?;
        self.update.check(cx, what, self.rule.name())?;
        if self.update != Update::EachStep && self.learns(cx) {
            cx.expect_all_steps(what)
                .map_err(|_| cx.error(what, LearningError::NeedsAllSteps.into()))?;
        }
        Ok(())
    }

    /// Whether the weights change in this trace.
    pub(super) fn learns(&self, cx: &Context) -> bool {
        match self.update {
            Update::EachStep => cx.learns(),
            // A call of a stream is one step.
            Update::EndOfCall => cx.learns() && (cx.mode().training || !cx.mode().carry_state),
            Update::Gradient => cx.mode().training,
        }
    }

    /// The weight at the beginning of a call, and in the current step.
    pub(super) fn weight(&self, cx: &Context) -> Result<Var> {
        let (shape, init) = self.synapses.weight();
        cx.child(self.name, |cx| {
            if self.update == Update::Gradient {
                return Ok(cx.parameter("weight", shape, init));
            }
            let Some(sum) = self.normalize.filter(|_| self.learns(cx)) else {
                return Ok(cx.buffer("weight", shape, init));
            };
            let begins = cx.begins_sequence();
            Ok(cx.buffer_from("weight", shape, init, |weight| {
                normalized(weight, sum, begins.as_ref())
            }))
        })
    }

    /// The product of spikes and the weight.
    pub(super) fn currents(&self, cx: &Context, weight: &Var, spikes: Var) -> Result<Var> {
        // No product over all steps could have the same bits: the weight changes in between.
        let one_step = self.learns(cx) && self.update == Update::EachStep && spikes.dim(0) == 1;
        cx.child(self.name, |cx| {
            let (made, _) = cx.with_parameter("weight", weight, |cx| match one_step {
                true => self.synapses.forward_step(cx, spikes),
                false => self.synapses.forward(cx, &spikes),
            });
            made
        })
    }

    /// Changes the weight by the spikes of both neurons, over the steps that these have.
    pub(super) fn change(&self, cx: &Context, weight: &Var, pre: &Var, post: &Var) -> Result<()> {
        if self.update != Update::Gradient {
            cx.note_plastic();
        }
        let inputs = RuleInputs {
            synapses: &*self.synapses,
            weight,
            pre,
            post,
            values: &[],
        };
        let made = run_rule(cx, &*self.rule, inputs)?;
        if let Some(changes) = &made.change_seq {
            cx.record("change_seq", changes);
        }
        if self.update == Update::Gradient {
            cx.change_by_gradient(weight, &made.change);
            return Ok(());
        }
        let next = made.applied(weight, self.lr, self.bounds);
        if cx.watches() {
            cx.record("weight_seq", &next.reshape([&[1], next.shape()].concat()));
        }
        cx.set_buffer(weight, &next);
        Ok(())
    }
}

/// Weights `[out, …]` scaled to a sum of the inputs of each output, where `begins` is 1. Weights whose sum is 0 stay.
fn normalized(weight: &Var, sum: f64, begins: Option<&Var>) -> Var {
    let flat = weight.flatten(1);
    let sums = flat.sum(&[1]).unsqueeze(1);
    let factor = sums.map1(|s| Expr::select(s.differs(0.0), sum / s, 1.0));
    let factor = match begins {
        None => factor,
        Some(begins) => Var::map(&[&factor, begins], |v| {
            Expr::select(v[1].gt(0.0), &v[0], 1.0)
        }),
    };
    (flat * factor).reshape(weight.shape())
}
