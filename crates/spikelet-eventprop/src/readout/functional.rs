//! Functionals of a potential over time.

use crate::membrane::TimeConstants;

/// What a readout computes of the potential V(t), 0 ≤ t ≤ t_end.
///
/// With a weighting w(t), y = ∫ w V dt. A spike of weight ω at time t contributes ω·K(t) with
/// K(t) = ∫ w(s) ε(s − t) ds, so that dy/dω = K and dy/dt = ω (K − J)/τ_m with J(t) = ∫ w(s) exp(−(s − t)/τ_s) ds,
/// since τ_m ε' = −ε + exp(−t/τ_s). With g = dL/dy the adjoint variables are λ_I = −g K/τ_s and
/// λ_V = λ_I + g (K − J)/τ_m.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Functional {
    /// The mean over time: w = 1/t_end.
    Mean,
    /// The integral over time: w = 1.
    Sum,
    /// A mean that prefers early times: w ∝ exp(−t/tau), with the integral 1.
    ExponentialMean {
        /// Its time constant, > 0.
        tau: f64,
    },
    /// The potential at the end.
    Last,
    /// The maximum; at least 0, the potential at t = 0, where its derivative is 0. Where an inhibitory spike ends
    /// the rise, the derivative has that spike's time in it.
    Maximum,
}

impl Functional {
    /// K and J for a spike at `t`; those of the maximum depend on the neuron.
    pub(super) fn kernels(&self, tau: &TimeConstants, t: f64, t_end: f64) -> (f64, f64) {
        let u = (t_end - t).max(0.0);
        let decay = tau.over(u);
        // ∫ ε over u: from τ_m ε' = −ε + exp(−t/τ_s).
        let current = -tau.tau_s * (-u / tau.tau_s).exp_m1();
        let sum = (current - tau.tau_m * decay.c, current);
        match self {
            Functional::Sum => sum,
            Functional::Mean => (sum.0 / t_end, sum.1 / t_end),
            Functional::ExponentialMean { tau: tau_w } => {
                let norm = -tau_w * (-t_end / tau_w).exp_m1();
                let rate = 1.0 / tau.tau_s + 1.0 / tau_w;
                let current = -(-u * rate).exp_m1() / rate;
                let left = tau.tau_m * decay.c * (-u / tau_w).exp();
                let potential = (current - left) / (1.0 + tau.tau_m / tau_w);
                let scale = (-t / tau_w).exp() / norm;
                (potential * scale, current * scale)
            }
            Functional::Last => (decay.c, decay.g),
            Functional::Maximum => (0.0, 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// K and J by the midpoint rule.
    fn integrated(
        tau: &TimeConstants,
        t: f64,
        t_end: f64,
        weight: impl Fn(f64) -> f64,
    ) -> (f64, f64) {
        let (steps, u) = (20_000, t_end - t);
        let h = u / steps as f64;
        (0..steps).fold((0.0, 0.0), |(k, j), n| {
            let s = (n as f64 + 0.5) * h;
            let d = tau.over(s);
            (k + h * weight(t + s) * d.c, j + h * weight(t + s) * d.g)
        })
    }

    #[test]
    fn kernels_are_the_integrals_of_the_response() {
        let t_end = 30.0;
        for tau in [
            TimeConstants {
                tau_m: 20.0,
                tau_s: 5.0,
            },
            TimeConstants {
                tau_m: 7.0,
                tau_s: 7.0,
            },
        ] {
            let norm = 12.0 * (1.0 - (-t_end / 12.0_f64).exp());
            let mean = |_| 1.0 / 30.0;
            let exponential = |t: f64| (-t / 12.0).exp() / norm;
            let agree = |functional: Functional, expected: (f64, f64)| {
                let found = functional.kernels(&tau, 4.0, t_end);
                assert!((found.0 - expected.0).abs() < 1e-7, "{functional:?}");
                assert!((found.1 - expected.1).abs() < 1e-7, "{functional:?}");
            };
            agree(Functional::Mean, integrated(&tau, 4.0, t_end, mean));
            agree(Functional::Sum, integrated(&tau, 4.0, t_end, |_| 1.0));
            let functional = Functional::ExponentialMean { tau: 12.0 };
            agree(functional, integrated(&tau, 4.0, t_end, exponential));
        }
    }
}
