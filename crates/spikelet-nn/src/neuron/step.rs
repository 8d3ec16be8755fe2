//! Derives the step that the engine runs from the equations of a neuron.

use super::{Bound, Granularity, Neuron, OutputKind, Param, Scope, Spread, State, scope::NOISE};
use crate::DefinitionError;
use crate::domain::{self, Constant, Domain};
use crate::module::{Context, Init, Mode};
use spikelet_expr::Expr;
use spikelet_graph::DType;
use spikelet_graph::op::Recurrence;

/// Derives one step of a neuron: its output and next states.
///
/// # Errors
/// When the neuron uses a state or parameter that it does not declare, learns a constant that it
/// does not have, or needs a primitive that its surrogate does not have.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let step = spikelet_nn::neuron::derive(&If::new())?;
/// assert_eq!(step.outputs[0].value.to_string(), "v + x - 1 ≥ 0");
/// assert_eq!(step.next[0].to_string(), "v + x - 1 ≥ 0 ? 0 : v + x");
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
pub fn derive(neuron: &dyn Neuron) -> Result<Recurrence, DefinitionError> {
    Ok(StepDefinition::new(neuron)?.step)
}

/// A trainable value of a neuron: a parameter of its own, a constant, or the initial value
/// `<state>_start` of a state.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainableParam {
    /// Its name in files after the layer's path.
    pub name: String,
    /// The initial value of the parameter. With a bound, it differs from that of the constant.
    pub init: f64,
    /// The granularity.
    pub granularity: Granularity,
    /// The bound of the constant.
    pub bound: Bound,
    /// The distribution of the initial values of the constant; without one, all parameters start at `init`.
    pub start: Option<Spread>,
    /// Whether the values are stored with the model, but not trained.
    pub frozen: bool,
}

impl TrainableParam {
    /// The initialization of the parameter.
    pub(super) fn initial(&self) -> Init {
        match self.start {
            Some(spread) => Init::Drawn {
                spread,
                bound: self.bound,
            },
            None => Init::Constant(self.init),
        }
    }
}

/// All trainable values of a neuron, except for the parameters of [`Neuron::charge_seq`]: its own
/// parameters, constants, initial states.
///
/// # Errors
/// As [`derive()`].
pub fn trainables(neuron: &dyn Neuron) -> Result<Vec<TrainableParam>, DefinitionError> {
    let layout = StepDefinition::new(neuron)?;
    let starts = layout.starts.into_iter().flatten();
    let held = layout.params.into_iter().chain(layout.sequences);
    Ok(held.chain(starts).collect())
}

/// The constants of a neuron that can be trainable, with their values: those that its equations use,
/// and the initial values of its states.
///
/// # Errors
/// As [`derive()`].
///
/// ```
/// use spikelet_nn::prelude::*;
/// let known = spikelet_nn::neuron::constants(&Lif::new(4.0))?;
/// let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
/// assert_eq!(names, ["tau", "v_reset", "v_threshold", "v_start"]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
pub fn constants(neuron: &dyn Neuron) -> Result<Vec<(String, f64)>, DefinitionError> {
    let asked = write(neuron, |_, whole| whole.clone())?.constants;
    let asked = asked
        .into_iter()
        .map(|(name, value)| (name.to_string(), value));
    let states = neuron.states();
    let starts = states.iter().map(|s| (start(s.name), s.reset));
    Ok(asked.chain(starts).collect())
}

/// The constants of a neuron that have a domain, without those of its surrogate: its own, and the threshold and the
/// reset potential if its equations use them. The threshold is above 0, but any number with a hard reset and of a neuron
/// without a state; see [`warning`](super::warning).
///
/// ```
/// use spikelet_nn::prelude::*;
/// let domains = spikelet_nn::neuron::domains(&Lif::new(4.0));
/// assert_eq!(domains[0].to_string(), "tau: a number above 1");
/// assert_eq!(domains[1].to_string(), "v_threshold: a finite number");
/// let soft = spikelet_nn::neuron::domains(&Lif::new(4.0).v_reset(None));
/// assert_eq!(soft[1].to_string(), "v_threshold: a number above 0");
/// ```
pub fn domains(neuron: &dyn Neuron) -> Vec<Constant> {
    let used = write(neuron, |_, whole| whole.clone()).map_or(vec![], |parts| parts.constants);
    let is_used = |name: &str| used.iter().any(|(used, _)| *used == name);
    // What is subtracted from the potential lowers it; a potential that is replaced may be any.
    let replaced = neuron.common().v_reset.is_some() && is_used("v_reset");
    let subtracted = !replaced && !neuron.states().is_empty();
    let declared = spikelet_schema::domains(neuron).into_iter();
    let mut all: Vec<Constant> = declared
        .map(|(name, value, domain)| match name {
            "v_threshold" if subtracted => Constant::new(name, value, Domain::above(0.0)),
            _ => Constant::new(name, value, domain),
        })
        .filter(|c| is_used(c.name) || (c.domain != Domain::FINITE && c.name != "v_threshold"))
        .collect();
    for (name, value) in used {
        if all.iter().all(|constant| constant.name != name) {
            all.push(Constant::new(name, value, Domain::FINITE));
        }
    }
    all
}

/// Checks that the constants of a neuron and of its surrogate are in their domains, and that its
/// states start from finite values.
pub(super) fn check(neuron: &dyn Neuron) -> Result<(), DefinitionError> {
    let owner = format!("neuron `{}`", neuron.name());
    domain::check(&domains(neuron), &owner)?;
    let checked = neuron.check_fields();
    checked.map_err(|error| DefinitionError::of(owner, error))?;
    let surrogate = &*neuron.common().surrogate;
    spikelet_schema::check(surrogate).map_err(|error| {
        let owner = format!("surrogate `{}`", surrogate.declaration().name);
        DefinitionError::of(owner, error)
    })?;
    match neuron
        .states()
        .iter()
        .find(|state| !state.reset.is_finite())
    {
        None => Ok(()),
        Some(State { name, reset, .. }) => Err(DefinitionError::StateStart {
            neuron: neuron.name().to_string(),
            state: name,
            value: *reset,
        }),
    }
}

/// Whether the input of the charge is computed from the full sequence, so that the neuron cannot
/// run step by step.
pub fn is_parallel(neuron: &dyn Neuron) -> bool {
    let cx = Context::new(Mode::EVAL, DType::F32);
    let x = cx.tracer().input("x_seq", DType::F32, [1, 1, 1]);
    matches!(neuron.charge_seq(&cx, &x), Ok(Some(_)))
}

/// A neuron's step with the operands that its layer provides.
pub(super) struct StepDefinition {
    pub(super) step: Recurrence,
    /// Those of the step, in its order.
    pub(super) params: Vec<TrainableParam>,
    /// Parameters with a value for each time step: the last of the step's inputs, in its order.
    pub(super) sequences: Vec<TrainableParam>,
    /// The initial value of each state, where it is trainable.
    pub(super) starts: Vec<Option<TrainableParam>>,
}

impl StepDefinition {
    /// # Errors
    /// As [`derive()`].
    pub(super) fn new(neuron: &dyn Neuron) -> Result<Self, DefinitionError> {
        check(neuron)?;
        let parts = write(neuron, |_, whole| whole.clone())?;
        let TracedStep {
            output,
            next,
            constants,
            ..
        } = parts;
        let own = |p: Param| {
            let init = p.bound.invert(p.init);
            let init = init.map_err(|source| DefinitionError::Bound {
                neuron: neuron.name().to_string(),
                constant: p.name.to_string(),
                source,
            });
            Ok(TrainableParam {
                name: p.name.to_string(),
                init: init?,
                granularity: p.granularity,
                bound: p.bound,
                start: None,
                frozen: false,
            })
        };
        let own = neuron.params().into_iter().map(own);
        let own: Vec<TrainableParam> = own.collect::<Result<_, DefinitionError>>()?;
        let (sequences, mut params): (Vec<_>, Vec<_>) = own
            .into_iter()
            .partition(|p| matches!(p.granularity, Granularity::Step | Granularity::StepChannel));
        let learned = Learned {
            neuron,
            constants: &constants,
        };
        learned.check()?;
        for (name, value) in &constants {
            params.extend(learned.find(name, *value)?);
        }
        let states = neuron.states();
        let starts = states.iter().map(|s| learned.find(&start(s.name), s.reset));
        let common = neuron.common();
        let mut inputs = vec!["x"];
        if common.draws() {
            inputs.push(NOISE);
        }
        inputs.extend(sequences.iter().map(|s| s.name.as_str()));
        let step = Recurrence::new(neuron.name(), inputs, states.iter().map(|s| s.name))
            .params(params.iter().map(|p| p.name.as_str()))
            .output("s", output, neuron.output_kind() == OutputKind::Spikes)
            .next(next);
        check_symbols(&step)?;
        Ok(Self {
            starts: starts.collect::<Result<_, _>>()?,
            step,
            params,
            sequences,
        })
    }

    /// Checks that the equations use all declared parameters: unused ones would never be trained.
    pub(super) fn check_params(&self, neuron: &dyn Neuron) -> Result<(), DefinitionError> {
        let values = self.step.outputs.iter().map(|output| &output.value);
        let used: Vec<String> = (values.chain(&self.step.next))
            .flat_map(Expr::symbols_of_all)
            .collect();
        let params = neuron.params();
        match params
            .iter()
            .find(|p| !used.iter().any(|name| name == p.name))
        {
            None => Ok(()),
            Some(unused) => Err(DefinitionError::UnusedParameter {
                neuron: neuron.name().to_string(),
                parameter: unused.name,
            }),
        }
    }
}

/// The name of the initial value of a state.
fn start(state: &str) -> String {
    format!("{state}_start")
}

/// The trainable constants of a neuron.
struct Learned<'a> {
    neuron: &'a dyn Neuron,
    constants: &'a [(&'static str, f64)],
}

impl Learned<'_> {
    /// The trainable value of this name, if there is one.
    fn find(&self, name: &str, value: f64) -> Result<Option<TrainableParam>, DefinitionError> {
        let Some(learn) = self.neuron.common().trainable.get(name) else {
            return Ok(None);
        };
        let wrong = |source| DefinitionError::Bound {
            neuron: self.neuron.name().to_string(),
            constant: name.to_string(),
            source,
        };
        let init = learn.bound.invert(value).map_err(wrong)?;
        if let Some(start) = learn.start {
            learn.bound.check(start).map_err(wrong)?;
        }
        Ok(Some(TrainableParam {
            name: name.to_string(),
            init,
            granularity: learn.granularity,
            bound: learn.bound,
            start: learn.start,
            frozen: learn.frozen,
        }))
    }

    /// Checks that the neuron has the constants, and that they can be trainable.
    fn check(&self) -> Result<(), DefinitionError> {
        let (neuron, states) = (self.neuron.name(), self.neuron.states());
        let known: Vec<String> = (self.constants.iter().map(|c| c.0.to_string()))
            .chain(states.iter().map(|s| start(s.name)))
            .collect();
        let own: Vec<&str> = (self.neuron.params().iter().map(|p| p.name))
            .chain(states.iter().map(|s| s.name))
            .chain(["x", NOISE])
            .collect();
        for (name, learn) in &self.neuron.common().trainable {
            if !known.contains(name) {
                return Err(DefinitionError::NotTrainable {
                    neuron: neuron.to_string(),
                    constant: name.clone(),
                    known,
                });
            }
            if own.contains(&name.as_str()) {
                return Err(DefinitionError::DuplicateName {
                    neuron: neuron.to_string(),
                    name: name.clone(),
                });
            }
            if matches!(
                learn.granularity,
                Granularity::Step | Granularity::StepChannel
            ) {
                return Err(DefinitionError::PerStepConstant {
                    neuron: neuron.to_string(),
                    constant: name.clone(),
                });
            }
        }
        Ok(())
    }
}

/// The parts of a step of a neuron.
pub(super) struct TracedStep {
    /// H as a function of the input `x`, states and parameters.
    pub(super) charge: Expr,
    /// S as a function of these and [`CHARGED`].
    pub(super) fire: Expr,
    /// The output as a function of these and [`FIRED`].
    pub(super) output: Expr,
    /// The next states as functions of the same.
    pub(super) next: Vec<Expr>,
    /// The constants that the equations use.
    constants: Vec<(&'static str, f64)>,
}

/// The symbol of H in the expressions after the charge; it cannot be the name of a state.
pub(super) const CHARGED: &str = "h[t]";

/// The symbol of S in the expressions after the spike.
pub(super) const FIRED: &str = "s[t]";

/// Derives the parts of a step; each uses the results of the previous one.
///
/// # Errors
/// As [`derive()`].
pub(super) fn parts(neuron: &dyn Neuron) -> Result<TracedStep, DefinitionError> {
    write(neuron, |symbol, _| Expr::symbol(symbol))
}

/// Derives the parts of a step. `hand_on` returns the form in which later parts use a result: its expression, or
/// a symbol.
fn write(
    neuron: &dyn Neuron,
    hand_on: impl Fn(&str, &Expr) -> Expr,
) -> Result<TracedStep, DefinitionError> {
    let n = Scope::new(neuron);
    let charge = neuron.charge(&n, Expr::symbol("x"));
    let h = hand_on(CHARGED, &charge);
    let fires = neuron.common().fires;
    let fire = match fires {
        true => neuron.fire(&n, &n.fires_on(&h)),
        false => Expr::constant(0.0),
    };
    let s = hand_on(FIRED, &fire);
    let states = neuron.states();
    // A neuron without states has no reset and does not use its constants.
    let v = match states.is_empty() {
        true => h.clone(),
        false => neuron.reset(&n, &h, &s),
    };
    let output = match fires {
        true => neuron.output(&n, &h, &s),
        false => h.clone(),
    };
    if let Some(problem) = n.problem() {
        return Err(problem);
    }
    let next_of = |name| match name {
        "v" => v.clone(),
        other => n.next_of(other).unwrap_or_else(|| Expr::symbol(other)),
    };
    let next = states.iter().map(|s| next_of(s.name)).collect();
    Ok(TracedStep {
        charge,
        fire,
        output,
        next,
        constants: n.constants(),
    })
}

fn check_symbols(step: &Recurrence) -> Result<(), DefinitionError> {
    step.forward_program(&vec![true; step.outputs.len()])
        .map(|_| ())
        .map_err(|source| DefinitionError::Equation {
            neuron: step.name.to_string(),
            source,
        })
}
