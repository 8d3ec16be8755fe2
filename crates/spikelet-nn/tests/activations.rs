//! Activation functions: QCFS against its definition and finite differences, files, errors.

use spikelet_nn::layer::{Qcfs, Rescale};
use spikelet_nn::network::Layers;
use spikelet_nn::prelude::*;
use spikelet_nn::runtime::host;
use std::sync::Arc;

/// y·g summed, and the gradients of x and λ.
fn qcfs(x: &[f64], lambda: f64, levels: usize, weights: &[f64]) -> (Vec<f64>, Vec<f64>, f64) {
    let cx = Context::new(Mode::TRAIN, DType::F64);
    let shape = [1, 1, x.len()];
    let [input, weight] = ["x", "weight"].map(|name| cx.tracer().input(name, DType::F64, shape));
    let y = cx
        .trace(&Qcfs::new(levels), input.clone())
        .expect("it is traced");
    let parameter = cx.tracer().find_input("lambda").expect("a parameter");
    let loss = (&y * &weight).sum_all();
    let grads = cx.tracer().gradients(&loss, &[&input, &parameter]);
    for (name, value) in [("y", &y), ("dx", &grads[0]), ("dl", &grads[1])] {
        cx.tracer().output(name, value);
    }
    let mut store = VarStore::new(Arc::new(spikelet_cpu::Cpu::new(1).expect("a device")));
    store
        .insert("lambda", &Tensor::f64([], [lambda]))
        .expect("memory");
    let mut program = cx.compile(&mut store, 0).expect("a program");
    let [x, weights] = [x, weights].map(|values| Tensor::f64(shape, values));
    program
        .run_with([("x", host(&x)), ("weight", host(&weights))])
        .expect("it runs");
    let get = |name| program.get(name).expect("an output").to_f64();
    (get("y"), get("dx"), get("dl")[0])
}

#[test]
fn qcfs_has_steps_whose_edges_are_rounded_up() {
    let x = [-1.0, 0.0, 0.2499, 0.25, 0.7499, 0.75, 1.0, 1.9, 2.1];
    let (y, ..) = qcfs(&x, 2.0, 4, &[1.0; 9]);
    assert_eq!(y, [0.0, 0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 2.0, 2.0]);
}

/// Where no element is near an edge, y is λ·k/L with a fixed k: with the rounding passed through, the gradient of λ is
/// that of λ·k/L − x inside, which is the finite difference of λ·k/L less that of λ·(x/λ).
#[test]
fn the_gradient_of_lambda_is_that_of_the_steps_and_of_the_clipped_input() {
    let (lambda, levels) = (1.7, 8);
    let x = [-0.4, 0.11, 0.52, 0.93, 1.31, 1.66, 1.71, 2.4];
    let weights = [0.3, -1.2, 0.7, 2.0, -0.4, 0.9, 1.1, -0.6];
    let (_, dx, dl) = qcfs(&x, lambda, levels, &weights);
    let sum = |lambda: f64| -> f64 {
        let (y, ..) = qcfs(&x, lambda, levels, &weights);
        y.iter().zip(&weights).map(|(y, w)| y * w).sum()
    };
    let epsilon = 1e-6;
    let of_steps = (sum(lambda + epsilon) - sum(lambda - epsilon)) / (2.0 * epsilon);
    // The straight-through part: λ·∂(x/λ)/∂λ = −x/λ inside.
    let inside = |x: f64| (0.0..=lambda).contains(&x);
    let through: f64 = (x.iter().zip(&weights))
        .map(|(&x, w)| if inside(x) { -x / lambda * w } else { 0.0 })
        .sum();
    assert!(
        (dl - (of_steps + through)).abs() < 1e-8,
        "{dl} {of_steps} {through}"
    );
    let expected: Vec<f64> = (x.iter().zip(&weights))
        .map(|(&x, &w)| if inside(x) { w } else { 0.0 })
        .collect();
    for (a, b) in dx.iter().zip(&expected) {
        assert!((a - b).abs() < 1e-12, "{dx:?} {expected:?}");
    }
}

#[test]
fn activations_of_files_are_layers() {
    let text = r#"
        [network]
        input = [4]
        layers = [{ linear = 3 }, "relu", { leaky-relu = 0.2 }, "leaky-relu", "gelu", "silu", "sigmoid", "tanh",
          { qcfs = 8, init_lambda = 2.0 }, { rescale = 0.5 }, { layer = "rescale", each_channel = true }]
    "#;
    let layers = Layers::from_toml("net.toml", text, &[]).expect("it is sound");
    let tree = layers.module().expect("it is sound").to_string();
    for part in [
        "Relu",
        "slope=0.2",
        "slope=0.01",
        "Gelu",
        "Tanh",
        "levels=8, lambda=2",
        "factor=0.5",
        "channels=Some(3)",
    ] {
        assert!(tree.contains(part), "{part}: {tree}");
    }
}

#[test]
fn wrong_activations_are_named_with_their_position() {
    for (layer, part) in [
        ("{ qcfs = 0 }", "net.toml:1"),
        ("{ qcfs = 4, init_lambda = 0.0 }", "`init_lambda`"),
        ("{ qcfs = 4, init_lambda = -1 }", "a number above 0"),
        ("\"qcfs\"", "the number of steps"),
        ("{ relu = 1 }", "relu"),
        ("{ leaky-relu = \"steep\" }", "leaky-relu"),
        ("{ rescale = \"half\" }", "rescale"),
    ] {
        let text = format!("network = {{ input = [4], layers = [{{ linear = 3 }}, {layer}] }}");
        let error = Layers::from_toml("net.toml", &text, &[])
            .expect_err(layer)
            .to_string();
        assert!(
            error.contains("net.toml:1") && error.contains(part),
            "{layer}: {error}"
        );
    }
    let cx = Context::new(Mode::EVAL, DType::F32);
    let x = cx.tracer().input("x_seq", DType::F32, [1, 2, 4]);
    for module in [
        Qcfs::new(0),
        Qcfs::new(4).lambda(f64::NAN),
        Qcfs::new(4).lambda(-1.0),
    ] {
        assert!(cx.trace(&module, x.clone()).is_err(), "{module:?}");
    }
    assert!(cx.trace(&Rescale::new(f64::INFINITY), x.clone()).is_err());
    assert!(cx.trace(&Rescale::each_channel(3), x).is_err());
}
