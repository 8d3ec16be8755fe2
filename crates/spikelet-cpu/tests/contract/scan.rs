//! Neuron scans, forward and backward.

use crate::harness::{
    Loaded, broadcast_at, check_forward, check_gradients, compute, index, tensor,
};
use spikelet_expr::Expr;
use spikelet_graph::op::{Port, Ports, Recurrence, Scan};
use spikelet_graph::{DType, Tensor, Tracer, Var};
use std::sync::Arc;

fn symbols<const N: usize>(names: [&str; N]) -> [Expr; N] {
    names.map(Expr::symbol)
}

/// h = v·σ(a) + x, y = tanh h, v' = 0.9·h − 0.1·y
fn leaky() -> Arc<Recurrence> {
    let [x, v, a] = symbols(["x", "v", "a"]);
    let h = &v * a.sigmoid() + x;
    let y = h.tanh();
    let next = &h * 0.9 - &y * 0.1;
    Arc::new(
        Recurrence::new("leaky", ["x"], ["v"])
            .params(["a"])
            .output("y", y, false)
            .next(vec![next]),
    )
}

fn leaky_step(x: f64, v: f64, a: f64) -> (f64, f64) {
    let h = v * (1.0 / (1.0 + (-a).exp())) + x;
    (h.tanh(), h * 0.9 - h.tanh() * 0.1)
}

/// All results in one row: outputs, last states, state sequences.
fn joined(parts: &[Var]) -> Var {
    let flat: Vec<Var> = parts.iter().map(|p| p.flatten(0)).collect();
    Var::concat(&flat.iter().collect::<Vec<_>>(), 0)
}

fn leaky_expected(time: usize, step: &[usize], x: &Tensor, v: &Tensor, a: &Tensor) -> Vec<f64> {
    let n: usize = step.iter().product();
    let (xs, vs, params) = (x.to_f64(), v.to_f64(), a.to_f64());
    let at = |i: usize| index(i, step);
    let mut state: Vec<f64> = (0..n)
        .map(|i| broadcast_at(&vs, &v.shape, &at(i)))
        .collect();
    let (mut outputs, mut states) = (vec![], vec![]);
    for t in 0..time {
        for (i, state) in state.iter_mut().enumerate() {
            let x = if x.shape[0] == 1 {
                xs[i]
            } else {
                xs[t * n + i]
            };
            let (y, next) = leaky_step(x, *state, broadcast_at(&params, &a.shape, &at(i)));
            *state = next;
            outputs.push(y);
        }
        states.extend(&state);
    }
    [outputs, state, states].concat()
}

fn check_leaky(
    time: usize,
    x_time: usize,
    step: &[usize],
    v: &[usize],
    a: &[usize],
    gradients: bool,
) {
    let mut x = vec![x_time];
    x.extend(step);
    let inputs = [tensor(&x, 1), tensor(v, 2), tensor(a, 3)];
    let want = leaky_expected(time, step, &inputs[0], &inputs[1], &inputs[2]);
    let r = leaky();
    let build = |x: &[Var]| Var::scan(&r, time, &[&x[0]], &[&x[1]], &[&x[2]]);
    check_forward(&inputs, &[want.len()], &want, |_, x| joined(&build(x)));
    if gradients {
        check_gradients(&inputs, |_, x| joined(&build(x)));
        for k in 0..3 {
            check_gradients(&inputs, |_, x| build(x).swap_remove(k));
        }
    }
}

#[test]
fn states_and_parameters_broadcast_to_the_elements_of_a_step() {
    for a in [vec![], vec![1], vec![3], vec![2, 1], vec![1, 3], vec![2, 3]] {
        check_leaky(4, 4, &[2, 3], &[2, 3], &a, true);
        check_leaky(4, 4, &[2, 3], &a, &[], true);
    }
    check_leaky(3, 3, &[2, 3, 2, 2], &[2, 3, 2, 2], &[3, 1, 1], true);
    check_leaky(3, 3, &[5], &[], &[5], true);
}

#[test]
fn a_single_step_and_many_steps_are_sequences() {
    check_leaky(1, 1, &[3], &[3], &[], true);
    check_leaky(60, 60, &[2], &[2], &[1], true);
    check_leaky(1500, 1500, &[70], &[70], &[], false);
}

#[test]
fn an_input_that_is_constant_over_time_is_read_once() {
    check_leaky(5, 1, &[2, 3], &[2, 3], &[3], true);
}

#[test]
fn steps_longer_than_a_tile_are_complete() {
    check_leaky(2, 2, &[331], &[331], &[331], true);
    check_leaky(3, 3, &[40_003], &[], &[1], false);
    check_leaky(3, 1, &[7, 1301], &[7, 1], &[1301], false);
}

#[test]
fn long_sequences_of_many_elements_have_gradients() {
    // Large enough that the recomputed states fill their memory in several tiles.
    check_leaky(40, 40, &[9, 8], &[9, 8], &[8], true);
}

#[test]
fn two_states_two_sequences_and_two_parameters_work_together() {
    let [x, z, u, v, a, b] = symbols(["x", "z", "u", "v", "a", "b"]);
    let current = &u * &a + &x * &z;
    let h = &v * 0.7 + current.sin() - &b;
    let r = Recurrence::new("two", ["x", "z"], ["u", "v"])
        .params(["a", "b"])
        .output("y", h.tanh(), false)
        .output("w", &current * &h, false)
        .next(vec![current.clone(), &h - &v * 0.2]);
    let r = Arc::new(r);
    let (time, n) = (4, 6);
    for z_time in [time, 1] {
        let inputs = [
            tensor(&[time, 2, 3], 1),
            tensor(&[z_time, 2, 3], 2),
            tensor(&[2, 3], 3),
            tensor(&[], 4),
            tensor(&[2, 1], 5),
            tensor(&[3], 6),
        ];
        let data: Vec<Vec<f64>> = inputs.iter().map(Tensor::to_f64).collect();
        let (mut us, mut vs) = (data[2].clone(), vec![data[3][0]; n]);
        let mut results = vec![vec![]; 4];
        for t in 0..time {
            for i in 0..n {
                let x = data[0][t * n + i];
                let z = data[1][if z_time == 1 { i } else { t * n + i }];
                let current = us[i] * data[4][i / 3] + x * z;
                let h = vs[i] * 0.7 + current.sin() - data[5][i % 3];
                results[0].push(h.tanh());
                results[1].push(current * h);
                (us[i], vs[i]) = (current, h - vs[i] * 0.2);
            }
            results[2].extend(us.clone());
            results[3].extend(vs.clone());
        }
        let states = results.split_off(2).concat();
        let want = [results.concat(), us, vs, states].concat();
        let build =
            |x: &[Var]| Var::scan(&r, time, &[&x[0], &x[1]], &[&x[2], &x[3]], &[&x[4], &x[5]]);
        check_forward(&inputs, &[want.len()], &want, |_, x| joined(&build(x)));
        check_gradients(&inputs, |_, x| joined(&build(x)));
        for k in 0..6 {
            check_gradients(&inputs, |_, x| build(x).swap_remove(k));
        }
    }
}

#[test]
fn a_recurrence_without_state_is_a_map_over_time() {
    let x = Expr::symbol("x");
    let r = Arc::new(Recurrence::new("relu", ["x"], []).output("y", x.sin(), false));
    let input = tensor(&[3, 4], 1);
    let want: Vec<f64> = input.to_f64().iter().map(|x| x.sin()).collect();
    let build = |x: &[Var]| Var::scan(&r, 3, &[&x[0]], &[], &[]).swap_remove(0);
    check_forward(std::slice::from_ref(&input), &[3, 4], &want, |_, x| {
        build(x)
    });
    check_gradients(&[input], |_, x| build(x));
}

/// H = V + (X − V)/τ, S = H ≥ 1, V' = (1 − S)·H; the derivative of S is that of σ(4(H − 1)).
fn lif() -> Arc<Recurrence> {
    let [x, v] = symbols(["x", "v"]);
    let h = &v + (x - &v) / 3.0;
    let u = &h - 1.0;
    let s = Expr::custom_gradient(u.ge(0.0), (&u * 4.0).sigmoid());
    let next = (1.0 - &s) * &h;
    Arc::new(
        Recurrence::new("lif", ["x"], ["v"])
            .output("s", s, true)
            .next(vec![next]),
    )
}

#[test]
fn spikes_are_those_of_the_equation_in_f32_bit_for_bit() {
    let (time, n) = (20, 1003);
    let values: Vec<f32> = tensor(&[time * n], 1)
        .to_f64()
        .iter()
        .map(|x| (x * 4.0) as f32)
        .collect();
    let mut v = vec![0.0_f32; n];
    let mut want = vec![];
    for t in 0..time {
        for i in 0..n {
            let h = v[i] + (values[t * n + i] - v[i]) / 3.0;
            let s = if h - 1.0 >= 0.0 { 1.0 } else { 0.0 };
            v[i] = (1.0 - s) * h;
            want.push(s);
        }
    }
    want.extend(&v);
    let inputs = [Tensor::f32([time, n], values), Tensor::f32([], [0.0])];
    let r = lif();
    let got = compute(&inputs, |_, x| {
        let parts = Var::scan(&r, time, &[&x[0]], &[&x[1]], &[]);
        joined(&parts[..2])
    });
    assert_eq!(got.as_f32().unwrap(), want);
}

#[test]
fn the_gradient_of_spikes_is_the_hand_written_recursion() {
    let (time, n) = (5, 3);
    let inputs = [tensor(&[time, n], 8), tensor(&[n], 9)];
    let inputs = inputs.map(|t| {
        Tensor::f64(
            t.shape.clone(),
            t.to_f64().iter().map(|x| x * 3.0).collect::<Vec<_>>(),
        )
    });
    let r = lif();
    let gradient = |k: usize| {
        compute(&inputs, |tracer: &Tracer, x| {
            let parts = Var::scan(&r, time, &[&x[0]], &[&x[1]], &[]);
            tracer
                .gradients(&parts[0].sum_all(), &[&x[0], &x[1]])
                .swap_remove(k)
        })
        .to_f64()
    };
    let (xs, v0) = (inputs[0].to_f64(), inputs[1].to_f64());
    let (dx, dv) = (gradient(0), gradient(1));
    for i in 0..n {
        let mut v = vec![v0[i]];
        let mut h = vec![];
        for t in 0..time {
            h.push(v[t] + (xs[t * n + i] - v[t]) / 3.0);
            v.push(if h[t] >= 1.0 { 0.0 } else { h[t] });
        }
        let mut after = 0.0;
        for t in (0..time).rev() {
            let p = 1.0 / (1.0 + (-4.0 * (h[t] - 1.0)).exp());
            let slope = 4.0 * p * (1.0 - p);
            let spike = if h[t] >= 1.0 { 1.0 } else { 0.0 };
            let dh = slope + after * ((1.0 - spike) - h[t] * slope);
            assert!(
                (dx[t * n + i] - dh / 3.0).abs() < 1e-12,
                "step {t}, neuron {i}"
            );
            after = dh * (1.0 - 1.0 / 3.0);
        }
        assert!((dv[i] - after).abs() < 1e-12, "neuron {i}");
    }
}

#[test]
fn kept_states_are_those_of_the_state_sequence() {
    for (time, every) in [(10, 5), (11, 5), (7, 1), (6, 4)] {
        let tracer = Tracer::new(DType::F64);
        let x = tracer.input("x0", DType::F64, [time, 40]);
        let (v, a) = (tracer.state("x1", [40]), tracer.parameter("x2", [40]));
        let op = Scan {
            checkpoint: Some(every),
            ..Scan::new(leaky(), time)
        };
        let made = tracer.apply(op.clone(), &[&x, &v, &a]);
        let kept = made.len() - 1;
        assert_eq!(Some(kept), op.result(Port::Checkpoint(0)));
        let rows = time.div_ceil(every) - 1;
        assert_eq!(made[kept].shape(), [rows, 40]);
        tracer.output("kept", &made[kept]);
        tracer.output("v_seq", &made[kept - 1]);
        let mut loaded = Loaded::new(tracer.finish().unwrap(), 2);
        for (k, shape) in [vec![time, 40], vec![40], vec![40]].iter().enumerate() {
            loaded.set(&format!("x{k}"), &tensor(shape, k as u64));
        }
        loaded.run();
        let (kept, all) = (loaded.get("kept").to_f64(), loaded.get("v_seq").to_f64());
        for row in 0..rows {
            let t = (row + 1) * every - 1;
            assert_eq!(kept[row * 40..(row + 1) * 40], all[t * 40..(t + 1) * 40]);
        }
    }
}
