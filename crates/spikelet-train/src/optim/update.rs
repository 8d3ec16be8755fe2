//! The update of a parameter as part of a traced training step.

use super::{Optimizer, StateSpec};
use crate::Settings;
use crate::scaling::UpdateGuard;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::op::HostTensor;
use spikelet_graph::{DType, Error, Tracer, Var};
use spikelet_nn::runtime::Program;

/// The default prefix of the names of an optimizer's tensors.
pub const STATE_PREFIX: &str = "optimizer";

/// The operands of the update of one parameter, as tensors.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// The parameter.
    pub weight: &'a Var,
    /// The gradient of the parameter, of the same shape.
    pub grad: &'a Var,
    /// The tensors of the optimizer, in the order of [`Optimizer::states`].
    pub states: &'a [Var],
    /// The scalars that change at each step, in the order of [`Optimizer::scalars`]; of shape `[]`.
    pub scalars: &'a [Var],
    pub(super) guard: &'a UpdateGuard,
}

/// The operands of an elementwise update, for one element of a parameter.
#[derive(Clone, Copy, Debug)]
pub struct ElementUpdate<'a> {
    /// The parameter.
    pub weight: &'a Expr,
    /// The gradient of the parameter.
    pub grad: &'a Expr,
    /// The tensors of the optimizer, in the order of [`Optimizer::states`].
    pub states: &'a [Expr],
    /// The scalars that change at each step, in the order of [`Optimizer::scalars`].
    pub scalars: &'a [Expr],
}

/// The new parameter and the new states of the optimizer: the result of [`Update::elementwise`] or
/// [`Update::tensors`]. After a step whose [`UpdateGuard`] is not satisfied, they have the old values.
#[derive(Debug)]
pub struct Updated {
    new: Vec<Var>,
}

impl Updated {
    /// Clamps the new parameter.
    pub(super) fn clamp(mut self, low: f64, high: f64) -> Self {
        if let Some(weight) = self.new.first_mut() {
            *weight = weight.clamp(low, high);
        }
        self
    }
}

impl Update<'_> {
    /// An update by one expression for all elements: `new` returns the new parameter, then the new states. All
    /// states must have the shape of the parameter. It is one operation, which writes in place.
    pub fn elementwise(&self, new: impl FnOnce(&ElementUpdate<'_>) -> Vec<Expr>) -> Updated {
        let operands: Vec<&Var> = [self.weight, self.grad]
            .into_iter()
            .chain(self.states)
            .chain(self.scalars)
            .chain([self.guard.operand()])
            .collect();
        let new = Var::map_many(&operands, |x: &[Expr]| {
            let (states, rest) = x[2..].split_at(self.states.len());
            let (scalars, guard) = rest.split_at(self.scalars.len());
            let new = new(&ElementUpdate {
                weight: &x[0],
                grad: &x[1],
                states,
                scalars,
            });
            let old = std::iter::once(&x[0]).chain(states).map(Some);
            // A surplus expression is reported by `update_with_prefix`.
            old.chain(std::iter::repeat(None))
                .zip(new)
                .map(|(old, new)| match old {
                    Some(old) => self.guard.choose(&guard[0], old, new),
                    None => new,
                })
                .collect()
        });
        Updated { new }
    }

    /// An update by operations on tensors: `new` has the new parameter, then the new states, each of the shape of
    /// the old one.
    pub fn tensors(&self, new: Vec<Var>) -> Updated {
        let old = std::iter::once(self.weight).chain(self.states).map(Some);
        let guarded = old
            .chain(std::iter::repeat(None))
            .zip(new)
            .map(|(old, new)| match old {
                // Another shape is reported by `Tracer::update`.
                Some(old) if old.shape() == new.shape() => {
                    Var::map(&[old, &new, self.guard.operand()], |x| {
                        self.guard.choose(&x[2], &x[0], x[1].clone())
                    })
                }
                _ => new,
            });
        Updated {
            new: guarded.collect(),
        }
    }
}

/// The name of a tensor of the optimizer for a parameter: `optimizer.mean.fc.1.weight`.
fn state_name(prefix: &str, state: &str, parameter: &str) -> String {
    format!("{prefix}.{state}.{parameter}")
}

/// The name of an input for a scalar of the optimizer.
fn scalar_name(group: &str, k: usize) -> String {
    match group {
        "" => format!("optimizer scalar {k}"),
        group => format!("optimizer scalar {k} of {group}"),
    }
}

/// The inputs of a step for the scalars of the optimizer.
pub fn scalar_inputs(tracer: &Tracer, settings: &Settings) -> Vec<Var> {
    scalar_inputs_of(tracer, &*settings.optimizer, "")
}

/// The inputs of a step for the scalars of the optimizer of a parameter group. `group` distinguishes the groups of
/// one step; `""` is that of [`scalar_inputs`].
pub fn scalar_inputs_of(tracer: &Tracer, optimizer: &dyn Optimizer, group: &str) -> Vec<Var> {
    let count = optimizer.scalars(1, 1.0).len();
    (0..count)
        .map(|k| tracer.input(&scalar_name(group, k), DType::F32, []))
        .collect()
}

/// Sets these inputs: `step` counts from 1, `factor` is that of the learning rate in this step.
///
/// # Errors
/// When the program has no such inputs.
pub fn feed_scalars(program: &Program, settings: &Settings, step: u64, factor: f64) -> Result<()> {
    let lr = settings.optimizer.lr() * factor;
    feed_scalars_of(program, &*settings.optimizer, "", step, lr)
}

/// Sets the inputs of [`scalar_inputs_of`]: `step` counts from 1, `lr` is the learning rate of this step.
///
/// # Errors
/// When the program has no such inputs.
pub fn feed_scalars_of(
    program: &Program,
    optimizer: &dyn Optimizer,
    group: &str,
    step: u64,
    lr: f64,
) -> Result<()> {
    let scalars = optimizer.scalars(step, lr);
    for (k, scalar) in scalars.into_iter().enumerate() {
        program.set(&scalar_name(group, k), HostTensor::F32(&[scalar as f32]))?;
    }
    Ok(())
}

/// Traces the update of a parameter and of the optimizer's tensors for it.
pub fn update(
    optimizer: &dyn Optimizer,
    name: &str,
    weight: &Var,
    grad: &Var,
    scalars: &[Var],
    guard: &UpdateGuard,
) {
    update_with_prefix(STATE_PREFIX, optimizer, name, weight, grad, scalars, guard);
}

/// The same; the names of the optimizer's tensors begin with `prefix`. With different prefixes, two steps over
/// the same parameters have separate optimizer tensors. A prefix that begins with `optimizer.`, such as
/// `optimizer.critic`, makes them optimizer tensors of checkpoints.
pub fn update_with_prefix(
    prefix: &str,
    optimizer: &dyn Optimizer,
    name: &str,
    weight: &Var,
    grad: &Var,
    scalars: &[Var],
    guard: &UpdateGuard,
) {
    let tracer = weight.tracer();
    let fail = |problem: String, given: String, help: &str| {
        tracer.fail(Error::Shape {
            layer: name.to_string(),
            operation: format!("update by the optimizer `{}`", optimizer.name()),
            problem,
            given,
            help: help.to_string(),
        });
    };
    let expected = optimizer.scalars(1, 1.0).len();
    if scalars.len() != expected {
        return fail(
            format!("the optimizer has {expected} scalars"),
            format!("{} scalars", scalars.len()),
            "pass the inputs that `scalar_inputs_of` returns for this optimizer",
        );
    }
    if grad.shape() != weight.shape() {
        return fail(
            "the gradient has another shape than the parameter".to_string(),
            format!("{} and {}", grad.ty(), weight.ty()),
            "pass the gradient with respect to this parameter",
        );
    }
    let states: Vec<Var> = optimizer
        .states(weight.shape())
        .into_iter()
        .map(|StateSpec { name: state, shape }| {
            tracer.state(&state_name(prefix, &state, name), shape)
        })
        .collect();
    let Updated { new } = optimizer.update(&Update {
        weight,
        grad,
        states: &states,
        scalars,
        guard,
    });
    if new.len() != 1 + states.len() {
        return fail(
            format!("expected {} new values", 1 + states.len()),
            format!("{} new values", new.len()),
            "return the new parameter, then the new states in the order of `Optimizer::states`",
        );
    }
    for (old, new) in std::iter::once(weight).chain(&states).zip(&new) {
        tracer.update(old, new);
    }
}
