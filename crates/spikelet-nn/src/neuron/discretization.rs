//! Discretizations of the equations of NIR's neurons, with time constants in steps.
//!
//! A quantity that decays towards a value that is constant during a step,
//! τ dy/dt = y∞ − y, is y[t] = y[t−1] + a·(y∞ − y[t−1]), with a = 1/τ (Euler) or a = 1 − e^(−1/τ) (exact).
//!
//! A potential that is charged by a current that decays too has four forms: see [`Discretization`].

use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// The way from one step to the next of a neuron that is defined by differential equations.
///
/// | | a decaying quantity | the current that charges the potential |
/// |---|---|---|
/// | `Euler` | forward Euler | of the step before |
/// | `EulerSeq` | forward Euler | of this step: snnTorch, Norse, SpikingJelly |
/// | `Exact` | exact for an input that is constant during the step | both equations are solved jointly |
/// | `ExactSeq` | exact | of this step, constant during the step |
///
/// Neurons without a current have the same equations with `Euler` and `EulerSeq`, and with `Exact` and `ExactSeq`.
///
/// ```
/// use spikelet_nn::neuron::Discretization;
/// let exact: Discretization = "exact-seq".parse()?;
/// assert_eq!(exact, Discretization::ExactSeq);
/// # Ok::<(), spikelet_schema::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
#[schema(snake_case)]
pub enum Discretization {
    /// Forward Euler: every right-hand side is taken at the step before.
    Euler,
    /// Forward Euler, the current first.
    #[default]
    EulerSeq,
    /// The exact solution of all equations for an input that is constant during the step.
    Exact,
    /// Exact solutions one after the other, the current first.
    ExactSeq,
}

impl Discretization {
    /// Whether decays are exact.
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Exact | Self::ExactSeq)
    }

    /// The share of the way to its resting value that a quantity with this time constant goes in a step.
    pub(super) fn rate(self, tau: &Expr) -> Expr {
        match self.is_exact() {
            false => 1.0 / tau,
            true => -exp_m1(&(-1.0 / tau)),
        }
    }
}

/// eˣ − 1, accurate where x is small: tanh(x/2)·(eˣ + 1).
fn exp_m1(x: &Expr) -> Expr {
    let exp = x.exp();
    Expr::custom_gradient((x * 0.5).tanh() * (&exp + 1.0), exp)
}

/// The constants of a current and of the potential that it charges.
pub(super) struct CurrentAndPotential {
    pub(super) tau_syn: Expr,
    pub(super) tau_mem: Expr,
    pub(super) r: Expr,
    pub(super) v_leak: Expr,
}

impl CurrentAndPotential {
    /// Current and potential after a step, from those before it and the value that the current decays to.
    pub(super) fn step(&self, how: Discretization, i: &Expr, v: &Expr, drive: &Expr) -> [Expr; 2] {
        let (synapse, membrane) = (how.rate(&self.tau_syn), how.rate(&self.tau_mem));
        let after = i + synapse * (drive - i);
        let charging = match how {
            Discretization::Euler => i,
            Discretization::EulerSeq | Discretization::ExactSeq => &after,
            // The potential for the current's final value; what is left of the current is added below.
            Discretization::Exact => drive,
        };
        let charged = v + membrane * ((&self.v_leak - v) + &self.r * charging);
        let h = match how {
            Discretization::Exact => charged + &self.r * (i - drive) * self.coupling(),
            _ => charged,
        };
        [after, h]
    }

    /// The potential after a step that started with a current of 1 and ends without input, with r = 1:
    /// τ_syn/(τ_syn − τ_mem)·(e^(−1/τ_syn) − e^(−1/τ_mem)), or e^(−1/τ)/τ if both are τ.
    fn coupling(&self) -> Expr {
        // e^(−1/τ_mem)/τ_mem·(e^δ − 1)/δ with δ = 1/τ_mem − 1/τ_syn keeps its digits where the time constants are
        // close to each other.
        const SMALL: f64 = 1e-4;
        let delta = 1.0 / &self.tau_mem - 1.0 / &self.tau_syn;
        let small = SMALL - delta.abs();
        // Never divides by 0, so that the derivative of the branch that is not taken is a number.
        let divisor = Expr::select(small.gt(0.0), 1.0, &delta);
        let series = 1.0 + &delta * (0.5 + &delta / 6.0);
        let growth = Expr::select(small.gt(0.0), series, exp_m1(&delta) / divisor);
        (-1.0 / &self.tau_mem).exp() / &self.tau_mem * growth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coupling(tau_syn: f64, tau_mem: f64) -> f64 {
        let constants = CurrentAndPotential {
            tau_syn: Expr::constant(tau_syn),
            tau_mem: Expr::constant(tau_mem),
            r: Expr::constant(1.0),
            v_leak: Expr::constant(0.0),
        };
        let folded = constants.coupling().as_constant();
        folded.expect("arithmetic on numbers gives a number")
    }

    #[test]
    fn the_coupling_is_continuous_where_the_time_constants_are_equal() {
        let equal = |tau: f64| (-1.0 / tau).exp() / tau;
        for tau in [1.0, 7.5, 300.0] {
            assert!((coupling(tau, tau) - equal(tau)).abs() < 1e-15);
            for apart in [1e-9, 1e-5, 1e-3] {
                let near = coupling(tau * (1.0 + apart), tau);
                assert!(
                    (near - equal(tau)).abs() < 2.0 * apart * equal(tau),
                    "{tau}, {apart}"
                );
            }
        }
        let (s, m) = (5.0_f64, 20.0_f64);
        let expected = s / (s - m) * ((-1.0 / s).exp() - (-1.0 / m).exp());
        assert!((coupling(s, m) - expected).abs() < 1e-14);
    }
}
