//! Spiking neurons. Each has its own file with its equation.
//!
//! A neuron defines its charge, H from X and V. Fire, S = Θ(H − v_threshold), and reset have defaults
//! that a neuron may override. From these equations the engine derives the multi-step forward pass (FPTT)
//! and the multi-step backward pass (BPTT); derivatives are never written by hand.

mod case;
mod common;
mod discretization;
mod equation;
mod ops;
mod over_time;
mod readout;
mod reset_delay;
mod run;
mod scope;
pub(crate) mod spiking;
mod step;
pub(crate) mod unfused;
mod warning;

pub use crate::trainable::{Bound, Granularity, Spread, Trainable};
pub use case::{Difference, case_neuron, differences, run_case};
pub use common::{Common, FireOn, NeuronExt, ResetGrad};
pub use discretization::{Discretization, UnknownDiscretization};
pub use liaf::Act;
pub use readout::Readout;
pub use run::{Inputs, Run, run};
pub use scope::Scope;
use step::check;
pub use step::{TrainableParam, constants, derive, domains, is_parallel, trainables};
pub use warning::warning;

use crate::DefinitionError;
use crate::domain::Constant;
use crate::module::Context;
use crate::registry::{Entry, Field, family, fields_of};
use serde_json::Value;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// A state of a neuron and its reset value.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its symbol; the membrane potential is `v`.
    pub name: &'static str,
    /// Its initial value, before the first step.
    pub reset: f64,
    /// The distribution of its initial value, if it is drawn: anew in each run that starts a sequence, in training and
    /// in evaluation. A state that is carried from call to call starts from `reset`.
    pub start: Option<Spread>,
}

impl State {
    /// A state with the initial value `reset`.
    pub fn new(name: &'static str, reset: f64) -> Self {
        Self {
            name,
            reset,
            start: None,
        }
    }

    /// With `yes`, the initial value is uniform on [0, 1), drawn anew in each run.
    #[must_use]
    pub fn random(mut self, yes: bool) -> Self {
        self.start = yes.then_some(Spread::Uniform {
            low: 0.0,
            high: 1.0,
        });
        self
    }

    /// The state of the current module before the first step.
    pub(crate) fn trace(&self, cx: &Context, shape: &[usize]) -> Var {
        match self.start {
            Some(spread) => cx.random_state(self.name, shape, self.reset, spread),
            None => cx.state(self.name, shape, self.reset),
        }
    }

    /// The membrane potential, which starts from the potential of the hard reset.
    pub fn v(common: &Common) -> Self {
        Self::new("v", common.v_start())
    }
}

/// The kind of a neuron's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputKind {
    /// 0 or 1.
    Spikes,
    /// Integer numbers of spikes.
    Counts,
    /// −1, 0 or 1.
    Ternary,
    /// Any value.
    Real,
}

/// A trainable parameter of a neuron. Without a bound training may give it any value: a time constant that must stay positive
/// has one, as [`Trainable`] constants have.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let tau = Param::new("tau", 2.0, Granularity::Channel).above(1.0);
/// assert_eq!(tau.bound, Bound::Above { low: 1.0 });
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its symbol, and its name in files after the layer's path.
    pub name: &'static str,
    /// Its value before training, which is inside the bound.
    pub init: f64,
    /// The granularity.
    pub granularity: Granularity,
    /// The bound of its values, which [`Scope::param`] applies.
    pub bound: Bound,
}

impl Param {
    /// A parameter with the initial value `init`, without a bound.
    pub fn new(name: &'static str, init: f64, granularity: Granularity) -> Self {
        Self {
            name,
            init,
            granularity,
            bound: Bound::None,
        }
    }

    /// Bounded between two values by a sigmoid.
    #[must_use]
    pub fn between(self, low: f64, high: f64) -> Self {
        self.bounded(Bound::Between { low, high })
    }

    /// Bounded above a value by a softplus.
    #[must_use]
    pub fn above(self, low: f64) -> Self {
        self.bounded(Bound::Above { low })
    }

    /// Clamped to two values after each update.
    #[must_use]
    pub fn project(self, low: f64, high: f64) -> Self {
        self.bounded(Bound::Project { low, high })
    }

    /// With this bound.
    #[must_use]
    pub fn bounded(mut self, bound: Bound) -> Self {
        self.bound = bound;
        self
    }
}

/// A spiking neuron.
///
/// ```
/// use spikelet_nn::prelude::*;
///
/// /// H = V·decay + X
/// #[derive(Clone, Debug, Default)]
/// struct Leaky { decay: f64, common: Common }
///
/// impl Neuron for Leaky {
///     fn name(&self) -> &str { "leaky" }
///     fn common(&self) -> &Common { &self.common }
///     fn common_mut(&mut self) -> &mut Common { &mut self.common }
///     fn charge(&self, n: &Scope, x: Expr) -> Expr {
///         n.state("v") * self.decay + x
///     }
/// }
///
/// let leaky = Leaky { decay: 0.5, ..Leaky::default() };
/// let spikes = leaky.run(&[[0.8], [0.7], [0.1]])?; // H = 0.8, 1.1, then from reset 0.1
/// assert_eq!(spikes, [[0.0], [1.0], [0.0]]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
pub trait Neuron: Debug + Send + Sync {
    /// Its name in plans, kernels and files.
    fn name(&self) -> &str;

    /// Threshold, reset, surrogate.
    fn common(&self) -> &Common;

    /// The same, mutable.
    fn common_mut(&mut self) -> &mut Common;

    /// Its states; by default the membrane potential `v`.
    fn states(&self) -> Vec<State> {
        vec![State::v(self.common())]
    }

    /// The domains of its own constants. A constant outside its domain is an error;
    /// constants without a domain must be finite.
    fn domains(&self) -> Vec<Constant> {
        vec![]
    }

    /// Its trainable parameters.
    fn params(&self) -> Vec<Param> {
        vec![]
    }

    /// H, the potential after charging, from the input X and the states.
    fn charge(&self, n: &Scope, x: Expr) -> Expr;

    /// S, the spike.
    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        n.spike(h - n.v_threshold())
    }

    /// V, the potential after the reset.
    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        n.reset(h, s)
    }

    /// The output; by default S.
    fn output(&self, _n: &Scope, _h: &Expr, s: &Expr) -> Expr {
        s.clone()
    }

    /// The neuron as a value of its type, for [`Context::visiting`] and programs that translate neurons into other forms;
    /// `None` for a type that borrows. Neurons of this crate have it; one of your own needs it only if such a program
    /// looks for it.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// The kind of the output.
    fn output_kind(&self) -> OutputKind {
        self.common().output_kind()
    }

    /// The input of the charge, if it is computed from the full sequence `[T, N, …]`; for neurons that are not
    /// recurrences. It is the X of [`Neuron::charge`] at each step.
    ///
    /// # Errors
    /// When the shape of the sequence does not match.
    fn charge_seq(&self, _cx: &Context, _x_seq: &Var) -> Result<Option<Var>> {
        Ok(None)
    }

    /// The readout: reduces the output sequence `[T, N, …]` to one value for all steps, `[N, …]`; by
    /// default the sequence is the output.
    fn readout(&self, _seq: &Var) -> Option<Var> {
        None
    }
}

family! { "neuron", Neuron, check;
    if_node::If = "if", "integrate-and-fire";
    lif::Lif = "lif", "leaky integrate-and-fire";
    plif::Plif = "plif", "leaky integrate-and-fire with a trainable time constant";
    qif::Qif = "qif", "quadratic integrate-and-fire";
    eif::Eif = "eif", "exponential integrate-and-fire";
    izhikevich::Izhikevich = "izhikevich", "quadratic integrate-and-fire with an adaptation current";
    klif::Klif = "klif", "leaky integrate-and-fire with a trainable scale of the potential";
    liaf::Liaf = "liaf", "leaky integrate-and-fire with real outputs";
    cuba_lif::CubaLif = "cuba_lif", "leaky integrate-and-fire with a current that decays too";
    gated_lif::GatedLif = "gated_lif", "leaky integrate-and-fire with trainable gates between two ways of leaking, charging and resetting";
    ilif::Ilif = "ilif", "leaky integrate-and-fire with integer spike counts";
    clif::Clif = "clif", "leaky integrate-and-fire with a complementary potential for gradients";
    raf::Raf = "raf", "resonate-and-fire";
    half_threshold_if::HalfThresholdIf = "half_threshold_if", "integrate-and-fire that starts at half its threshold, for converted networks";
    sltt_lif::SlttLif = "sltt_lif", "leaky integrate-and-fire without gradients through time";
    ottt_lif::OtttLif = "ottt_lif", "leaky integrate-and-fire without gradients through time, with a trace of its spikes";
    ternary_if::TernaryIf = "ternary_if", "integrate-and-fire with positive and negative spikes";
    ternary_lif::TernaryLif = "ternary_lif", "leaky integrate-and-fire with positive and negative spikes";
    psn::Psn = "psn", "parallel: a product over the time axis, no reset";
    masked_psn::MaskedPsn = "masked_psn", "parallel, with a mask over the time axis";
    sliding_psn::SlidingPsn = "sliding_psn", "parallel, with the same few weights at every step";
    non_spiking_if::NonSpikingIf = "non_spiking_if", "integrator that never fires: for the readout of a membrane";
    non_spiking_lif::NonSpikingLif = "non_spiking_lif", "leaky integrator that never fires: for the readout of a membrane";
    alif::Alif = "alif", "leaky integrate-and-fire whose threshold rises with each spike";
    adex::Adex = "adex", "exponential integrate-and-fire with an adaptation current";
    synaptic::Synaptic = "synaptic", "leaky integrate-and-fire with a synaptic current, as in snnTorch";
    alpha::Alpha = "alpha", "alpha-function neuron: inputs cause potentials that rise and fall";
    brf::Brf = "brf", "balanced resonate-and-fire, with a refractory threshold in place of a reset";
    refractory_lif::RefractoryLif = "refractory_lif", "leaky integrate-and-fire with an absolute refractory period";
    soft_pulse_if::SoftPulseIf = "soft_pulse_if", "integrate-and-fire of SpikingFlow's softbp, with the soft reset gradient";
    soft_pulse_lif::SoftPulseLif = "soft_pulse_lif", "leaky integrate-and-fire of SpikingFlow's softbp, with the soft reset gradient";
    sparch_lif::SparchLif = "sparch_lif", "leaky integrate-and-fire of sparch, with a late reset and a trained decay for each neuron";
    adlif::AdLifCell = "adlif", "adaptive leaky integrate-and-fire of sparch, with trained constants for each neuron";
    silif::SiLifCell = "silif", "adaptive leaky integrate-and-fire in the parametrization of state space models";
    csilif::CSiLifCell = "csilif", "complex potential that turns and decays, as in diagonal state space models";
    decay_lif::DecayLif = "decay_lif", "leaky integrate-and-fire with an exact decay and trained time constants between limits";
    se_adlif::SeAdLifCell = "se_adlif", "adaptive leaky integrate-and-fire in the symplectic Euler discretization";
    ef_adlif::EfAdLifCell = "ef_adlif", "adaptive leaky integrate-and-fire in the Euler forward discretization";
    eprop_alif::EpropAlif = "eprop_alif", "adaptive leaky integrate-and-fire of e-prop, with a late reset and a refractory period";
    yin_alif::YinAlif = "yin_alif", "adaptive leaky integrate-and-fire whose raised threshold is subtracted one step late";
    rleaky::RLeakyCell = "rleaky", "leaky integrate-and-fire of snnTorch, with a late reset and feedback";
    rsynaptic::RSynapticCell = "rsynaptic", "leaky integrate-and-fire with a synaptic current of snnTorch, with a late reset and feedback";
    norse_lif::NorseLif = "norse_lif", "leaky integrate-and-fire with a current, as in Norse";
    leaky_integrator::LeakyIntegrator = "leaky_integrator", "leaky integrator with an exact decay that never fires: for readouts";
    nir_i::NirI = "nir_i", "integrator of NIR, which never fires";
    nir_if::NirIf = "nir_if", "integrate-and-fire of NIR, with a strict threshold";
    nir_li::NirLi = "nir_li", "leaky integrator of NIR, which never fires";
    nir_lif::NirLif = "nir_lif", "leaky integrate-and-fire of NIR, with a strict threshold and a choice of discretizations";
    nir_cuba_li::NirCubaLi = "nir_cuba_li", "leaky integrator of NIR with a current, which never fires";
    nir_cuba_lif::NirCubaLif = "nir_cuba_lif", "leaky integrate-and-fire of NIR with a current, with a strict threshold and a choice of discretizations";
    heaviside::Heaviside = "heaviside", "threshold without a state";
}

/// The documentation of the constants of all neurons.
pub fn common_fields() -> Vec<Field> {
    fields_of(include_str!("common.rs"), "Common")
}

/// Builds a neuron from a table with its `name` and constants: its own, and those of all neurons.
///
/// The form `{"neuron": …, "params": {…}, "surrogate": …, "reset_grad": …}` of the reference cases and of checkpoints is read
/// as well. The neuron `equation` is not in the list of neurons: its equation is a part of the specification.
///
/// # Errors
/// When a name or a constant is unknown, or a constant is outside its domain.
///
/// ```
/// let spec = serde_json::json!({
///     "name": "lif", "tau": 100.0, "v_reset": null,
///     "surrogate": {"name": "sigmoid", "alpha": 1.0}, "reset_grad": "detach",
/// });
/// let lif = spikelet_nn::neuron::from_spec(&spec)?;
/// assert_eq!(lif.common().v_reset, None);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
pub fn from_spec(spec: &Value) -> Result<Arc<dyn Neuron>, DefinitionError> {
    let (name, constants) = match (spec["neuron"].as_str(), spec["name"].as_str()) {
        (Some(name), _) => {
            let mut constants = spec["params"].as_object().cloned().unwrap_or_default();
            let beside = ["surrogate", "reset_grad"].into_iter();
            let beside = beside.filter_map(|key| Some((key.to_string(), spec.get(key)?.clone())));
            constants.extend(beside);
            (name, constants)
        }
        (None, Some(name)) => {
            let mut constants = spec.as_object().cloned().unwrap_or_default();
            constants.remove("name");
            (name, constants)
        }
        (None, None) => {
            return Err(DefinitionError::NotASpecification {
                family: "neuron",
                key: "name",
                given: spec.clone(),
            });
        }
    };
    match name {
        equation::NAME => equation::build(&constants),
        name => (find(name)?.build)(&constants),
    }
}
