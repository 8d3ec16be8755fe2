//! The names of the constants of a neuron in a framework, and the relations of their values.

use spikelet_nn::neuron::{Bound, Neuron};
use spikelet_weights::Tensor;

/// A constant of a neuron that a framework stores, or that is trained in one of both.
#[derive(Clone, Debug)]
pub(super) struct ValueRule {
    /// The name of the parameter in spikelet, if the constant is trained.
    pub ours: &'static str,
    /// The name in the state dict.
    pub theirs: &'static str,
    /// The value of the constant where it is not trained.
    pub constant: Option<f64>,
    /// Whether the framework stores it also if it is not trained.
    pub stored: bool,
    pub relation: Relation,
}

/// The relation of a constant in spikelet and in a framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Formula {
    /// They are the same.
    Same,
    /// τ here, w there: 1/τ = σ(w).
    TauOfW,
    /// τ here, β there: β = 1 − 1/τ.
    TauOfBeta,
    /// w here, β there: β = 1 − σ(w).
    WOfBeta,
}

impl Formula {
    /// The value in the framework.
    fn theirs(self, ours: f64) -> f64 {
        match self {
            Self::Same => ours,
            Self::TauOfW => -(ours - 1.0).ln(),
            Self::TauOfBeta => 1.0 - 1.0 / ours,
            // 1 − σ(w) = σ(−w).
            Self::WOfBeta => 1.0 / (1.0 + ours.exp()),
        }
    }

    /// The value in spikelet.
    fn ours(self, theirs: f64) -> f64 {
        match self {
            Self::Same => theirs,
            Self::TauOfW => 1.0 + (-theirs).exp(),
            Self::TauOfBeta => 1.0 / (1.0 - theirs),
            Self::WOfBeta => (1.0 / theirs - 1.0).ln(),
        }
    }
}

/// The relation of a trained parameter of spikelet, from which a bound makes the constant, and a value of a framework.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relation {
    /// The relation of the constants.
    pub formula: Formula,
    /// The bound of the constant in spikelet.
    pub bound: Bound,
}

impl Relation {
    /// The relation of parameters of the same value.
    pub(super) const SAME: Self = Self {
        formula: Formula::Same,
        bound: Bound::None,
    };

    /// The value in the framework for a parameter. A bound that clamps does so in both.
    pub(super) fn theirs(&self, parameter: f64) -> f64 {
        self.formula.theirs(match self.bound {
            Bound::Clamp { .. } | Bound::Project { .. } => parameter,
            bound => bound.value(parameter),
        })
    }

    /// The parameter for a value in the framework.
    ///
    /// # Errors
    /// The value of the constant, if the bound excludes it.
    pub(super) fn ours(&self, theirs: f64) -> Result<f64, f64> {
        let value = self.formula.ours(theirs);
        match self.bound {
            Bound::Clamp { .. } | Bound::Project { .. } => Ok(value),
            bound => bound.invert(value).map_err(|_| value),
        }
    }

    /// The value in the framework for a value of the constant.
    pub(super) fn of_constant(&self, constant: f64) -> f64 {
        self.formula.theirs(constant)
    }
}

/// The names and constants of a neuron in a framework.
#[derive(Clone, Debug, Default)]
pub(super) struct NeuronRules {
    /// Its class there.
    pub class: &'static str,
    pub values: Vec<ValueRule>,
    /// Entries that are the same for all neurons of the class, such as the kind of the reset.
    pub fixed: Vec<(&'static str, Tensor)>,
    /// The steps of the mask of a parallel neuron.
    pub window: Option<usize>,
    /// Whether the framework has it only with weights of feedback.
    pub needs_feedback: bool,
    /// Where the two differ.
    pub note: Option<&'static str>,
}

impl NeuronRules {
    pub fn new(class: &'static str) -> Self {
        Self {
            class,
            ..Self::default()
        }
    }

    /// A parameter that both train, of the same name and value.
    #[must_use]
    pub fn parameter(mut self, name: &'static str) -> Self {
        self.values.push(ValueRule {
            ours: name,
            theirs: name,
            constant: None,
            stored: true,
            relation: Relation::SAME,
        });
        self
    }

    /// Several of these.
    #[must_use]
    pub fn parameters(self, names: &[&'static str]) -> Self {
        names.iter().fold(self, |rules, name| rules.parameter(name))
    }

    /// A constant that the framework stores, whether it is trained or not; `None` if the neuron has no such field.
    pub fn stored(
        self,
        neuron: &dyn Neuron,
        ours: &'static str,
        theirs: &'static str,
        formula: Formula,
    ) -> Option<Self> {
        self.constant(neuron, ours, theirs, formula, true)
    }

    /// A constant that the framework stores if it is trained; `None` if the neuron has no such field.
    pub fn trained(
        self,
        neuron: &dyn Neuron,
        ours: &'static str,
        theirs: &'static str,
        formula: Formula,
    ) -> Option<Self> {
        self.constant(neuron, ours, theirs, formula, false)
    }

    /// Constants of the same name and value, which the framework stores.
    pub fn same(self, neuron: &dyn Neuron, names: &[&'static str]) -> Option<Self> {
        let stored =
            |rules: Self, name: &&'static str| rules.stored(neuron, name, name, Formula::Same);
        names.iter().try_fold(self, stored)
    }

    fn constant(
        mut self,
        neuron: &dyn Neuron,
        ours: &'static str,
        theirs: &'static str,
        formula: Formula,
        stored: bool,
    ) -> Option<Self> {
        let trained = neuron.common().trainable.get(ours);
        let bound = trained.map_or(Bound::None, |how| how.bound);
        self.values.push(ValueRule {
            ours,
            theirs,
            constant: Some(number(neuron, ours)?),
            stored,
            relation: Relation { formula, bound },
        });
        Some(self)
    }

    /// An entry with a fixed value.
    #[must_use]
    pub fn fixed(mut self, theirs: &'static str, value: Tensor) -> Self {
        self.fixed.push((theirs, value));
        self
    }

    #[must_use]
    pub fn note(mut self, note: &'static str) -> Self {
        self.note = Some(note);
        self
    }
}

/// The value of a field of a neuron.
pub(super) fn number(neuron: &dyn Neuron, field: &str) -> Option<f64> {
    let mut all = spikelet_schema::domains(neuron).into_iter();
    all.find(|(name, ..)| *name == field)
        .map(|(_, value, _)| value)
}

/// Whether a field of a neuron is set.
pub(super) fn flag(neuron: &dyn Neuron, field: &str) -> bool {
    neuron.get(field) == Some(&true)
}

/// A single number, F32.
pub(super) fn scalar(value: f64) -> Tensor {
    element(
        spikelet_weights::Dtype::F32,
        (value as f32).to_le_bytes().to_vec(),
    )
}

/// A single integer, I64.
pub(super) fn integer(value: i64) -> Tensor {
    element(spikelet_weights::Dtype::I64, value.to_le_bytes().to_vec())
}

/// A tensor, F32, of as many values as the shape has.
pub(super) fn matrix(shape: &[usize], values: &[f32]) -> Tensor {
    Tensor::from_f32(shape, values).expect("as many values as the shape has")
}

fn element(dtype: spikelet_weights::Dtype, bytes: Vec<u8>) -> Tensor {
    Tensor::new(dtype, vec![], bytes).expect("the bytes of one element")
}
