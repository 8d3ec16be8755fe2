//! The solution of the membrane's equations between two events.
//!
//! ```text
//! τ_m V' = −V + I,  τ_s I' = −I
//! V(t) = V(0)·e + I(0)·c,  I(t) = I(0)·g
//! e = exp(−t/τ_m),  g = exp(−t/τ_s),  c = τ_s/(τ_s − τ_m)·(g − e)
//! ```
//!
//! c is the postsynaptic potential of a current of 1. For small x = t/τ_m − t/τ_s, where g − e would lose digits, it
//! is computed as t/τ_m·e·(exp(x) − 1)/x, which has no singularity: τ_m = τ_s gives the alpha function t/τ·exp(−t/τ).

use crate::error::{Result, positive};

/// The time constants of a membrane with exponential synapses, in one unit of time (say ms), both > 0.
/// They may be equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeConstants {
    /// Membrane time constant.
    pub tau_m: f64,
    /// Synaptic time constant.
    pub tau_s: f64,
}

/// The factors of the solution over a span of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decay {
    /// exp(−t/τ_m)
    pub e: f64,
    /// exp(−t/τ_s)
    pub g: f64,
    /// The potential after a current of 1 at the span's begin.
    pub c: f64,
}

impl TimeConstants {
    /// Checks the constants.
    ///
    /// # Errors
    /// When one is not finite or not greater than 0.
    pub fn check(&self) -> Result<()> {
        let help = "give time constants in the unit of the spike times, such as 20 and 5 ms";
        positive("tau_m", self.tau_m, help)?;
        positive("tau_s", self.tau_s, help)?;
        Ok(())
    }

    /// The factors over a span of length `t` ≥ 0.
    #[inline]
    pub(crate) fn over(&self, t: f64) -> Decay {
        let (m, s) = (t / self.tau_m, t / self.tau_s);
        let e = (-m).exp();
        let x = m - s;
        if x.abs() >= 0.5 {
            let g = (-s).exp();
            return Decay {
                e,
                g,
                c: m * (g - e) / x,
            };
        }
        let grown = x.exp_m1();
        let ratio = if x == 0.0 { 1.0 } else { grown / x };
        Decay {
            e,
            g: e * grown + e,
            c: m * e * ratio,
        }
    }

    /// The postsynaptic potential of a spike of weight 1, `t` ≥ 0 after it.
    ///
    /// ```
    /// use spikelet_eventprop::TimeConstants;
    /// let alpha = TimeConstants { tau_m: 10.0, tau_s: 10.0 };
    /// assert!((alpha.psp(10.0) - (-1.0_f64).exp()).abs() < 1e-15);
    /// ```
    pub fn psp(&self, t: f64) -> f64 {
        self.over(t).c
    }

    /// The time at which a rising potential (`i` > `v`, `i` > 0) has its only maximum, where V = I.
    /// Infinite for a potential without a maximum.
    ///
    /// V' = 0 where exp(t/τ_m − t/τ_s) = 1 + y, y = (τ_s − τ_m)(I − V)/(τ_m I).
    pub(crate) fn peak(&self, v: f64, i: f64) -> f64 {
        let q = (i - v) / (i * self.tau_m);
        let y = (self.tau_s - self.tau_m) * q;
        if y <= -1.0 {
            return f64::INFINITY;
        }
        let ratio = if y == 0.0 { 1.0 } else { y.ln_1p() / y };
        self.tau_m * self.tau_s * q * ratio
    }
}

impl Decay {
    /// The potential at the end of the span.
    #[inline]
    pub(crate) fn potential(&self, v: f64, i: f64) -> f64 {
        v * self.e + i * self.c
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_time_constants_are_the_limit_of_unequal_ones() {
        let at = |tau_s| TimeConstants { tau_m: 10.0, tau_s }.over(7.0);
        let (equal, near) = (at(10.0), at(10.0 * (1.0 + 1e-9)));
        assert!((equal.c - near.c).abs() < 1e-9 && (equal.g - near.g).abs() < 1e-9);
        assert!((equal.c - 0.7 * (-0.7_f64).exp()).abs() < 1e-15);
    }

    #[test]
    fn the_factors_are_those_of_the_difference_of_exponentials() {
        for (tau_m, tau_s, t) in [
            (20.0, 5.0, 3.0),
            (5.0, 20.0, 50.0),
            (1.0, 100.0, 90.0),
            (100.0, 1.0, 90.0),
        ] {
            let found = TimeConstants { tau_m, tau_s }.over(t);
            let (e, g): (f64, f64) = ((-t / tau_m).exp(), (-t / tau_s).exp());
            assert!((found.g - g).abs() < 1e-15);
            assert!((found.c - tau_s / (tau_s - tau_m) * (g - e)).abs() < 1e-14);
        }
    }

    #[test]
    fn at_the_peak_the_potential_equals_the_current() {
        for (tau_m, tau_s, v, i) in [
            (20.0, 5.0, 0.3, 2.0),
            (5.0, 20.0, -0.4, 1.5),
            (8.0, 8.0, 0.0, 3.0),
        ] {
            let tau = TimeConstants { tau_m, tau_s };
            let d = tau.over(tau.peak(v, i));
            assert!((d.potential(v, i) - i * d.g).abs() < 1e-13);
        }
    }
}
