//! Spiking neurons. Each has its own file with its equation.
//!
//! A neuron defines its charge, H from X and V. Fire, S = Θ(H − v_threshold), and reset have defaults
//! that a neuron may override. From these equations the engine derives the multi-step forward pass (FPTT)
//! and the multi-step backward pass (BPTT); derivatives are never written by hand.

mod adex;
mod adlif;
mod alif;
mod alpha;
mod brf;
mod case;
mod clif;
mod common;
mod csilif;
mod cuba_lif;
mod decay_lif;
mod discretization;
mod ef_adlif;
mod eif;
mod eprop_alif;
mod equation;
mod gated_lif;
mod half_threshold_if;
mod heaviside;
mod if_node;
mod ilif;
mod izhikevich;
mod klif;
mod leaky_integrator;
mod liaf;
mod lif;
mod masked_psn;
mod nir_cuba_lif;
mod nir_if;
mod nir_lif;
mod norse_lif;
mod ops;
mod ottt_lif;
mod over_time;
mod plif;
mod psn;
mod qif;
mod raf;
mod readout;
mod refractory_lif;
mod reset_delay;
mod rleaky;
mod rsynaptic;
mod run;
mod scope;
mod se_adlif;
mod silif;
mod sliding_psn;
mod sparch_lif;
pub(crate) mod spiking;
mod step;
mod synaptic;
mod ternary_if;
mod ternary_lif;
pub(crate) mod unfused;
mod warning;
mod yin_alif;

pub use crate::trainable::{Bound, Granularity, Spread, Trainable};
pub use case::{Difference, case_neuron, differences, run_case};
pub use common::{Common, FireOn, NeuronExt, ResetGrad};
pub use discretization::Discretization;
pub use liaf::Act;
pub use readout::Readout;
pub use run::{Inputs, Run, run};
pub use scope::Scope;
use step::check;
pub use step::{TrainableParam, constants, derive, domains, is_parallel, trainables};
pub use warning::warning;
pub use {
    adex::Adex, adlif::AdLifCell, alif::Alif, alpha::Alpha, brf::Brf, clif::Clif,
    csilif::CSiLifCell, cuba_lif::CubaLif, decay_lif::DecayLif, ef_adlif::EfAdLifCell, eif::Eif,
    eprop_alif::EpropAlif, gated_lif::GatedLif, half_threshold_if::HalfThresholdIf,
    heaviside::Heaviside, if_node::If, ilif::Ilif, izhikevich::Izhikevich, klif::Klif,
    leaky_integrator::LeakyIntegrator, liaf::Liaf, lif::Lif, masked_psn::MaskedPsn,
    nir_cuba_lif::NirCubaLif, nir_if::NirIf, nir_lif::NirLif, norse_lif::NorseLif,
    ottt_lif::OtttLif, plif::Plif, psn::Psn, qif::Qif, raf::Raf, refractory_lif::RefractoryLif,
    rleaky::RLeakyCell, rsynaptic::RSynapticCell, se_adlif::SeAdLifCell, silif::SiLifCell,
    sliding_psn::SlidingPsn, sparch_lif::SparchLif, synaptic::Synaptic, ternary_if::TernaryIf,
    ternary_lif::TernaryLif, yin_alif::YinAlif,
};

use crate::DefinitionError;
use crate::module::Context;
use crate::surrogate::SURROGATES;
use serde_json::Value;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_schema::{Record, Role, Schema, registry};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
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
/// use spikelet_nn::neuron::Param;
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

/// A spiking neuron: a declaration of its constants, and equations.
///
/// ```
/// use spikelet_nn::prelude::*;
///
/// /// H = V·decay + X
/// #[derive(Clone, Debug, Schema)]
/// struct Leaky {
///     /// Decay factor of the potential.
///     #[schema(default = 0.9, from = 0.0, to = 1.0)]
///     decay: f64,
///     /// Threshold, reset, surrogate.
///     #[schema(flatten)]
///     common: Common,
/// }
///
/// impl Neuron for Leaky {
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
pub trait Neuron: Record + Debug + Send + Sync {
    /// Its name in plans, kernels and files; by default that of its declaration.
    fn name(&self) -> &str {
        self.declaration().name
    }

    /// Threshold, reset, surrogate: by default its field of type [`Common`], which is flattened.
    ///
    /// # Panics
    /// When it has no such field.
    fn common(&self) -> &Common {
        let found = spikelet_schema::flattened(self);
        found.expect("a neuron has a flattened field of type `Common`")
    }

    /// Its states; by default the membrane potential `v`.
    fn states(&self) -> Vec<State> {
        vec![State::v(self.common())]
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
}

impl dyn Neuron + '_ {
    /// The value of the field of this key, which may be that of a flattened struct; `None` if there is no such field of
    /// this type.
    ///
    /// ```
    /// use spikelet_nn::neuron::RefractoryLif;
    /// use spikelet_nn::prelude::*;
    /// let neuron: &dyn Neuron = &RefractoryLif::default();
    /// assert_eq!(neuron.get::<f64>("tau"), Some(&2.0));
    /// assert_eq!(neuron.get::<f64>("alpha"), None);
    /// ```
    pub fn get<T: 'static>(&self, key: &str) -> Option<&T> {
        field(self, key)
    }

    /// Its name in [`NEURONS`]; `None` for a neuron of another program, whose name may be the same.
    pub fn known_name(&self) -> Option<&'static str> {
        let name = self.declaration().name;
        let own = NEURONS.named(name).ok()?;
        let [known, given] = [own.as_type()?, self.as_type()?].map(Any::type_id);
        (known == given).then_some(name)
    }
}

/// The field of this key in a record or a struct that is flattened into it.
fn field<'a, T: 'static>(record: &'a (impl Record + ?Sized), key: &str) -> Option<&'a T> {
    let mut fields = record.declaration().fields.iter().enumerate();
    fields.find_map(|(index, field)| match field.role {
        Role::Flatten => self::field(record.field(index).record()?, key),
        _ if field.key == key => (record.field(index) as &dyn Any).downcast_ref(),
        _ => None,
    })
}

registry! {
    /// All neurons.
    pub static NEURONS: dyn Neuron = "neuron" {
        If, Lif, Plif, Qif, Eif, Izhikevich, Klif, Liaf, CubaLif, GatedLif, Ilif, Clif, Raf,
        HalfThresholdIf, OtttLif, TernaryIf, TernaryLif, Psn, MaskedPsn, SlidingPsn,
        Alif, Adex, Synaptic, Alpha, Brf, RefractoryLif, SparchLif,
        AdLifCell, SiLifCell, CSiLifCell, DecayLif, SeAdLifCell, EfAdLifCell, EpropAlif, YinAlif,
        RLeakyCell, RSynapticCell, NorseLif, LeakyIntegrator, NirIf, NirLif,
        NirCubaLif, Heaviside,
    }
    or {
        "adlif" = "adlif_cell", "";
        "silif" = "silif_cell", "";
        "csilif" = "csilif_cell", "";
        "se_adlif" = "se_adlif_cell", "";
        "ef_adlif" = "ef_adlif_cell", "";
        "rleaky" = "rleaky_cell", "";
        "rsynaptic" = "rsynaptic_cell", "";
        "non_spiking_if" = "if", "fires = false";
        "non_spiking_lif" = "lif", "fires = false";
        "sltt_lif" = "lif", "reset_grad = 'detach'\ntime_grad = false";
        "nir_i" = "nir_if", "fires = false";
        "nir_li" = "nir_lif", "fires = false";
        "nir_cuba_li" = "nir_cuba_lif", "fires = false";
        "soft_pulse_if" = "if", "reset_grad = 'soft'\nsurrogate = { name = 'sigmoid', alpha = 1.0 }";
        "soft_pulse_lif" = "lif", "tau = 100.0\nreset_grad = 'soft'\nsurrogate = { name = 'sigmoid', alpha = 1.0 }";
    }
}

/// Builds a neuron from a table with its `name` and constants: its own, and those of all neurons.
///
/// The names are those of [`NEURONS`]. The form `{"neuron": …, "params": {…}, "surrogate": …, "reset_grad": …}` of the reference cases and of checkpoints is read
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
    let spec = present_form(spec);
    let neuron = match spec["name"].as_str() {
        Some(equation::NAME) => equation::build(&spec),
        _ => DefinitionError::reading(&NEURONS, &spec),
    };
    let neuron = neuron.map_err(|error| of_surrogate(&spec).unwrap_or(error))?;
    check(&*neuron)?;
    Ok(neuron)
}

/// The error of the surrogate of a refused neuron, if that is what is wrong: it names the surrogate, not the neuron.
fn of_surrogate(spec: &Value) -> Option<DefinitionError> {
    let surrogate = spec.get("surrogate")?;
    let is_named = surrogate.is_string() || surrogate.get("name").is_some();
    let read = is_named.then(|| DefinitionError::reading(&SURROGATES, surrogate));
    read?.err()
}

/// The form of reference cases and checkpoints as one table.
fn present_form(spec: &Value) -> Value {
    let Some(name) = spec.get("neuron") else {
        return spec.clone();
    };
    let mut table = spec["params"].as_object().cloned().unwrap_or_default();
    table.insert("name".to_string(), name.clone());
    for key in ["surrogate", "reset_grad"] {
        table.extend(spec.get(key).map(|value| (key.to_string(), value.clone())));
    }
    Value::Object(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_name_is_read_in_both_forms() {
        let aliases = NEURONS.aliases.iter().map(|alias| alias.name);
        for name in NEURONS.names().chain(aliases) {
            let named = from_spec(&json!(name)).expect("a name");
            let old = from_spec(&json!({"neuron": name, "params": {"v_threshold": 0.75}}));
            let new = from_spec(&json!({"name": name, "v_threshold": 0.75}));
            assert_eq!(*old.expect("an old form"), *new.expect("a table"));
            assert_eq!(*named, *NEURONS.named(name).expect("it has defaults"));
        }
    }

    #[test]
    fn a_neuron_that_does_not_fire_returns_its_potential_and_is_not_reset() {
        for name in NEURONS.names() {
            let neuron = from_spec(&json!({"name": name, "fires": false})).expect(name);
            let step = derive(&*neuron).expect(name);
            assert_eq!(neuron.output_kind(), OutputKind::Real, "{name}");
            if let Some(v) = step.states.iter().position(|state| state == "v") {
                assert!(step.next[v].same_value(&step.outputs[0].value), "{name}");
            }
        }
    }

    #[test]
    fn the_neurons_of_softbp_are_settings() {
        let common = Common::soft_pulse();
        let lif: &dyn Neuron = &Lif {
            common: common.clone(),
            ..Lif::new(100.0)
        };
        assert_eq!(*lif, *from_spec(&json!("soft_pulse_lif")).expect("a name"));
        let integrator: &dyn Neuron = &If { common };
        assert_eq!(
            *integrator,
            *from_spec(&json!("soft_pulse_if")).expect("a name")
        );
    }
}
