//! A neuron that behaves like another one, with H and S as symbols.

use spikelet::expr::Expr;
use spikelet::neuron::{Common, Granularity, Neuron, OutputKind, Param, Scope, State};
use spikelet::schema::{Declaration, FieldValue, Record, Schema};
use spikelet::surrogate::{Sigmoid, Surrogate};
use std::sync::{Arc, Mutex, MutexGuard};

/// The potential after charging.
pub const H: &str = "H";
/// The spikes.
pub const S: &str = "S";
/// The surrogate's primitives at the places where the neuron uses it.
const G: [&str; 6] = ["g1", "g2", "g3", "g4", "g5", "g6"];
/// The engine's symbol for the random numbers of a stochastic surrogate.
pub const NOISE: &str = "noise";

/// Whether a parameter of the probe is one of its symbols.
pub fn is_symbol(name: &str) -> bool {
    name == H || name == S || G.contains(&name)
}

/// The record of the probe during the derivation of its step.
#[derive(Clone, Debug)]
pub struct Seen {
    /// H as the neuron writes it.
    pub charge: Expr,
    /// S, from H; 0 of a neuron that does not fire.
    pub fire: Expr,
    /// The arguments of the surrogate, from H.
    pub arguments: Vec<Expr>,
}

impl Seen {
    /// The record before the derivation.
    fn shared() -> Shared {
        Arc::new(Mutex::new(Self {
            charge: Expr::symbol(H),
            fire: Expr::constant(0.0),
            arguments: vec![],
        }))
    }

    /// The primitives with their arguments.
    pub fn resolve(&self, expr: &Expr) -> Expr {
        expr.substitute(&|name| {
            let argument = G.iter().position(|g| *g == name)?;
            Some(Expr::symbol(primitive_of(self.arguments.get(argument)?)))
        })
    }

    /// The index of an argument of the surrogate.
    fn place_of(&mut self, x: &Expr) -> usize {
        let known = self.arguments.iter().position(|a| a.same_value(x));
        known.unwrap_or_else(|| {
            self.arguments.push(x.clone());
            self.arguments.len() - 1
        })
    }
}

/// `g(H - 1)`
pub fn primitive_of(argument: &Expr) -> String {
    format!("g({argument})")
}

/// `g′(H - 1)`
pub fn derivative_of(argument: &Expr) -> String {
    format!("g′({argument})")
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
    /// A probe of a neuron.
    pub fn new(neuron: &'a dyn Neuron) -> Self {
        let seen = Seen::shared();
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

    /// The record so far.
    pub fn seen(&self) -> Seen {
        open(&self.seen).clone()
    }
}

/// Its constants are those of the neuron.
impl Record for Probe<'_> {
    fn declaration(&self) -> &'static Declaration {
        self.neuron.declaration()
    }

    fn field(&self, index: usize) -> &dyn FieldValue {
        self.neuron.field(index)
    }
}

impl Neuron for Probe<'_> {
    fn name(&self) -> &str {
        self.neuron.name()
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn states(&self) -> Vec<State> {
        self.neuron.states()
    }

    fn params(&self) -> Vec<Param> {
        let symbols = [H, S]
            .into_iter()
            .chain(G)
            .map(|name| Param::new(name, 0.0, Granularity::Layer));
        self.neuron.params().into_iter().chain(symbols).collect()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let charge = self.neuron.charge(n, x);
        open(&self.seen).charge = charge;
        Expr::symbol(H)
    }

    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        let fire = self.neuron.fire(n, h);
        open(&self.seen).fire = fire;
        Expr::symbol(S)
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        self.neuron.reset(n, h, s)
    }

    fn output(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        self.neuron.output(n, h, s)
    }

    fn output_kind(&self) -> OutputKind {
        self.neuron.output_kind()
    }
}

/// A surrogate whose derivative and primitive are symbols.
#[derive(Debug, Schema)]
#[schema(crate = spikelet::schema)]
struct Symbolic {
    #[schema(skip, default = Arc::new(Sigmoid::default()))]
    surrogate: Arc<dyn Surrogate>,
    #[schema(skip, default = Seen::shared())]
    seen: Shared,
}

impl Surrogate for Symbolic {
    fn derivative(&self, x: &Expr) -> Expr {
        open(&self.seen).place_of(x);
        Expr::symbol(derivative_of(x))
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        self.surrogate.primitive(x)?;
        let place = open(&self.seen).place_of(x);
        G.get(place).map(Expr::symbol)
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
