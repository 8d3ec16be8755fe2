//! The factors of a rule's products: elementwise functions of one neuron's value and traces, in each step.

use super::scope::{Side, Trace};
use crate::module::Context;
use crate::neuron::unfused::kernel;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_graph::op::Recurrence;
use std::sync::Arc;

/// A list of expressions without duplicates.
#[derive(Clone, Debug, Default)]
pub(super) struct Factors(Vec<Expr>);

impl Factors {
    /// The index of an expression, which is added if it is new.
    pub(super) fn index(&mut self, expr: &Expr) -> usize {
        let known = self.0.iter().position(|e| e.same_value(expr));
        known.unwrap_or_else(|| {
            self.0.push(expr.clone());
            self.0.len() - 1
        })
    }

    /// The names of those that are symbols.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(Expr::as_symbol)
    }
}

/// One side of the synapses: its value over time and its traces.
pub(super) struct SideValues<'a> {
    pub(super) side: Side,
    /// The symbol of the value.
    pub(super) symbol: &'static str,
    /// The values, `[T, N, …]`.
    pub(super) values: Var,
    /// The signals by name, with as many axes as the values.
    pub(super) signals: &'a [(&'a str, Var)],
    /// All traces of the rule.
    pub(super) traces: &'a [Trace],
}

impl SideValues<'_> {
    /// The factors over time, `[T, N, …]` each, by one scan, which also advances the traces.
    pub(super) fn run(&self, cx: &Context, factors: &Factors) -> Vec<Var> {
        let traces = self.traces.iter().filter(|t| t.side == self.side);
        let traces: Vec<&Trace> = traces.collect();
        let float = cx.tracer().float();
        let x = self.values.cast(float).detach();
        let used = |name: &str| {
            let mut all = factors.0.iter().chain(traces.iter().map(|t| &t.next));
            all.any(|e| e.symbols().iter().any(|s| s == name))
        };
        let signals = self.signals.iter().filter(|(name, _)| used(name));
        let mut names = vec![self.symbol];
        let mut sequences = vec![x.clone()];
        for (name, signal) in signals {
            names.push(name);
            sequences.push(signal.expand(x.shape()));
        }
        let known: Vec<(&str, Var)> = names.iter().copied().zip(sequences.clone()).collect();
        if traces.is_empty() {
            let computed = kernel(&factors.0, &known, float);
            return computed.iter().map(|v| v.expand(x.shape())).collect();
        }
        let states = traces.iter().map(|t| t.name.as_str());
        let mut step = Recurrence::new("traces", names.iter().copied(), states)
            .next(traces.iter().map(|t| t.next.clone()).collect());
        let passed = |e: &Expr| {
            e.as_symbol()
                .and_then(|name| names.iter().position(|n| *n == name))
        };
        for (k, factor) in factors.0.iter().enumerate() {
            if passed(factor).is_none() {
                step = step.output(&format!("factor{k}"), factor.clone(), false);
            }
        }
        let befores: Vec<Var> = traces
            .iter()
            .map(|t| cx.state(&t.name, &x.shape()[1..], 0.0))
            .collect();
        let step = Arc::new(step);
        let made = Var::scan(
            &step,
            x.dim(0),
            &sequences.iter().collect::<Vec<_>>(),
            &befores.iter().collect::<Vec<_>>(),
            &[],
        );
        let [outputs, lasts, sequences_after] = step.split_results(&made);
        for (before, last) in befores.iter().zip(lasts) {
            cx.set_state(before, last);
        }
        if cx.watches() {
            for (trace, sequence) in traces.iter().zip(sequences_after) {
                cx.record(&trace.name, sequence);
            }
        }
        let mut computed = outputs.iter();
        let of = |factor: &Expr| match passed(factor) {
            Some(k) => sequences[k].clone(),
            None => computed.next().unwrap_or(&x).clone(),
        };
        factors.0.iter().map(of).collect()
    }
}
