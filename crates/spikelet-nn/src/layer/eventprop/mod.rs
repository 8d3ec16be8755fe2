//! EventProp on a grid: layers whose backward pass is the adjoint of the continuous network, not the derivative of
//! its discretization.
//!
//! Forward, step k of length dt (exponential Euler), `al = exp(−dt/τ_m)`, `be = exp(−dt/τ_s)`:
//!
//! ```text
//! V = al·V + (1 − al)·τ_s/dt·(1 − be)·X;  s = V ≥ ϑ;  V = 0 where s;  X = be·X + w·spikes
//! ```
//!
//! A spike of step k acts from step k + 1. Backward, with `c = τ_s/(τ_s − τ_m)·(be − al)` and D = −dL/dV·1/dt:
//!
//! ```text
//! dL/dw −= τ_s·λ_I of the target, for each spike;  dL/dt of a source = Σ w (λ_V − λ_I)
//! λ_I = D + (λ_I − D)·be + τ_m/τ_s·c·(λ_V − D);  λ_V = D + (λ_V − D)·al
//! λ_V += (ϑ·λ_V + dL/dt)/(X − V) where s
//! ```
//!
//! It is not the gradient of the discrete network, which has none through the times of spikes; it tends to the exact
//! gradient linearly in dt, as long as the grid keeps the order of spikes. Finite differences of the discrete network
//! cannot check it.
//!
//! The layers are built from expressions whose derivatives are given ([`Expr::custom_gradient`]). Adjoints of V and X
//! are −τ_m λ_V and −τ_s λ_I. A weight and a spike time need different adjoints of one product, so that a product
//! appears twice: with the spikes, and with the weights, detached. The adjoint of a spike is **dL/dt of that spike**:
//! a loss of spikes must have that meaning, as [`first_spike_time`](FirstSpikeTime) has it.
//!
//! Spikes are a dense sequence `[T, N, H]`: there is no buffer that could be full.
//!
//! Source: Wunderlich and Pehle, Scientific Reports 11, 2021; Nowotny, Turner and Knight, Loss shaping enhances exact
//! gradient learning with EventProp in spiking neural networks, 2022; the compiler `EventPropCompiler` of ml_genn.

use crate::domain::{Constant, Domain};
use crate::module::Context;
use crate::network::kind::layers;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_schema::Schema;

layers! {
    mod lif: EventPropLif => EventPropLifKeys;
    mod readout: EventPropReadout => EventPropReadoutKeys;
    mod first_spike: FirstSpikeTime;
}

/// The constants of a membrane with exponential synapses on a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventPropTime {
    /// Membrane time constant, > 0.
    pub tau_m: f64,
    /// Synaptic time constant, > 0, in the unit of `tau_m`. It may be equal to it.
    pub tau_s: f64,
    /// Length of a step, > 0, in the same unit.
    pub dt: f64,
}

impl EventPropTime {
    /// Checks the constants.
    fn check(&self, cx: &Context, what: &str) -> Result<()> {
        let positive = |name, value| Constant::new(name, value, Domain::above(0.0));
        let all = [
            positive("tau_m", self.tau_m),
            positive("tau_s", self.tau_s),
            positive("dt", self.dt),
        ];
        cx.expect_domains(what, &all)
    }

    fn factors(&self) -> Factors {
        let (m, s) = (self.dt / self.tau_m, self.dt / self.tau_s);
        let (al, be) = ((-m).exp(), (-s).exp());
        let x = m - s;
        // For x → 0 the quotient tends to 1: equal time constants.
        let ratio = if x == 0.0 { 1.0 } else { x.exp_m1() / x };
        Factors {
            al,
            be,
            c: m * al * ratio,
            charge: -(-m).exp_m1() * -(-s).exp_m1() / s,
            tau_m: self.tau_m,
            tau_s: self.tau_s,
            dt: self.dt,
        }
    }
}

/// The factors of a step.
#[derive(Clone, Copy)]
struct Factors {
    al: f64,
    be: f64,
    /// The potential after a step from a current of 1, exactly.
    c: f64,
    /// The same by exponential Euler, which the forward pass uses.
    charge: f64,
    tau_m: f64,
    tau_s: f64,
    dt: f64,
}

impl Factors {
    /// V before firing.
    fn charged(&self, v: &Expr, x: &Expr) -> Expr {
        self.al * v + self.charge * x
    }

    /// The next current, with the adjoints that reach the weights (`weights`) and the spikes (`spikes`) of its input.
    fn next_current(&self, x: &Expr, weights: &Expr, spikes: &Expr) -> Expr {
        let value = self.be * x + weights;
        Expr::custom_gradient(value, self.be * x + weights + spikes / self.tau_s)
    }

    /// The next potential with the adjoints of `v` (times `decay`), `x` and the spikes of the input.
    fn next_potential(&self, value: Expr, decay: Expr, [v, x, spikes]: [&Expr; 3]) -> Expr {
        let tangent = decay.detach() * v + self.c * x - spikes / self.tau_m;
        Expr::custom_gradient(value, tangent)
    }
}

/// A product of which `weights` has the gradient of the matrix and `spikes` that of the other factor.
struct Product {
    weights: Var,
    spikes: Var,
}

impl Product {
    fn new(x: &Var, weight: &Var) -> Self {
        Self {
            weights: x.detach().linear(weight),
            spikes: x.linear(&weight.detach()),
        }
    }
}

/// The constants of time.
#[derive(Debug, Schema)]
struct TimeKeys {
    /// The time constant of the membrane, above 0.
    #[schema(default = 20.0, above = 0)]
    tau_m: f64,
    /// The time constant of the synapses, above 0, in the same unit.
    #[schema(default = 5.0, above = 0)]
    tau_s: f64,
    /// The length of a step, above 0, in the same unit.
    #[schema(default = 1.0, above = 0)]
    dt: f64,
}

impl From<&TimeKeys> for EventPropTime {
    fn from(keys: &TimeKeys) -> Self {
        Self {
            tau_m: keys.tau_m,
            tau_s: keys.tau_s,
            dt: keys.dt,
        }
    }
}
