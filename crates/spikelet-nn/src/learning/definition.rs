//! A rule's equations, and the way in which they are computed.

use super::factors::Factors;
use super::scope::{Declared, POST, PRE, RuleScope, Side, Trace, WEIGHT};
use super::terms::{Class, Product, separate};
use super::{LearningError, LearningRule};
use spikelet_expr::Expr;

/// A sum of products, or an expression of the values of each synapse and sample.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Products(Vec<Term>),
    /// Computed for each synapse and sample.
    Dense(Expr),
}

/// A product: a value shared by all samples, times the sum over samples of one factor of each neuron, or times a trace
/// that is summed over the samples.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) shared: Expr,
    /// The indices of the factors of the two neurons; `None` for a term without.
    pub(super) factors: Option<[usize; 2]>,
    /// The name of a summed trace.
    pub(super) summed: Option<String>,
}

/// A rule that is ready to be traced.
pub(super) struct Definition {
    /// The values of the postsynaptic neuron, apart from its spike.
    pub(super) values: Vec<String>,
    /// All traces, in order of definition.
    pub(super) traces: Vec<Trace>,
    /// The factors of the presynaptic and the postsynaptic neuron.
    pub(super) factors: [Factors; 2],
    /// The change.
    pub(super) change: Form,
    /// The next values of the traces of synapses, in order of definition.
    pub(super) synapse_next: Vec<Form>,
}

/// A rule's equations.
pub(super) struct Equations {
    rule: &'static str,
    change: Expr,
    pub(super) declared: Declared,
}

impl Equations {
    pub(super) fn of(rule: &dyn LearningRule) -> Result<Self, LearningError> {
        let scope = RuleScope::new(rule.name());
        let change = rule.change(&scope);
        Ok(Self {
            rule: rule.name(),
            change,
            declared: scope.finish()?,
        })
    }
}

impl Definition {
    /// `global` are the signals with one value a step, for all samples.
    pub(super) fn new(equations: Equations, global: &[&str]) -> Result<Self, LearningError> {
        let Equations {
            rule,
            change,
            declared,
        } = equations;
        let Declared {
            traces,
            signals,
            values,
        } = declared;
        let given = signals
            .iter()
            .copied()
            .chain(values.iter().map(String::as_str));
        check_symbols(rule, &traces, &change, &given.collect::<Vec<_>>())?;
        let synapse: Vec<&Trace> = traces.iter().filter(|t| t.side == Side::Synapse).collect();
        let separated = Separation {
            traces: &traces,
            synapse: &synapse,
            signals: &signals,
            values: &values,
            global,
        };
        let mut factors = [Factors::default(), Factors::default()];
        let (change, synapse_next) = match separated.products(&change) {
            Some((change, next)) => {
                let mut form = |products: Vec<Product>| {
                    Form::Products(products.iter().map(|p| term(p, &mut factors)).collect())
                };
                let change = form(change);
                (change, next.into_iter().map(form).collect())
            }
            None => {
                let all = std::iter::once(&change).chain(synapse.iter().map(|t| &t.next));
                for name in all.flat_map(Expr::symbols) {
                    match separated.side_of(&name) {
                        Some(Side::Pre) => factors[0].index(&Expr::symbol(&name)),
                        Some(Side::Post) => factors[1].index(&Expr::symbol(&name)),
                        _ => 0,
                    };
                }
                let next = synapse.iter().map(|t| Form::Dense(t.next.clone()));
                (Form::Dense(change.clone()), next.collect())
            }
        };
        Ok(Self {
            values,
            factors,
            change,
            synapse_next,
            traces,
        })
    }

    /// The traces of synapses.
    pub(super) fn synapse_traces(&self) -> impl Iterator<Item = &Trace> {
        self.traces.iter().filter(|t| t.side == Side::Synapse)
    }

    /// Whether the change and each trace of synapses have a value for each sample.
    pub(super) fn is_by_sample(&self) -> bool {
        matches!(self.change, Form::Dense(_))
    }

    /// Whether the change over time is one sum of products over all steps and samples, while the weight does not change.
    pub(super) fn sums_over_time(&self) -> bool {
        let summed = |terms: &[Term]| terms.iter().all(|term| term.factors.is_some());
        self.synapse_next.is_empty()
            && matches!(&self.change, Form::Products(terms) if summed(terms))
    }
}

/// The separation of a rule's equations into products.
struct Separation<'a> {
    traces: &'a [Trace],
    synapse: &'a [&'a Trace],
    signals: &'a [&'static str],
    values: &'a [String],
    global: &'a [&'a str],
}

impl Separation<'_> {
    /// The side of a value in the equations of synapses; `None` for values of the synapses.
    fn side_of(&self, name: &str) -> Option<Side> {
        if self.signals.contains(&name) || self.values.iter().any(|value| value == name) {
            // In the form of the other values of a sample.
            return Some(Side::Post);
        }
        match name {
            PRE => Some(Side::Pre),
            POST => Some(Side::Post),
            _ => {
                let found = self.traces.iter().find(|t| t.name == name)?;
                Some(found.side).filter(|side| *side != Side::Synapse)
            }
        }
    }

    /// The change and the next values of the traces of synapses as sums of products; `None` if some of them need a
    /// value for each synapse and sample.
    fn products(&self, change: &Expr) -> Option<(Vec<Product>, Vec<Vec<Product>>)> {
        let shared = self.shared_traces();
        let class = |name: &str| match self.side_of(name) {
            Some(Side::Post) if !self.synapse.is_empty() && self.global.contains(&name) => {
                Class::Shared
            }
            Some(Side::Pre) => Class::Pre,
            Some(_) => Class::Post,
            None if self.synapse.iter().any(|t| t.name == name) && !shared.contains(&name) => {
                Class::Summed
            }
            None => Class::Shared,
        };
        let change = separate(change, &class)?;
        let next: Option<Vec<_>> = self
            .synapse
            .iter()
            .map(|trace| {
                let products = separate(&trace.next, &class)?;
                // A term that is shared is that of each sample: a sum over samples would need their number.
                let summed = |p: &Product| is_summed(p) || shared.contains(&trace.name.as_str());
                products.iter().all(summed).then_some(products)
            })
            .collect();
        let next = next?;
        let linear = next.iter().chain([&change]).flatten().all(is_linear);
        linear.then_some((change, next))
    }

    /// The traces of synapses that depend on no neuron: they have the shape of the weight.
    fn shared_traces(&self) -> Vec<&str> {
        let mut shared: Vec<&str> = self.synapse.iter().map(|t| t.name.as_str()).collect();
        loop {
            let before = shared.len();
            let kept: Vec<&str> = self
                .synapse
                .iter()
                .filter(|t| shared.contains(&t.name.as_str()))
                .filter(|t| {
                    t.next.symbols().iter().all(|name| {
                        let known = shared.contains(&name.as_str()) || name == WEIGHT;
                        known || self.global.contains(&name.as_str())
                    })
                })
                .map(|t| t.name.as_str())
                .collect();
            shared = kept;
            if shared.len() == before {
                return shared;
            }
        }
    }
}

fn has_factors(product: &Product) -> bool {
    product.factor(Class::Pre).is_some() || product.factor(Class::Post).is_some()
}

fn is_summed(product: &Product) -> bool {
    has_factors(product) || product.factor(Class::Summed).is_some()
}

/// Whether a product with a summed trace is a multiple of it.
fn is_linear(product: &Product) -> bool {
    match product.factor(Class::Summed) {
        Some(factor) => factor.as_symbol().is_some() && !has_factors(product),
        None => true,
    }
}

fn term(product: &Product, factors: &mut [Factors; 2]) -> Term {
    let one = Expr::constant(1.0);
    let [pre, post] = [Class::Pre, Class::Post].map(|c| product.factor(c).unwrap_or(&one));
    let used = has_factors(product);
    Term {
        shared: product.factor(Class::Shared).unwrap_or(&one).clone(),
        factors: used.then(|| [factors[0].index(pre), factors[1].index(post)]),
        summed: product
            .factor(Class::Summed)
            .and_then(Expr::as_symbol)
            .map(str::to_string),
    }
}

/// Checks that the equations use values of their side only, and known ones.
fn check_symbols(
    rule: &'static str,
    traces: &[Trace],
    change: &Expr,
    given: &[&str],
) -> Result<(), LearningError> {
    let changed = ("change", Side::Synapse, change);
    let all = traces.iter().map(|t| (t.name.as_str(), t.side, &t.next));
    for (trace, side, next) in all.chain([changed]) {
        let (own, name, allowed) = match side {
            Side::Pre => (PRE, "presynaptic", "`pre`, presynaptic traces and signals"),
            Side::Post => (
                POST,
                "postsynaptic",
                "`post`, postsynaptic traces and signals",
            ),
            Side::Synapse => (
                WEIGHT,
                "synapse's",
                "`pre`, `post`, `weight`, traces and signals",
            ),
        };
        for symbol in next.symbols() {
            let symbol = symbol.as_str();
            let synapse = side == Side::Synapse;
            let known = symbol == own
                || given.contains(&symbol)
                || (synapse && [PRE, POST].contains(&symbol))
                || traces
                    .iter()
                    .any(|t| t.name == symbol && (synapse || t.side == side));
            if !known {
                return Err(LearningError::Symbol {
                    rule,
                    side: name,
                    trace: trace.to_string(),
                    symbol: symbol.to_string(),
                    allowed,
                });
            }
        }
    }
    Ok(())
}
