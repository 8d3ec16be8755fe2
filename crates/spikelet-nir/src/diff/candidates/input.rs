//! A factor of the input: the one by which the first values that are proportional to the input differ, or a usual one.

use super::super::cause::{Candidate, Cause};
use super::super::recording::{Quantity, Sequence};
use super::{Situation, unfed};
use crate::graph::NodeKind;
use spikelet_graph::Tensor;

/// Factors that are tried if none can be estimated.
const USUAL: [f64; 6] = [255.0, 1.0 / 255.0, 2.0, 0.5, 10.0, 0.1];

/// A factor this close to an integer or its reciprocal is that number.
const ROUND: f64 = 1e-4;

pub(super) fn candidates(situation: &Situation<'_>) -> Vec<Candidate> {
    let factors = match estimate(situation) {
        Some(factor) if (factor - 1.0).abs() < ROUND => vec![],
        Some(factor) => vec![rounded(factor)],
        None => {
            let dt = situation.semantics.dt;
            let by_dt = [1.0 / dt, dt].into_iter().filter(|factor| *factor != 1.0);
            USUAL.into_iter().chain(by_dt).collect()
        }
    };
    let candidate = |factor: f64| {
        let change = format!("input multiplied by {}", text(factor));
        Candidate::new(Cause::InputScale, change, move |runnable| {
            for tensor in runnable.inputs.values_mut() {
                let values = tensor.to_f64().into_iter().map(|value| value * factor);
                let values: Vec<f64> = values.collect();
                *tensor = Tensor::f64(tensor.shape.clone(), values);
            }
            Ok(())
        })
    };
    factors.into_iter().map(candidate).collect()
}

/// The factor by which the first values that are proportional to the input differ, by least squares.
fn estimate(situation: &Situation<'_>) -> Option<f64> {
    let inputs = unfed(situation.graph);
    let of_inputs = inputs
        .iter()
        .filter_map(|path| proportion(situation, path, None));
    if let Some(factor) = of_inputs.into_iter().next() {
        return Some(factor);
    }
    let first = situation
        .graph
        .edges
        .iter()
        .filter(|edge| inputs.contains(&edge.from));
    let first: Vec<&str> = first.map(|edge| edge.to.as_str()).collect();
    let of_layers = first.iter().find_map(|path| {
        let bias = match &situation.node(path)?.kind {
            NodeKind::Linear(_) => None,
            NodeKind::Affine(affine) => Some(affine.bias.to_f64()),
            NodeKind::Conv1d(conv) | NodeKind::Conv2d(conv) => Some(conv.bias.to_f64()),
            _ => return None,
        };
        proportion(situation, path, bias)
    });
    if of_layers.is_some() {
        return of_layers;
    }
    // The potentials of the first step, of the first neurons that have them.
    situation.a.layers.iter().find_map(|layer| {
        let (a, b) = situation.layers(&layer.name)?;
        let of = |quantity| Some((a.values.get(quantity)?, b.values.get(quantity)?));
        let (x, y) = of(&Quantity::PotentialBeforeReset).or_else(|| of(&Quantity::Potential))?;
        least_squares(&first_step(x), &first_step(y))
    })
}

fn first_step(sequence: &Sequence) -> Vec<f64> {
    let steps = sequence.shape.first().copied().unwrap_or(1).max(1);
    sequence.values[..sequence.values.len() / steps].to_vec()
}

/// The factor of a layer's output, without its bias.
fn proportion(situation: &Situation<'_>, path: &str, bias: Option<Vec<f64>>) -> Option<f64> {
    let (a, b) = situation.layers(path)?;
    let without = |sequence: &Sequence| -> Vec<f64> {
        let each: usize = sequence
            .shape
            .get(3..)
            .map_or(1, |shape| shape.iter().product());
        let values = sequence.values.iter().enumerate();
        let bias = |k: usize| match bias.as_deref() {
            Some(bias) if !bias.is_empty() => bias[k / each.max(1) % bias.len()],
            _ => 0.0,
        };
        values.map(|(k, value)| value - bias(k)).collect()
    };
    let x = without(a.values.get(&Quantity::Output)?);
    let y = without(b.values.get(&Quantity::Output)?);
    least_squares(&x, &y)
}

/// The factor f with the smallest |f·x − y|².
fn least_squares(x: &[f64], y: &[f64]) -> Option<f64> {
    let products: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
    let squares: f64 = x.iter().map(|x| x * x).sum();
    Some(products / squares).filter(|factor| factor.is_finite() && *factor != 0.0)
}

/// A factor that is almost an integer or its reciprocal, as that number.
fn rounded(factor: f64) -> f64 {
    let near =
        |value: f64| value.round() != 0.0 && (value - value.round()).abs() < ROUND * value.abs();
    match (near(factor), near(1.0 / factor)) {
        (true, _) => factor.round(),
        (_, true) => 1.0 / (1.0 / factor).round(),
        _ => factor,
    }
}

fn text(factor: f64) -> String {
    match (1.0 / factor).fract() == 0.0 && factor.fract() != 0.0 && factor.abs() < 0.09 {
        true => format!("1/{}", 1.0 / factor),
        false => format!("{:.6}", factor)
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_that_are_almost_round_are_round() {
        assert_eq!(rounded(0.003_921_57), 1.0 / 255.0);
        assert_eq!(rounded(2.000_01), 2.0);
        assert_eq!(rounded(0.3), 0.3);
        assert_eq!(
            [text(1.0 / 255.0), text(0.5), text(0.3)],
            ["1/255", "0.5", "0.3"]
        );
    }
}
