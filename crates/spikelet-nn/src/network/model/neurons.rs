//! The neurons of the models, with a hard reset to 0 through which no gradient passes.

use serde_json::{Value, json};

fn spec(neuron: &str, params: Value, surrogate: Value) -> Value {
    json!({"neuron": neuron, "params": params, "surrogate": surrogate, "reset_grad": "detach"})
}

fn atan() -> Value {
    json!({"name": "atan", "alpha": 2.0})
}

/// Integrate and fire, with the arctangent.
pub fn integrate() -> Value {
    spec("if", json!({}), atan())
}

/// Leaky with a trained time constant that starts at two steps, with the arctangent.
pub fn parametric() -> Value {
    spec("plif", json!({"init_tau": 2.0}), atan())
}

/// Leaky with this time constant, whose input does not decay, with the arctangent.
pub fn undecayed(tau: f64) -> Value {
    spec("lif", json!({"tau": tau, "decay_input": false}), atan())
}

/// Leaky with a time constant of two steps, with the sigmoid.
pub fn leaky() -> Value {
    let sigmoid = json!({"name": "sigmoid", "alpha": 4.0});
    spec("lif", json!({"tau": 2.0}), sigmoid)
}

/// H = V/4 + X with the threshold 1/2 and the rectangle.
pub fn quarter() -> Value {
    let params = json!({"tau": 4.0 / 3.0, "decay_input": false, "v_threshold": 0.5});
    spec("lif", params, json!({"name": "rect", "alpha": 1.0}))
}

/// A neuron with the threshold 1/2: that behind the products of attention.
pub fn with_half_threshold(neuron: &Value) -> Value {
    let mut neuron = neuron.clone();
    if let Some(neuron) = neuron.as_object_mut() {
        let params = neuron.entry("params").or_insert_with(|| json!({}));
        params["v_threshold"] = json!(0.5);
    }
    neuron
}
