//! The cases of `reference.json`: losses of every family, by name.

use serde_json::Value;
use spikelet_nn::loss::{CrossEntropy, Membrane};
use spikelet_nn::prelude::*;

/// A loss with its inputs, and PyTorch's value and gradients.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    /// The shape and the values of each real input.
    pub inputs: Vec<(Vec<usize>, Vec<f64>)>,
    pub labels: Vec<i64>,
    pub loss: f64,
    pub grads: Vec<Vec<f64>>,
}

/// All cases.
pub fn all() -> Vec<Case> {
    let cases: Value = serde_json::from_str(include_str!("reference.json")).expect("JSON");
    let case = |(name, case): (&String, &Value)| {
        let inputs = case["inputs"].as_array().expect("inputs").iter();
        let inputs: Vec<(Vec<usize>, Vec<f64>)> = inputs
            .map(|input| {
                let shape = numbers(&input["shape"]).into_iter().map(|n| n as usize);
                (shape.collect(), numbers(&input["values"]))
            })
            .collect();
        Case {
            name: name.clone(),
            labels: numbers(&case["labels"])
                .into_iter()
                .map(|k| k as i64)
                .collect(),
            loss: case["loss"].as_f64().expect("a number"),
            grads: (0..inputs.len())
                .map(|k| numbers(&case["grads"][k]))
                .collect(),
            inputs,
        }
    };
    cases
        .as_object()
        .expect("cases by name")
        .iter()
        .map(case)
        .collect()
}

const WEIGHTS: [f64; 5] = [1.0, 0.5, 0.5, 2.0, 0.0];

fn numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().expect("a list").iter();
    values.map(|x| x.as_f64().expect("a number")).collect()
}

/// The loss of the case of this name, of its inputs and labels.
pub fn build(name: &str, x: &[Var], y: &Var) -> Var {
    let weighted = CrossEntropy::new().class_weights(WEIGHTS);
    match name {
        "cross_entropy" => loss::cross_entropy(&x[0], y),
        "smoothed" => CrossEntropy::new().label_smoothing(0.1).loss(&x[0], y),
        "weighted" => weighted.label_smoothing(0.2).loss(&x[0], y),
        "soft" => CrossEntropy::new().soft(&x[0], &x[1]),
        "soft_weighted" => weighted.label_smoothing(0.2).soft(&x[0], &x[1]),
        "mse_labels" => loss::mse_one_hot(&x[0], y),
        "binary" => loss::binary_cross_entropy(&x[0], &x[1]),
        "binary_weighted" => loss::weighted_binary_cross_entropy(&x[0], &x[1], 3.0),
        "kl" => loss::kl_divergence(&x[0], &x[1], 3.0),
        "squared" => loss::mse(&x[0], &x[1]),
        "l1" => loss::l1(&x[0], &x[1]),
        "huber" => loss::huber(&x[0], &x[1], 0.7),
        "smooth_l1" => loss::smooth_l1(&x[0], &x[1], 0.7),
        "tet" => (CrossEntropy::new().label_smoothing(0.1)).at_each_step(&x[0], y),
        "tet_weighted" => weighted.at_each_step(&x[0], y),
        "tet_regularized" => loss::regularized_tet(&x[0], y, 0.05, 1.0),
        "tet_soft" => CrossEntropy::new().soft_at_each_step(&x[0], &x[1]),
        "last" => Membrane::Last.loss(&x[0], y),
        "max" => Membrane::Max.loss(&x[0], y),
        "mean" => Membrane::Mean.loss(&x[0], y),
        "softmax_sum" => Membrane::SoftmaxSum.loss(&x[0], y),
        "rate" => loss::spike_rate_mse(&x[0], y, 0.8, 0.05),
        "count" => loss::spike_count_mse(&x[0], y, 4.0, 1.0),
        "count_entropy" => loss::spike_count_cross_entropy(&x[0], y),
        "first_entropy" => loss::first_spike_cross_entropy(&x[0], y),
        "first_mse" => loss::first_spike_mse(&x[0], y, 1.0, 5.0),
        "van_rossum" => loss::van_rossum(&x[0], &x[1], 2.5),
        "rate_target" => loss::rate_target(&x[0], 0.1),
        "rate_bounds" => loss::rate_bounds(&x[0], 0.2, 0.25),
        "rate_limits" => loss::rate_limits(&x[0], 0.27, 0.28),
        "spike_count" => loss::spike_count(&x[0]),
        "spike_count_squared" => loss::spike_count_squared(&x[0]),
        "operations" => loss::synaptic_operations(&x[0], 72.0),
        other => panic!("the case {other} has no loss here"),
    }
}
