//! Metrics from which the operations of layers are counted.
//!
//! For each counted layer, the number of samples and time steps in which an element of its input (of neurons: of their
//! output) is not 0. A sum of ones in f32 is exact up to 2²⁴, so the elements stay apart; their sums are added
//! on the host in f64.

use super::Step;
use super::metrics::EpochMetrics;
use super::trace::Purpose;
use crate::metric::Metric;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::{DType, Var};
use spikelet_nn::module::{Trace, Traced};

/// The activity of a counted layer over a data set.
pub(crate) struct Activity {
    /// The number of samples and time steps in which each element is not 0.
    pub(crate) nonzero: Vec<u64>,
    /// Whether an element had another value than −1, 0 and 1.
    pub(crate) analog: bool,
    /// The number of neurons and time steps after the first in which the membrane potential is another one than after
    /// the step before; `None` for layers without.
    pub(crate) membrane_changes: Option<u64>,
}

fn name_of(layer: usize, what: &str) -> String {
    format!("operations {layer} {what}")
}

impl Step<'_> {
    /// The same step with metrics of the operations of layers.
    pub(crate) fn counting_operations(mut self) -> Self {
        self.counts = true;
        self
    }

    /// Traces the evaluation, for the sizes of the counted layers.
    pub(crate) fn counted(&self) -> Result<Traced> {
        let (cx, _) = self.trace_forward(Purpose::EVALUATE, false)?;
        Ok(cx.traced())
    }

    /// The metrics of the counted layers.
    pub(super) fn operation_metrics(&self, cx: &Trace) -> Vec<(String, Metric)> {
        if !self.counts {
            return vec![];
        }
        let traced = cx.traced();
        let potentials = traced.counted_potentials();
        let potentials = potentials.iter().enumerate().filter_map(|(layer, v)| {
            let metric = Metric::new(changes(v.as_ref()?), |sums, _| sums.iter().sum());
            Some((name_of(layer, "changes"), metric))
        });
        let values = traced.counted_values();
        let metrics = values.iter().enumerate().flat_map(|(layer, value)| {
            let value = value.cast(DType::F32);
            let nonzero = indicator(&value, |v| v.abs().gt(0.0));
            let elements = value.shape().iter().skip(2).product::<usize>();
            let nonzero = nonzero.sum(&[0, 1]).reshape([elements]);
            let other = indicator(&value, |v| (v.abs() * (v.abs() - 1.0)).abs().gt(0.0));
            [("nonzero", nonzero), ("analog", other.sum_all())].map(|(what, sums)| {
                let metric = Metric::new(sums, |sums, _| sums.iter().sum());
                (name_of(layer, what), metric)
            })
        });
        metrics.chain(potentials).collect()
    }
}

/// The activity of a counted layer, from the metrics of an evaluation.
pub(crate) fn activity(metrics: &EpochMetrics, layer: usize) -> Activity {
    let sums = |what| metrics.sums(&name_of(layer, what)).unwrap_or_default();
    Activity {
        nonzero: sums("nonzero").iter().map(|sum| *sum as u64).collect(),
        analog: sums("analog").iter().any(|sum| *sum > 0.0),
        membrane_changes: metrics
            .sums(&name_of(layer, "changes"))
            .map(|sums| sums.iter().map(|sum| *sum as u64).sum()),
    }
}

/// For each neuron, the number of samples and time steps after the first in which its potential, `[T, N, …]`, is
/// another one than after the step before.
fn changes(v: &Var) -> Var {
    let neurons = v.shape().iter().skip(2).product::<usize>();
    let (v, steps) = (v.cast(DType::F32), v.dim(0));
    // A single step has none: the difference of the sequence from itself.
    let later = if steps > 1 {
        v.slice(0, 1..steps)
    } else {
        v.clone()
    };
    let earlier = v.slice(0, 0..steps.saturating_sub(1).max(1));
    let differs = Var::map(&[&later, &earlier], |v| {
        Expr::select((&v[0] - &v[1]).abs().gt(0.0), 1.0, 0.0)
    });
    differs.sum(&[0, 1]).reshape([neurons])
}

/// 1 where the condition holds, otherwise 0.
pub(super) fn indicator(value: &Var, condition: impl FnOnce(&Expr) -> Expr) -> Var {
    value.map1(|v| Expr::select(condition(v), 1.0, 0.0))
}
