//! The change of weights by a rule, from the values at both ends of the synapses.

use super::definition::{Definition, Equations, Form, Term};
use super::factors::{Factors, SideValues};
use super::scope::{POST, PRE, Side, WEIGHT};
use super::{LearningError, LearningRule, PlasticSynapses};
use crate::module::Context;
use crate::neuron::unfused::kernel;
use crate::{DefinitionError, LayerProblem};
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;

/// The operands of a rule.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a trait object of a layer")]
pub struct RuleInputs<'a> {
    /// The layer that has the weights.
    pub synapses: &'a dyn PlasticSynapses,
    /// The weights.
    pub weight: &'a Var,
    /// The input of the layer, `[T, N, …]`.
    pub pre: &'a Var,
    /// The spikes of the neurons behind it, `[T, N, …]`.
    pub post: &'a Var,
    /// Other values of these neurons by name, `[T, N, …]`.
    pub values: &'a [(String, Var)],
}

/// The results of a rule.
#[derive(Clone, Debug)]
pub struct RuleResults {
    /// The change of the weights, summed over the steps.
    pub change: Var,
    /// The change in each step, `[T, …]`; only where the context [watches](Context::watches).
    pub change_seq: Option<Var>,
    /// The factors of the postsynaptic and the presynaptic neuron of each product, if the change of a matrix in one step
    /// is the sum of these products.
    factors: Option<Vec<[Var; 2]>>,
}

impl RuleResults {
    /// The weight after the change, multiplied by `lr`, without a gradient. A weight that changes is clamped to
    /// the bounds.
    ///
    /// ```
    /// use spikelet_nn::learning::{PairStdp, RuleInputs, run_rule};
    /// use spikelet_nn::prelude::*;
    /// let cx = Context::new(Mode::TRAIN, DType::F32);
    /// let weight = cx.buffer("weight", [3, 4], Init::Constant(0.5));
    /// let [pre, post] = [("pre", 4), ("post", 3)].map(|(name, n)| cx.tracer().input(name, DType::F32, [100, 8, n]));
    /// cx.step_loop_many(&[pre, post], |steps| {
    ///     let inputs = RuleInputs { synapses: &Linear::new(4, 3), weight: &weight, pre: &steps[0], post: &steps[1], values: &[] };
    ///     let made = run_rule(&cx, &PairStdp::default(), inputs)?;
    ///     Ok(vec![made.applied(&weight, 1.0, Some([0.0, 1.0])).unsqueeze(0)])
    /// })?;
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    pub fn applied(&self, weight: &Var, lr: f64, bounds: Option<[f64; 2]>) -> Var {
        let dtype = weight.ty().dtype;
        if let Some(factors) = &self.factors {
            let scaled = factors.iter().map(|[post, pre]| match lr {
                1.0 => [post.clone(), pre.clone()],
                _ => [post * lr, pre.clone()],
            });
            let scaled: Vec<[Var; 2]> = scaled.collect();
            let pairs: Vec<[&Var; 2]> = scaled.iter().map(|[post, pre]| [post, pre]).collect();
            return weight.rank_update(&pairs, bounds);
        }
        let next = weight + lr * self.change.cast(dtype);
        let next = match bounds {
            Some([low, high]) => next.clamp(low, high),
            None => next,
        };
        next.detach()
    }
}

/// Runs a rule over the steps of two sequences with the weights at the beginning. Traces are states of the current
/// module. A context that watches records them under their names.
///
/// ```
/// use spikelet_nn::learning::{PairStdp, RuleInputs, run_rule};
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let weight = cx.parameter("weight", [3, 4], Init::Constant(0.5));
/// let pre = cx.tracer().input("pre", DType::F32, [100, 8, 4]);
/// let post = cx.tracer().input("post", DType::F32, [100, 8, 3]);
/// let inputs = RuleInputs { synapses: &Linear::new(4, 3), weight: &weight, pre: &pre, post: &post, values: &[] };
/// assert_eq!(run_rule(&cx, &PairStdp::default(), inputs)?.change.shape(), [3, 4]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
///
/// # Errors
/// When a constant is outside its domain, a signal is missing or has a wrong shape, or the rule cannot be used with this
/// layer.
pub fn run_rule(
    cx: &Context,
    rule: &dyn LearningRule,
    inputs: RuleInputs<'_>,
) -> Result<RuleResults> {
    let refuse = |problem: LearningError| cx.error("learning rule", problem.into());
    check_constants(rule).map_err(|e| cx.error("learning rule", LayerProblem::Definition(e)))?;
    inputs.synapses.check().map_err(refuse)?;
    let equations = Equations::of(rule).map_err(refuse)?;
    let names = &equations.declared.signals;
    let signals = Signals::of(cx, rule.name(), names, inputs.pre).map_err(refuse)?;
    let definition = Definition::new(equations, &signals.global).map_err(refuse)?;
    if definition.is_by_sample() && !inputs.synapses.is_dense() {
        return Err(refuse(LearningError::NeedsLinear { rule: rule.name() }));
    }
    if let Some(value) = (definition.values.iter())
        .find(|name| !inputs.values.iter().any(|(known, _)| known == *name))
    {
        return Err(refuse(LearningError::NoValue {
            rule: rule.name(),
            value: value.clone(),
        }));
    }
    let side = |side, symbol, values: &Var| {
        let mut named = vec![];
        if side == Side::Post {
            let given = inputs
                .values
                .iter()
                .map(|(name, v)| (name.as_str(), v.clone()));
            named.extend(given.map(|(name, v)| (name, v.cast(cx.tracer().float()).detach())));
        }
        for (name, signal) in &signals.given {
            let ones = vec![1; values.rank() - signal.rank()];
            named.push((*name, signal.reshape([signal.shape(), &ones].concat())));
        }
        let values = SideValues {
            side,
            symbol,
            values: values.clone(),
            signals: &named,
            traces: &definition.traces,
        };
        let index = usize::from(side == Side::Post);
        values.run(cx, &definition.factors[index])
    };
    let factors = [
        side(Side::Pre, PRE, inputs.pre),
        side(Side::Post, POST, inputs.post),
    ];
    let applied = Applied {
        cx,
        inputs,
        definition: &definition,
        signals: &signals,
        factors,
    };
    let made = applied.run()?;
    cx.tracer().check()?;
    Ok(made)
}

fn check_constants(rule: &dyn LearningRule) -> std::result::Result<(), DefinitionError> {
    spikelet_schema::check(rule)
        .map_err(|error| DefinitionError::of(format!("the rule `{}`", rule.name()), error))
}

/// The signals of a rule, `[T, N]` or `[T, 1]`.
struct Signals {
    given: Vec<(&'static str, Var)>,
    /// The names of those with one value for all samples.
    global: Vec<&'static str>,
}

impl Signals {
    fn of(
        cx: &Context,
        rule: &'static str,
        names: &[&'static str],
        pre: &Var,
    ) -> std::result::Result<Self, LearningError> {
        let (mut given, mut global) = (vec![], vec![]);
        for &name in names {
            let batch = pre.dim(1);
            let (signal, time_steps) = match (cx.step_signal(name), cx.signal(name)) {
                (Some(signal), _) => (signal, pre.dim(0)),
                (None, Some(signal)) => (signal, cx.time_steps(pre.dim(0))),
                (None, None) => {
                    return Err(LearningError::NoSignal {
                        rule,
                        signal: name.to_string(),
                    });
                }
            };
            let width = match signal.shape() {
                [t] if *t == time_steps => 1,
                [t, n] if *t == time_steps && [1, batch].contains(n) => *n,
                _ => {
                    return Err(LearningError::SignalShape {
                        signal: name.to_string(),
                        given: signal.ty().clone(),
                        time_steps,
                        batch,
                    });
                }
            };
            let signal = cx.steps_of(pre.dim(0), || signal);
            if width == 1 {
                global.push(name);
            }
            given.push((name, signal.detach().reshape([pre.dim(0), width])));
        }
        Ok(Self { given, global })
    }
}

/// A rule at its synapses.
struct Applied<'a> {
    cx: &'a Context,
    inputs: RuleInputs<'a>,
    definition: &'a Definition,
    signals: &'a Signals,
    /// The factors of both neurons over time.
    factors: [Vec<Var>; 2],
}

impl Applied<'_> {
    fn run(&self) -> Result<RuleResults> {
        let (cx, definition) = (self.cx, self.definition);
        let time_steps = self.inputs.pre.dim(0);
        let weight = self.inputs.weight.cast(cx.tracer().float()).detach();
        if definition.sums_over_time() && (time_steps <= 1 || !cx.watches()) {
            let forms = std::iter::once(&definition.change);
            let made = self.evaluate(forms, &self.factors, &[(WEIGHT, weight)]);
            let change = made.into_iter().next().expect("one for each form");
            let one_step = [&[1], change.shape()].concat();
            let change_seq = cx.watches().then(|| change.reshape(one_step));
            let factors = match (
                &definition.change,
                time_steps,
                self.inputs.synapses.is_dense(),
            ) {
                (Form::Products(terms), 1, true) => self.constant_products(terms),
                _ => None,
            };
            return Ok(RuleResults {
                change,
                change_seq,
                factors,
            });
        }
        let shape = match definition.is_by_sample() {
            true => [&[self.inputs.pre.dim(1)], weight.shape()].concat(),
            false => weight.shape().to_vec(),
        };
        let names: Vec<&str> = definition
            .synapse_traces()
            .map(|t| t.name.as_str())
            .collect();
        let states: Vec<Var> = names.iter().map(|n| cx.state(n, &shape[..], 0.0)).collect();
        let tracer = cx.tracer();
        let zero = tracer.fill(tracer.float(), weight.shape(), 0.0);
        let mut carried = vec![zero];
        carried.extend(states.iter().map(|state| state.expand(&shape[..])));
        let global = self.signals.given.iter();
        let global: Vec<_> = global
            .filter(|(name, _)| self.signals.global.contains(name))
            .collect();
        let [pre, post] = &self.factors;
        let sequences: Vec<&Var> = pre
            .iter()
            .chain(post)
            .chain(global.iter().map(|(_, signal)| signal))
            .collect();
        let body = |carried: &[Var], pieces: &[Var]| {
            let (pre_now, rest) = pieces.split_at(pre.len());
            let (post_now, signals_now) = rest.split_at(post.len());
            let factors = [pre_now.to_vec(), post_now.to_vec()];
            let mut known = vec![(WEIGHT, weight.clone())];
            let signals = global.iter().zip(signals_now);
            // [1] broadcasts to any weight.
            known.extend(signals.map(|((name, _), now)| (*name, now.reshape([1]))));
            known.extend(names.iter().copied().zip(carried[1..].iter().cloned()));
            let forms = std::iter::once(&definition.change).chain(&definition.synapse_next);
            let made = self.evaluate(forms, &factors, &known);
            let mut made = made.into_iter().map(|value| value.expand(&shape[..]));
            let change = made.next().expect("that of the weights is the first");
            let change = match definition.is_by_sample() {
                true => change.sum(&[0]),
                false => change,
            };
            let mut after = vec![&carried[0] + &change];
            after.extend(made);
            let mut stacked = vec![];
            if cx.watches() {
                let recorded = std::iter::once(&change).chain(&after[1..]);
                stacked = recorded
                    .map(|v| v.reshape([&[1], v.shape()].concat()))
                    .collect();
            }
            (after, stacked)
        };
        let (carried, stacked) = match time_steps {
            1 => {
                // A factor of a single step is its own piece.
                let pieces: Vec<Var> = sequences.into_iter().cloned().collect();
                body(&carried, &pieces)
            }
            _ => {
                let carried: Vec<&Var> = carried.iter().collect();
                let made =
                    tracer.scan_loop(time_steps, &carried, &sequences, |carried, pieces| {
                        Ok(body(carried, pieces))
                    })?;
                (made.carried, made.stacked)
            }
        };
        for (state, last) in states.iter().zip(&carried[1..]) {
            cx.set_state(state, last);
        }
        let mut stacked = stacked.into_iter();
        let change_seq = stacked.next();
        for (name, sequence) in names.iter().zip(stacked) {
            cx.record(name, &sequence);
        }
        Ok(RuleResults {
            change: carried[0].clone(),
            change_seq,
            factors: None,
        })
    }

    /// The factors of products that depend on the neurons only.
    fn constant_products(&self, terms: &[Term]) -> Option<Vec<[Var; 2]>> {
        let [pre, post] = &self.factors;
        let float = self.inputs.weight.ty().dtype;
        let product = |term: &Term| {
            let constant = term.shared.as_constant()?;
            let [i, j] = term.factors.filter(|_| term.summed.is_none())?;
            let post = match constant {
                1.0 => post[j].clone(),
                _ => &post[j] * constant,
            };
            Some([post.cast(float), pre[i].cast(float)])
        };
        terms.iter().map(product).collect()
    }

    /// Several forms of the factors and of other known values, the weight first. Those for each pair of neurons are one operation, which reads the traces once.
    fn evaluate<'f>(
        &self,
        forms: impl Iterator<Item = &'f Form>,
        factors: &[Vec<Var>; 2],
        known: &[(&str, Var)],
    ) -> Vec<Var> {
        let forms: Vec<&Form> = forms.collect();
        let pairwise = forms.iter().filter_map(|form| match form {
            Form::Dense(expr) => Some(expr.clone()),
            Form::Products(_) => None,
        });
        let pairwise: Vec<Expr> = pairwise.collect();
        let pairwise = self.evaluate_pairwise(&pairwise, factors, known);
        let mut pairwise = pairwise.into_iter();
        let each = forms.iter().map(|form| match form {
            Form::Dense(_) => pairwise.next().expect("one for each form"),
            Form::Products(terms) => self.evaluate_products(terms, factors, known),
        });
        each.collect()
    }

    /// A sum of products: the same value for all samples.
    fn evaluate_products(
        &self,
        terms: &[Term],
        [pre, post]: &[Vec<Var>; 2],
        known: &[(&str, Var)],
    ) -> Var {
        let names: Vec<String> = (0..terms.len()).map(|k| format!("product{k}")).collect();
        let mut known = known.to_vec();
        let mut sum: Option<Expr> = None;
        for (term, name) in terms.iter().zip(&names) {
            let mut value = term.shared.clone();
            if let Some([i, j]) = term.factors {
                let product = self.inputs.synapses.products(&pre[i], &post[j]);
                known.push((name, product));
                value = value * Expr::symbol(name);
            }
            if let Some(trace) = &term.summed {
                value = value * Expr::symbol(trace);
            }
            sum = Some(match sum {
                Some(sum) => sum + value,
                None => value,
            });
        }
        let sum = sum.unwrap_or_else(|| Expr::constant(0.0));
        let value = kernel(&[sum], &known, self.cx.tracer().float()).swap_remove(0);
        value.expand(self.inputs.weight.shape())
    }

    /// Expressions of each synapse and sample.
    fn evaluate_pairwise(
        &self,
        expressions: &[Expr],
        [pre, post]: &[Vec<Var>; 2],
        known: &[(&str, Var)],
    ) -> Vec<Var> {
        if expressions.is_empty() {
            return vec![];
        }
        let pair = |values: &[Var], factors: &Factors, pre: bool| {
            let named = factors.names().zip(values.iter().cloned());
            let shaped = named.map(|(name, value)| {
                let (n, features) = (value.dim(1), value.dim(value.rank() - 1));
                let shape = if pre {
                    [n, 1, features]
                } else {
                    [n, features, 1]
                };
                (name.to_string(), value.reshape(shape))
            });
            shaped.collect::<Vec<_>>()
        };
        let [pre_factors, post_factors] = &self.definition.factors;
        let values = [
            pair(pre, pre_factors, true),
            pair(post, post_factors, false),
        ]
        .concat();
        let mut known = known.to_vec();
        known.extend(values.iter().map(|(name, v)| (name.as_str(), v.clone())));
        kernel(expressions, &known, self.cx.tracer().float())
    }
}
