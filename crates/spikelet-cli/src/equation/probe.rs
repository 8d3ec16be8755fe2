//! A neuron that behaves like another one, with H and S as symbols.

use spikelet::expr::Expr;
use spikelet::neuron::{Common, Neuron, Param, Scope, Share, State};
use spikelet::surrogate::Surrogate;
use std::sync::{Arc, Mutex, MutexGuard};

/// The potential after charging.
pub const H: &str = "H";
/// What comes out.
pub const S: &str = "S";
/// The surrogate's primitive at the place where the neuron uses it.
const G: &str = "g";
/// The engine's symbol for the draws of a surrogate that fires at random.
pub const NOISE: &str = "noise";

/// Whether a parameter of the probe is one of its symbols.
pub fn is_symbol(name: &str) -> bool {
    [H, S, G].contains(&name)
}

/// What the probe has seen while its step was derived.
#[derive(Clone, Debug)]
pub struct Seen {
    /// H as the neuron writes it.
    pub charge: Expr,
    primitive: String,
}

impl Seen {
    /// The primitive with its argument.
    pub fn resolve(&self, expr: &Expr) -> Expr {
        expr.substitute(&|name| (name == G).then(|| Expr::symbol(&self.primitive)))
    }
}

type Shared = Arc<Mutex<Seen>>;

fn open(seen: &Shared) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The neuron with its symbols; they are declared as parameters, so that the engine knows them.
#[derive(Debug)]
pub struct Probe<'a> {
    neuron: &'a dyn Neuron,
    common: Common,
    seen: Shared,
}

impl<'a> Probe<'a> {
    /// A probe into a neuron.
    pub fn new(neuron: &'a dyn Neuron) -> Self {
        let seen = Arc::new(Mutex::new(Seen {
            charge: Expr::symbol(H),
            primitive: G.to_string(),
        }));
        let mut common = neuron.common().clone();
        common.surrogate = Arc::new(Symbolic {
            surrogate: common.surrogate.clone(),
            seen: seen.clone(),
        });
        Self {
            neuron,
            common,
            seen,
        }
    }

    /// What was seen so far.
    pub fn seen(&self) -> Seen {
        open(&self.seen).clone()
    }
}

impl Neuron for Probe<'_> {
    fn name(&self) -> &str {
        self.neuron.name()
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn states(&self) -> Vec<State> {
        self.neuron.states()
    }

    fn params(&self) -> Vec<Param> {
        let symbols = [H, S, G].map(|name| Param {
            name,
            init: 0.0,
            share: Share::Layer,
        });
        self.neuron.params().into_iter().chain(symbols).collect()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        open(&self.seen).charge = self.neuron.charge(n, x);
        Expr::symbol(H)
    }

    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        self.neuron.fire(n, h)
    }

    fn reset(&self, n: &Scope, h: &Expr, _: &Expr) -> Expr {
        self.neuron.reset(n, h, &Expr::symbol(S))
    }
}

/// A surrogate whose derivative and primitive are symbols.
#[derive(Debug)]
struct Symbolic {
    surrogate: Arc<dyn Surrogate>,
    seen: Shared,
}

impl Surrogate for Symbolic {
    fn derivative(&self, x: &Expr) -> Expr {
        Expr::symbol(format!("g′({x})"))
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        self.surrogate.primitive(x)?;
        open(&self.seen).primitive = format!("g({x})");
        Some(Expr::symbol(G))
    }

    fn forward(&self, x: &Expr, noise: &Expr) -> Expr {
        self.surrogate.forward(x, noise)
    }

    fn needs_noise(&self) -> bool {
        self.surrogate.needs_noise()
    }

    fn is_binary(&self) -> bool {
        self.surrogate.is_binary()
    }
}
