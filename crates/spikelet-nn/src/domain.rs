//! The domains of constants.

pub use spikelet_schema::Domain;

use crate::DefinitionError;
use spikelet_schema::Record;
use spikelet_schema::document::{DocumentProblem, Located};
use std::fmt;

/// A constant with its value and its domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    /// Its name, as in files and on the command line.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Its domain.
    pub domain: Domain,
}

impl Constant {
    /// A constant.
    pub fn new(name: &'static str, value: f64, domain: Domain) -> Self {
        Self {
            name,
            value,
            domain,
        }
    }

    /// Checks the value. `owner` is the constant's owner, such as ``neuron `lif` ``.
    ///
    /// # Errors
    /// [`DefinitionError::Field`].
    ///
    /// ```
    /// use spikelet_nn::{Constant, Domain};
    /// let tau = Constant::new("tau", 0.5, Domain::above(1.0));
    /// let refused = tau.check("neuron `lif`").expect_err("outside");
    /// let message = "`tau` of neuron `lif` is 0.5; it must be a number above 1";
    /// assert_eq!(refused.to_string(), message);
    /// ```
    pub fn check(&self, owner: &str) -> Result<(), DefinitionError> {
        if self.domain.contains(self.value) {
            return Ok(());
        }
        let problem = DocumentProblem::WrongValue {
            key: self.name.to_string(),
            given: self.value.to_string(),
            expected: self.domain.to_string(),
        };
        Err(DefinitionError::of(
            owner.to_string(),
            Located::new(problem),
        ))
    }

    /// The numbers of a declared value with their domains.
    pub fn all(record: &dyn Record) -> Vec<Self> {
        let declared = spikelet_schema::domains(record).into_iter();
        declared
            .map(|(name, value, domain)| Self::new(name, value, domain))
            .collect()
    }
}

/// The help of errors about values outside their domain.
pub const HELP: &str = "choose a value in this range";

/// `tau: a number above 1`
impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.domain)
    }
}

/// Checks constants; the error names the first one outside its domain.
///
/// # Errors
/// [`DefinitionError::Field`].
pub fn check(constants: &[Constant], owner: &str) -> Result<(), DefinitionError> {
    constants.iter().try_for_each(|c| c.check(owner))
}
