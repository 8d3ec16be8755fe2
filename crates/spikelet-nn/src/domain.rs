//! The domains of constants.

use crate::DefinitionError;
use std::fmt;

/// The domain of a constant: finite values, optionally between limits.
///
/// ```
/// use spikelet_nn::Domain;
/// let tau = Domain::above(1.0);
/// assert!(tau.contains(2.0) && !tau.contains(1.0) && !tau.contains(f64::NAN));
/// assert_eq!(tau.to_string(), "a number above 1");
/// assert_eq!(Domain::at_least(0.0).below(1.0).to_string(), "a number from 0 to below 1");
/// assert_eq!(Domain::whole(1, 64).to_string(), "a whole number from 1 to 64");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Domain {
    low: Limit,
    high: Limit,
    whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    None,
    /// The limit is not in the domain.
    Open(f64),
    /// The limit is in the domain.
    Closed(f64),
}

impl Domain {
    /// All finite values.
    pub const FINITE: Self = Self {
        low: Limit::None,
        high: Limit::None,
        whole: false,
    };

    /// Values above `low`.
    pub const fn above(low: f64) -> Self {
        let mut domain = Self::FINITE;
        domain.low = Limit::Open(low);
        domain
    }

    /// Values of at least `low`.
    pub const fn at_least(low: f64) -> Self {
        let mut domain = Self::FINITE;
        domain.low = Limit::Closed(low);
        domain
    }

    /// Integers from `low` to `high`, inclusive.
    pub const fn whole(low: u32, high: u32) -> Self {
        Self {
            low: Limit::Closed(low as f64),
            high: Limit::Closed(high as f64),
            whole: true,
        }
    }

    /// The same domain restricted to values below `high`.
    #[must_use]
    pub const fn below(mut self, high: f64) -> Self {
        self.high = Limit::Open(high);
        self
    }

    /// The same domain restricted to values of at most `high`.
    #[must_use]
    pub const fn at_most(mut self, high: f64) -> Self {
        self.high = Limit::Closed(high);
        self
    }

    /// Whether a value is in the domain. NaN and infinity are in no domain.
    pub fn contains(&self, value: f64) -> bool {
        let above = match self.low {
            Limit::None => true,
            Limit::Open(low) => value > low,
            Limit::Closed(low) => value >= low,
        };
        let below = match self.high {
            Limit::None => true,
            Limit::Open(high) => value < high,
            Limit::Closed(high) => value <= high,
        };
        let kind = !self.whole || value.fract() == 0.0;
        value.is_finite() && above && below && kind
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match (self.whole, self.low, self.high) {
            (true, ..) => "a whole number",
            (false, Limit::None, Limit::None) => "a finite number",
            _ => "a number",
        };
        f.write_str(kind)?;
        match (self.low, self.high) {
            (Limit::None, Limit::None) => Ok(()),
            (Limit::Open(low), Limit::None) => write!(f, " above {low}"),
            (Limit::Closed(low), Limit::None) => write!(f, " of at least {low}"),
            (Limit::None, Limit::Open(high)) => write!(f, " below {high}"),
            (Limit::None, Limit::Closed(high)) => write!(f, " of at most {high}"),
            (Limit::Open(low), Limit::Open(high)) => write!(f, " above {low} and below {high}"),
            (Limit::Open(low), Limit::Closed(high)) => {
                write!(f, " above {low} and at most {high}")
            }
            (Limit::Closed(low), Limit::Open(high)) => write!(f, " from {low} to below {high}"),
            (Limit::Closed(low), Limit::Closed(high)) => write!(f, " from {low} to {high}"),
        }
    }
}

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
    /// [`DefinitionError::OutsideDomain`].
    ///
    /// ```
    /// use spikelet_nn::{Constant, Domain};
    /// let tau = Constant::new("tau", 0.5, Domain::above(1.0));
    /// let refused = tau.check("neuron `lif`").expect_err("outside");
    /// let message = "`tau` of neuron `lif` is 0.5; it must be a number above 1";
    /// assert_eq!(refused.to_string(), message);
    /// ```
    pub fn check(&self, owner: &str) -> Result<(), DefinitionError> {
        match self.domain.contains(self.value) {
            true => Ok(()),
            false => Err(DefinitionError::OutsideDomain {
                constant: self.name.to_string(),
                owner: owner.to_string(),
                value: self.value,
                domain: self.domain,
            }),
        }
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
/// [`DefinitionError::OutsideDomain`].
pub fn check(constants: &[Constant], owner: &str) -> Result<(), DefinitionError> {
    constants.iter().try_for_each(|c| c.check(owner))
}

/// A type in which a constant can be stored.
pub trait Number: Copy {
    /// Its value.
    fn number(self) -> f64;
}

impl Number for f64 {
    fn number(self) -> f64 {
        self
    }
}

impl Number for u32 {
    fn number(self) -> f64 {
        f64::from(self)
    }
}

impl Number for usize {
    fn number(self) -> f64 {
        self as f64
    }
}

/// Defines `domains` in an `impl`: the domain of each constant after its name. `in FIELD;` at the beginning adds
/// the domains of a field.
#[macro_export]
macro_rules! domains {
    (in $inner:ident; $($name:ident: $domain:expr),* $(,)?) => {
        fn domains(&self) -> Vec<$crate::Constant> {
            let own: Vec<$crate::Constant> = vec![$($crate::domain::constant(
                stringify!($name), self.$name, $domain
            )),*];
            [self.$inner.domains(), own].concat()
        }
    };
    ($($name:ident: $domain:expr),* $(,)?) => {
        fn domains(&self) -> Vec<$crate::Constant> {
            vec![$($crate::domain::constant(stringify!($name), self.$name, $domain)),*]
        }
    };
}

pub use crate::domains;

/// A constant of any kind of number.
pub fn constant(name: &'static str, value: impl Number, domain: Domain) -> Constant {
    Constant::new(name, value.number(), domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_inside_or_outside_as_the_text_says() {
        let cases = [
            (Domain::FINITE, "a finite number", [true, true, true]),
            (Domain::above(0.0), "a number above 0", [false, true, true]),
            (
                Domain::at_least(0.0),
                "a number of at least 0",
                [true, true, true],
            ),
            (
                Domain::FINITE.below(1.0),
                "a number below 1",
                [true, true, false],
            ),
            (
                Domain::FINITE.at_most(1.0),
                "a number of at most 1",
                [true, true, true],
            ),
            (
                Domain::above(0.0).below(1.0),
                "a number above 0 and below 1",
                [false, true, false],
            ),
            (
                Domain::above(0.0).at_most(1.0),
                "a number above 0 and at most 1",
                [false, true, true],
            ),
            (
                Domain::at_least(0.0).below(1.0),
                "a number from 0 to below 1",
                [true, true, false],
            ),
            (
                Domain::whole(0, 1),
                "a whole number from 0 to 1",
                [true, false, true],
            ),
        ];
        for (domain, text, inside) in cases {
            assert_eq!(domain.to_string(), text);
            assert_eq!(
                [0.0, 0.5, 1.0].map(|x| domain.contains(x)),
                inside,
                "{text}"
            );
            for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                assert!(!domain.contains(wrong), "{text}: {wrong}");
            }
        }
    }
}
