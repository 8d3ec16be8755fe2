//! What is said to operands that do not fit.

use insta::assert_snapshot;
use spikelet_expr::Expr;
use spikelet_graph::op::{Distribution, Draw, MatMul, Recurrence, Scan};
use spikelet_graph::{DType, Tracer, Var};
use std::sync::Arc;

const F: DType = DType::F32;

/// The first error of a trace.
fn error(build: impl FnOnce(&Tracer)) -> String {
    let tracer = Tracer::new(F);
    build(&tracer);
    tracer.finish().unwrap_err().to_string()
}

fn neuron(next: usize) -> Arc<Recurrence> {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    let h = &v + x;
    Arc::new(Recurrence::new("if", ["x"], ["v"]).output("s", h.ge(1.0), true).next(vec![h; next]))
}

#[test]
fn a_shape_error_names_layer_operation_and_both_shapes() {
    assert_snapshot!(error(|t| {
        let (x, w) = (t.input("x", F, [50, 256, 1024]), t.parameter("w", [10, 784]));
        t.scope("fc", || t.scope("0", || x.linear(&w)));
    }), @"");
    assert_snapshot!(error(|t| { let _ = t.input("a", F, [4, 3]) + t.input("b", F, [2]); }), @"");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 3]).reshape([5]); }), @"");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 3]).expand([4, 4]); }), @"");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 3]).permute(&[0, 0]); }), @"");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 3]).slice(1, 2..5); }), @"");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 3]).slice(2, 0..1); }), @"");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 3]).sum(&[1, 0]); }), @"");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 0]).max(&[1]); }), @"");
    assert_snapshot!(error(|t| {
        let (a, b) = (t.input("a", F, [4, 3]), t.input("b", F, [4, 2]));
        Var::concat(&[&a, &b], 0);
    }), @"");
    assert_snapshot!(error(|t| {
        let (a, b) = (t.input("a", DType::I64, [4]), t.input("b", DType::I64, [5]));
        a.equals(&b);
    }), @"");
    assert_snapshot!(error(|t| { t.input("a", F, []).linear(&t.input("b", F, [1, 1])); }), @"");
    assert_snapshot!(error(|t| { t.input("a", F, []).log_softmax(); }), @"");
}

#[test]
fn operands_of_a_scan_are_sequences_states_and_parameters() {
    assert_snapshot!(error(|t| {
        let (x, v) = (t.input("x", F, [5, 8, 4]), t.state("v", [8, 5]));
        t.scope("if", || Var::scan(&neuron(1), 5, &[&x], &[&v], &[]));
    }), @"");
    assert_snapshot!(error(|t| {
        let (x, v) = (t.input("x", F, [4, 8]), t.state("v", [8]));
        Var::scan(&neuron(1), 5, &[&x], &[&v], &[]);
    }), @"");
    assert_snapshot!(error(|t| {
        let (x, v) = (t.input("x", F, [4, 8]), t.state("v", [8]));
        Var::scan(&neuron(2), 4, &[&x], &[&v], &[]);
    }), @"");
    assert_snapshot!(error(|t| {
        let (x, v) = (t.input("x", F, [0, 8]), t.state("v", [8]));
        Var::scan(&neuron(1), 0, &[&x], &[&v], &[]);
    }), @"");
    assert_snapshot!(error(|t| {
        let x = t.input("x", F, [4, 8]);
        let scan = Scan { recurrence: neuron(1), time_steps: 4 };
        t.apply(scan, &[&x]);
    }), @"");
}

#[test]
fn element_types_must_agree() {
    assert_snapshot!(error(|t| { let _ = t.input("a", F, [3]) * t.input("b", DType::F64, [3]); }), @"");
    assert_snapshot!(error(|t| { t.input("a", DType::I64, [3]).exp(); }), @"");
    assert_snapshot!(error(|t| { t.input("a", F, [3]).one_hot(4); }), @"");
    assert_snapshot!(error(|t| { t.input("a", DType::I64, [3]).argmax(); }), @"");
    assert_snapshot!(error(|t| { t.input("a", DType::I64, [3]).sum(&[0]); }), @"");
    assert_snapshot!(error(|t| { t.input("a", F, [2, 3]).linear(&t.input("b", DType::F64, [4, 3])); }), @"");
    assert_snapshot!(error(|t| { t.input("a", F, [3]).uniform([4], false); }), @"");
    assert_snapshot!(error(|t| {
        let (p, g) = (t.input("p", DType::F64, [3]), t.input("g", DType::I64, [3]));
        let distribution = Distribution::Bernoulli;
        t.apply1(Draw { distribution, stream: 0, over_time: false, shape: vec![3], dtype: F }, &[&g, &p]);
    }), @"");
}

#[test]
fn names_are_unique() {
    assert_snapshot!(error(|t| { t.input("x", F, [1]); t.parameter("x", [2]); }), @"");
    assert_snapshot!(error(|t| {
        let x = t.input("x", F, [1]);
        t.output("y", &x);
        t.output("y", &x.exp());
    }), @"");
}

#[test]
fn an_update_keeps_type_and_shape_and_is_of_an_input() {
    assert_snapshot!(error(|t| t.update(&t.state("v", [2]), &t.input("x", F, [3]))), @"");
    assert_snapshot!(error(|t| t.update(&t.state("v", [2]), &t.input("x", DType::F64, [2]))), @"");
    assert_snapshot!(error(|t| { let x = t.input("x", F, [2]); t.update(&x.exp(), &x); }), @"");
}

#[test]
fn a_gradient_is_that_of_one_number() {
    assert_snapshot!(error(|t| { let x = t.input("x", F, [3]); t.gradients(&x.exp(), &[&x]); }), @"");
    assert_snapshot!(error(|t| {
        let x = t.input("x", DType::I64, [1]);
        t.gradients(&x, &[&x]);
    }), @"");
}

#[test]
fn a_loss_that_does_not_depend_on_a_parameter_gives_zeros() {
    let t = Tracer::new(F);
    let (x, w) = (t.input("x", F, [3]), t.parameter("w", [2]));
    let dw = t.gradients(&x.sum_all(), &[&w]).remove(0);
    t.output("dw", &dw);
    assert_snapshot!(t.finish().unwrap(), @"");
}

#[test]
fn values_of_two_tracers_do_not_mix() {
    let other = Tracer::new(F).input("x", F, [3]);
    assert_snapshot!(error(|t| { let _ = t.input("a", F, [3]) + &other; }), @"");
}

#[test]
fn the_first_error_is_kept_and_what_follows_from_it_is_ignored() {
    let t = Tracer::new(F);
    let x = t.input("x", F, [2, 3]);
    let bad = t.scope("fc", || x.linear(&t.parameter("w", [4, 5])));
    assert!(t.check().is_err());
    let after = (bad.exp() + &x).sum_all();
    let many = Var::map_many(&[&bad], |x| vec![x[0].clone(); 12]);
    assert_eq!(many.len(), 12);
    t.gradients(&after, &[&x]);
    t.output("y", &after);
    assert!(t.finish().unwrap_err().to_string().starts_with("matmul in `fc`"));
}

#[test]
fn an_operation_says_how_many_operands_it_takes() {
    let op = MatMul { transpose_a: false, transpose_b: false };
    assert_snapshot!(error(|t| { t.apply(op, &[&t.input("x", F, [3])]); }), @"");
}
