//! The monitor of synaptic operations: Σ_i nonzero(i) · fan_out(i) over the elements i of a layer's input, counted on
//! the device.
//!
//! nonzero(i) is the number of samples and time steps in which element i is not 0, fan_out(i) the number of nonzero
//! weights that it is multiplied with.
//!
//! All values are integers, and all sums of them stay below 2²⁴, where f32 is exact: a number is split into digits
//! before it is multiplied or summed, and the sums of the digits are put together on the host in f64.

use super::operations::indicator;
use super::recorded::path_of;
use super::trace::check_all;
use super::{Monitor, Step, StepError};
use crate::metric::Metric;
use spikelet_core::Result;
use spikelet_graph::{DType, Var};
use spikelet_nn::energy::Synapses;
use spikelet_nn::module::{CountedKind, Trace};

/// The base of the digits that are summed, and the number of them in a sum.
const BASE: usize = 1 << 12;

impl Step<'_> {
    /// The metrics of the layers with this monitor. A layer that is called several times has the sum of its calls.
    pub(super) fn synaptic_operation_metrics(&self, cx: &Trace) -> Result<Vec<(String, Metric)>> {
        let own = self.monitors.iter();
        let own = own.filter(|(monitor, _)| *monitor == Monitor::SynapticOperations);
        let patterns: Vec<_> = own.map(|(_, names)| names).collect();
        if patterns.is_empty() {
            return Ok(vec![]);
        }
        let traced = cx.traced();
        let values = traced.counted_values();
        let with_weights = traced.counted.iter().zip(&values);
        let layers: Vec<_> = with_weights
            .filter_map(|(layer, x)| match &layer.kind {
                CountedKind::Synapses { synapses, weight } => {
                    Some((layer.path.as_str(), synapses, weight.as_str(), x))
                }
                _ => None,
            })
            .collect();
        let names = layers.iter().map(|(path, ..)| *path);
        check_all(patterns.iter().copied(), names)?;
        let mut found: Vec<(String, Digits)> = vec![];
        for (path, synapses, weight, x) in layers {
            if !patterns.iter().any(|names| names.matches(path)) {
                continue;
            }
            let Some(weight) = cx.tracer().find_input(weight) else {
                return Err(StepError::Unknown {
                    kind: "parameter",
                    name: weight.to_string(),
                    known: (traced.parameters.iter().map(|p| p.name.clone())).collect(),
                }
                .into());
            };
            let digits = operations(synapses, &weight, x);
            match found.iter_mut().find(|(known, _)| known == path) {
                Some((_, known)) => known.0.extend(digits.0),
                None => found.push((path.to_string(), digits)),
            }
        }
        let metrics = found.into_iter().map(|(path, digits)| {
            let name = path_of(&path, Monitor::SynapticOperations.name());
            (name, digits.mean())
        });
        Ok(metrics.collect())
    }
}

/// A number as vectors of integers, each with a weight.
struct Digits(Vec<(Var, f64)>);

impl Digits {
    /// The mean over the samples.
    fn mean(self) -> Metric {
        let vars: Vec<&Var> = self.0.iter().map(|(sums, _)| sums).collect();
        let sums = Var::concat(&vars, 0);
        let weights = self.0.iter();
        let weights: Vec<f64> = weights
            .flat_map(|(sums, weight)| std::iter::repeat_n(*weight, sums.dim(0)))
            .collect();
        Metric::new(sums, move |sums, samples| {
            let each = sums.iter().zip(&weights);
            each.map(|(sum, weight)| sum * weight).sum::<f64>() / samples
        })
    }
}

/// The operations of a layer with the input `x`, `[T, N, …]`.
fn operations(synapses: &Synapses, weight: &Var, x: &Var) -> Digits {
    let (fan_out, largest) = (synapses.fan_out(weight), synapses.most_fan_out());
    let nonzero = indicator(&x.cast(DType::F32), |x| x.abs().gt(0.0)).sum(&[0, 1]);
    let most = x.shape().iter().take(2).product::<usize>();
    let elements = nonzero.shape().iter().product::<usize>();
    // Products of a digit and a fan-out are below 2²⁴.
    let base = (BASE * BASE / largest.max(1)).max(2);
    let base = 1 << base.ilog2();
    let mut sums = vec![];
    for (digit, weight) in digits(nonzero, most, base) {
        let product = Var::map(&[&digit, &fan_out], |x| &x[0] * &x[1]).reshape([elements]);
        for (digit, own) in digits(product, (base - 1) * largest, BASE) {
            let whole = elements / BASE * BASE;
            let rest =
                (whole < elements).then(|| digit.slice(0, whole..elements).sum_all().reshape([1]));
            let groups = (whole > 0).then(|| {
                let groups = digit.slice(0, 0..whole).reshape([whole / BASE, BASE]);
                groups.sum(&[1])
            });
            let parts = groups.into_iter().chain(rest);
            sums.extend(parts.map(|part| (part, weight * own)));
        }
    }
    Digits(sums)
}

/// The digits of integers from 0 to `most`, each with its weight; `base` is a power of two.
fn digits(mut value: Var, mut most: usize, base: usize) -> Vec<(Var, f64)> {
    let (mut digits, mut weight) = (vec![], 1.0);
    let of_base = base as f64;
    while most >= base {
        let high = value.map1(|v| (v * (1.0 / of_base)).floor());
        let low = Var::map(&[&value, &high], |v| &v[0] - &v[1] * of_base);
        digits.push((low, weight));
        (value, most, weight) = (high, most / base, weight * of_base);
    }
    digits.push((value, weight));
    digits
}
