//! Parameters and states that take a new value when the program has run.

use crate::harness::{Loaded, tensor};
use spikelet_graph::{DType, Location, Tensor, Tracer, Var};

const F: DType = DType::F64;

fn load(tracer: &Tracer) -> Loaded {
    Loaded::new(tracer.finish().unwrap(), 2)
}

fn row(values: &[f64]) -> Tensor {
    Tensor::f64([values.len()], values)
}

#[test]
fn an_optimizer_step_is_made_in_place_and_uses_the_old_value_throughout() {
    let tracer = Tracer::new(F);
    let x = tracer.input("x", F, [3, 20_001]);
    let w = tracer.parameter("w", [20_001]);
    let loss = (&x * &w).square().sum_all();
    let g = tracer.gradients(&loss, &[&w]).remove(0);
    tracer.update(&w, &(&w - &g * 0.01 * &w));
    tracer.output("loss", &loss);
    let mut loaded = load(&tracer);
    let (xs, mut ws) = (tensor(&[3, 20_001], 1), tensor(&[20_001], 2).to_f64());
    loaded.set("x", &xs);
    loaded.set("w", &row(&ws));
    let columns = xs.to_f64();
    for _ in 0..3 {
        loaded.run();
        for (i, w) in ws.iter_mut().enumerate() {
            let g: f64 = (0..3)
                .map(|k| columns[k * 20_001 + i])
                .map(|x| 2.0 * x * x * *w)
                .sum();
            *w -= g * 0.01 * *w;
        }
    }
    let got = loaded.get("w").to_f64();
    for (got, want) in got.iter().zip(&ws) {
        assert!((got - want).abs() < 1e-14, "{got} {want}");
    }
    let output = loaded
        .plan
        .graph
        .outputs
        .iter()
        .find(|o| o.name == "w")
        .unwrap();
    assert!(
        matches!(loaded.plan.place(output.value), Location::Input(_)),
        "{}",
        loaded.plan
    );
    assert!(loaded.plan.copies.is_empty());
}

#[test]
fn moments_and_parameters_of_an_optimizer_are_updated_together() {
    let tracer = Tracer::new(F);
    let (w, m, g) = (
        tracer.parameter("w", [5]),
        tracer.state("m", [5]),
        tracer.input("g", F, [5]),
    );
    let next = Var::map_many(&[&w, &m, &g], |x| {
        let momentum = &x[1] * 0.9 + &x[2] * 0.1;
        vec![&x[0] - &momentum * 0.5, momentum]
    });
    tracer.update(&w, &next[0]);
    tracer.update(&m, &next[1]);
    let mut loaded = load(&tracer);
    let (mut ws, mut ms, gs) = ([1.0; 5], [0.5; 5], [0.1, 0.2, 0.3, 0.4, 0.5]);
    loaded.set("w", &row(&ws));
    loaded.set("m", &row(&ms));
    loaded.set("g", &row(&gs));
    for _ in 0..4 {
        loaded.run();
        for i in 0..5 {
            ms[i] = ms[i] * 0.9 + gs[i] * 0.1;
            ws[i] -= ms[i] * 0.5;
        }
        assert_eq!(loaded.get("m"), row(&ms));
        assert_eq!(loaded.get("w"), row(&ws));
    }
    assert_eq!(loaded.plan.arena_bytes, 0, "{}", loaded.plan);
}

#[test]
fn an_old_value_can_be_read_after_the_new_one_was_made() {
    let tracer = Tracer::new(F);
    let (v, w) = (tracer.state("v", [3]), tracer.parameter("w", [3, 3]));
    let new = v.reshape([1, 3]).linear(&w).reshape([3]);
    tracer.update(&v, &new);
    // Reads the new value, then the old one.
    tracer.output("change", &(&new - &v).reshape([1, 3]).linear(&w));
    tracer.output("old", &v);
    let mut loaded = load(&tracer);
    let double = Tensor::f64([3, 3], [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0]);
    loaded.set("w", &double);
    loaded.set("v", &row(&[1.0, 2.0, 3.0]));
    for factor in [1.0, 2.0] {
        loaded.run();
        let times = |k: f64| [k * factor, 2.0 * k * factor, 3.0 * k * factor];
        assert_eq!(loaded.get("old"), row(&times(1.0)));
        assert_eq!(loaded.get("v"), row(&times(2.0)));
        assert_eq!(loaded.get("change").to_f64(), times(2.0));
    }
}

#[test]
fn a_delay_line_hands_every_value_on_by_one_place() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let tracer = Tracer::new(F);
        let x = tracer.input("x", F, [2]);
        let [a, b, c] = ["a", "b", "c"].map(|name| tracer.state(name, [2]));
        let pairs = [(&a, &x), (&b, &a), (&c, &b)];
        for k in order {
            tracer.update(pairs[k].0, pairs[k].1);
        }
        let mut loaded = load(&tracer);
        for (name, value) in [("a", 1.0), ("b", 2.0), ("c", 3.0), ("x", 0.0)] {
            loaded.set(name, &row(&[value; 2]));
        }
        loaded.run();
        let now = ["a", "b", "c"].map(|name| loaded.get(name).to_f64()[1]);
        assert_eq!(now, [0.0, 1.0, 2.0], "{order:?}");
    }
}

#[test]
fn two_states_can_change_places() {
    let tracer = Tracer::new(F);
    let [a, b] = ["a", "b"].map(|name| tracer.state(name, [2, 2]));
    tracer.update(&a, &b);
    tracer.update(&b, &a.reshape([4]).reshape([2, 2]));
    let mut loaded = load(&tracer);
    let (one, two) = (tensor(&[2, 2], 1), tensor(&[2, 2], 2));
    loaded.set("a", &one);
    loaded.set("b", &two);
    loaded.run();
    assert_eq!(
        (loaded.get("a"), loaded.get("b")),
        (two.clone(), one.clone())
    );
    loaded.run();
    assert_eq!((loaded.get("a"), loaded.get("b")), (one, two));
}

#[test]
fn an_output_may_be_an_input_of_which_another_output_is_the_update() {
    for update_first in [true, false] {
        let tracer = Tracer::new(F);
        let v = tracer.state("v", [2]);
        let new = tracer.fill(F, [2], 5.0);
        if update_first {
            tracer.update(&v, &new);
        }
        tracer.output("old", &v);
        tracer.output("old again", &v.reshape([1, 2]));
        if !update_first {
            tracer.update(&v, &new);
        }
        let mut loaded = load(&tracer);
        loaded.set("v", &row(&[1.0, 2.0]));
        loaded.run();
        assert_eq!(loaded.get("old"), row(&[1.0, 2.0]));
        assert_eq!(loaded.get("old again").to_f64(), [1.0, 2.0]);
        assert_eq!(loaded.get("v"), row(&[5.0, 5.0]));
    }
}

#[test]
fn a_state_that_becomes_itself_stays_as_it_is() {
    let tracer = Tracer::new(F);
    let v = tracer.state("v", [2]);
    tracer.update(&v, &v);
    tracer.output("y", &v);
    let mut loaded = load(&tracer);
    loaded.set("v", &row(&[1.0, 2.0]));
    loaded.run();
    assert_eq!(loaded.get("v"), row(&[1.0, 2.0]));
    assert_eq!(loaded.get("y"), row(&[1.0, 2.0]));
}

#[test]
fn one_value_may_be_several_outputs_and_be_read_on() {
    let tracer = Tracer::new(F);
    let (x, v) = (tracer.input("x", F, [3]), tracer.state("v", [3]));
    let y = x.exp();
    tracer.output("first", &y);
    tracer.output("second", &y);
    tracer.output("flat", &y.reshape([1, 3]));
    tracer.update(&v, &y);
    tracer.output("later", &(&y * 2.0));
    tracer.output("input", &x);
    let mut loaded = load(&tracer);
    loaded.set("x", &row(&[0.0, 1.0, 2.0]));
    loaded.run();
    let want = [0.0_f64, 1.0, 2.0].map(f64::exp);
    for name in ["first", "second", "flat", "v"] {
        assert_eq!(loaded.get(name).to_f64(), want, "{name}");
    }
    assert_eq!(loaded.get("later").to_f64(), want.map(|y| y * 2.0));
    assert_eq!(loaded.get("input").to_f64(), [0.0, 1.0, 2.0]);
}

#[test]
fn integer_states_are_updated_too() {
    let tracer = Tracer::new(F);
    let (a, b) = (
        tracer.input("a", DType::I64, [3]),
        tracer.input("b", DType::I64, [3]),
    );
    tracer.update(&a, &b);
    let mut loaded = load(&tracer);
    loaded.set("b", &Tensor::i64([3], [1, 2, 3]));
    loaded.run();
    assert_eq!(loaded.get("a"), Tensor::i64([3], [1, 2, 3]));
}
