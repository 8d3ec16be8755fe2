//! The domains of constants.

use std::fmt;

/// The domain of a constant: finite values, optionally between limits.
///
/// ```
/// use spikelet_schema::Domain;
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

    /// The integers of this domain.
    #[must_use]
    pub const fn integers(mut self) -> Self {
        self.whole = true;
        self
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

    /// The limits as keywords of JSON schema.
    pub(crate) fn json_schema(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let low = match self.low {
            Limit::None => None,
            Limit::Open(low) => Some(("exclusiveMinimum", low)),
            Limit::Closed(low) => Some(("minimum", low)),
        };
        let high = match self.high {
            Limit::None => None,
            Limit::Open(high) => Some(("exclusiveMaximum", high)),
            Limit::Closed(high) => Some(("maximum", high)),
        };
        low.into_iter().chain(high)
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
