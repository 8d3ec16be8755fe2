//! Networks in less than f32, run.

use crate::harness::{Loaded, tensor};
use spikelet_expr::Expr;
use spikelet_graph::op::Recurrence;
use spikelet_graph::{DType, Precision, RandomAxes, Tensor, Tracer, Var};
use std::collections::BTreeMap;
use std::sync::Arc;

const F: DType = DType::F32;
const TIME: usize = 8;
const BATCH: usize = 16;

/// h = v + (x − v)/2; a spike from 1 on, or with `smooth` its probability.
fn neuron(smooth: bool) -> Arc<Recurrence> {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    let h = &v + (x - &v) * 0.5;
    let p = ((&h - 1.0) * 4.0).sigmoid();
    let s = if smooth {
        p
    } else {
        Expr::custom_gradient((&h - 1.0).ge(0.0), p)
    };
    let next = (1.0 - &s) * &h;
    Arc::new(
        Recurrence::new("lif", ["x"], ["v"])
            .output("s", s, !smooth)
            .next(vec![next]),
    )
}

/// Two layers with neurons: loss, gradients, and the spikes of the first layer.
fn run(precision: Precision, smooth: bool) -> BTreeMap<String, Tensor> {
    let t = Tracer::new(F);
    t.set_precision(precision);
    let (x, labels) = (
        t.input("x", F, [TIME, BATCH, 20]),
        t.input("labels", DType::I64, [BATCH]),
    );
    let (w1, b1) = (t.parameter("w1", [30, 20]), t.parameter("b1", [30]));
    let w2 = t.parameter("w2", [10, 30]);
    let (v1, v2) = (t.state("v1", [BATCH, 30]), t.state("v2", [BATCH, 10]));
    let hidden = x.linear(&w1) + &b1;
    let first = Var::scan(&neuron(smooth), TIME, &[&hidden], &[&v1], &[]);
    let second = Var::scan(&neuron(smooth), TIME, &[&first[0].linear(&w2)], &[&v2], &[]);
    let scores = second[0].mean(&[0]) * 4.0;
    let picked = (scores.log_softmax() * labels.one_hot(10)).sum(&[1]);
    let loss = -picked.mean_all();
    t.output("loss", &loss);
    t.output("spikes", &first[0]);
    t.update(&v1, &first[1]);
    for (name, grad) in ["dw1", "db1", "dw2"]
        .iter()
        .zip(t.gradients(&loss, &[&w1, &b1, &w2]))
    {
        t.output(name, &grad);
    }
    let mut loaded = Loaded::new(t.finish().unwrap(), 2);
    let scaled = |shape: &[usize], seed: u64, by: f64| {
        let values = tensor(shape, seed).to_f64().into_iter();
        Tensor::f64(shape, values.map(|x| x * by).collect::<Vec<_>>()).cast(F)
    };
    loaded.set("x", &scaled(&[TIME, BATCH, 20], 1, 2.0));
    loaded.set("w1", &scaled(&[30, 20], 2, 0.8));
    loaded.set("b1", &scaled(&[30], 3, 0.5));
    loaded.set("w2", &scaled(&[10, 30], 4, 1.2));
    let labels: Vec<i64> = (0..BATCH as i64).map(|k| k * 7 % 10).collect();
    loaded.set("labels", &Tensor::i64([BATCH], labels));
    loaded.run();
    loaded.results()
}

/// ‖a − b‖ / ‖b‖
fn distance(a: &Tensor, b: &Tensor) -> f64 {
    let (a, b) = (a.to_f64(), b.to_f64());
    let difference: f64 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
    (difference / b.iter().map(|b| b * b).sum::<f64>()).sqrt()
}

#[test]
fn gradients_of_a_two_layer_network_are_near_those_in_f32() {
    let exact = run(Precision::F32, true);
    for (precision, tolerance) in [
        (Precision::Tf32, 0.0),
        (Precision::F16, 0.004),
        (Precision::Bf16, 0.03),
    ] {
        let got = run(precision, true);
        for name in ["loss", "dw1", "db1", "dw2", "v1"] {
            assert_eq!(got[name].ty(), exact[name].ty(), "{name}");
            let far = distance(&got[name], &exact[name]);
            assert!(far <= tolerance, "{name} in {precision}: {far}");
        }
    }
}

#[test]
fn spikes_of_a_layer_in_f16_are_spikes_and_nearly_all_the_same() {
    let (exact, half) = (run(Precision::F32, false), run(Precision::F16, false));
    let (exact, half) = (exact["spikes"].to_f64(), half["spikes"].to_f64());
    assert!(half.iter().all(|s| *s == 0.0 || *s == 1.0));
    let rate = half.iter().sum::<f64>() / half.len() as f64;
    assert!((0.05..0.6).contains(&rate), "{rate}");
    let other = exact.iter().zip(&half).filter(|(a, b)| a != b).count();
    assert!(other * 100 <= exact.len(), "{other} of {}", exact.len());
}

#[test]
fn a_network_in_bf16_gives_the_same_bits_again() {
    assert_eq!(run(Precision::Bf16, false), run(Precision::Bf16, false));
}

#[test]
fn spikes_drawn_in_16_bits_are_the_same_draws_and_may_travel_as_bits() {
    let run = |precision: Precision| {
        let t = Tracer::new(F);
        t.set_precision(precision);
        let (p, g) = (t.input("p", F, [8, 64]), t.input("g", DType::I64, [4]));
        let w = t.parameter("w", [5, 64]);
        let drawn = p.repeat_over_time(TIME).bernoulli(&g, RandomAxes::Time);
        t.output("y", &drawn.linear(&w));
        let mut loaded = Loaded::new(t.finish().unwrap(), 2);
        let text = loaded.plan.graph.to_string();
        assert!(text.contains("bits[8, 8, 64]"), "{text}");
        let p: Vec<f32> = (0..8 * 64).map(|k| (k % 10) as f32 / 10.0).collect();
        loaded.set("p", &Tensor::f32([8, 64], p));
        // Small whole numbers: sums of them are exact in every type.
        let w: Vec<f32> = (0..5 * 64).map(|k| (k % 5) as f32 - 2.0).collect();
        loaded.set("w", &Tensor::f32([5, 64], w));
        loaded.set("g", &Tensor::i64([4], [7, 1, 0, 0]));
        loaded.run();
        loaded.get("y")
    };
    let exact = run(Precision::F32);
    assert!(exact.to_f64().iter().any(|y| *y != 0.0));
    assert_eq!(run(Precision::Bf16), exact);
    assert_eq!(run(Precision::F16), exact);
}
