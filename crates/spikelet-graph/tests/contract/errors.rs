//! Errors for operands that do not match.

use insta::assert_snapshot;
use spikelet_expr::Expr;
use spikelet_graph::op::{Distribution, Draw, MatMul, Recurrence, Scan};
use spikelet_graph::{DType, RandomAxes, Tracer, Var};
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
    Arc::new(
        Recurrence::new("if", ["x"], ["v"])
            .output("s", h.ge(1.0), true)
            .next(vec![h; next]),
    )
}

#[test]
fn a_shape_error_names_layer_operation_and_both_shapes() {
    assert_snapshot!(error(|t| {
        let (x, w) = (t.input("x", F, [50, 256, 1024]), t.parameter("w", [10, 784]));
        t.scope("fc", || t.scope("0", || x.linear(&w)));
    }), @"
    matmul in `fc.0`: expects 784 input features; the operand has 1024
      given: f32[50, 256, 1024] and f32[10, 784]
      help: the weight must have 1024 input features, or the input 784
    ");
    assert_snapshot!(error(|t| { let _ = t.input("a", F, [4, 3]) + t.input("b", F, [2]); }), @"
    map: shapes do not broadcast: [2] against [4, 3]
      given: f32[4, 3] and f32[2]
      help: axes must be equal or 1, counted from the last
    ");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 3]).reshape([5]); }), @"
    reshape: 12 elements do not fill the shape [5], which has 5
      given: f32[4, 3]
      help: the number of elements must stay the same
    ");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 3]).expand([4, 4]); }), @"
    expand: does not broadcast: [4, 3] against [4, 4]
      given: f32[4, 3]
      help: axes must be equal or 1, counted from the last
    ");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 3]).permute(&[0, 0]); }), @"
    permute: order [0, 0] of a tensor with 2 axes
      given: f32[4, 3]
      help: list each axis exactly once, counted from 0
    ");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 3]).slice(1, 2..5); }), @"
    slice: range 2..5 of an axis with 3 elements
      given: f32[4, 3]
      help: the range must lie inside the axis
    ");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 3]).slice(2, 0..1); }), @"
    slice: axis 2 of a tensor with 2 axes
      given: f32[4, 3]
      help: axes are counted from 0
    ");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 3]).sum(&[1, 0]); }), @"
    sum: axes [1, 0] of a tensor with 2 axes
      given: f32[4, 3]
      help: list each axis once, in ascending order, counted from 0
    ");
    assert_snapshot!(error(|t| { t.input("a", F, [4, 0]).max(&[1]); }), @"
    max: maximum over an empty axis
      given: f32[4, 0]
      help: pass a tensor with at least one element
    ");
    assert_snapshot!(error(|t| {
        let (a, b) = (t.input("a", F, [4, 3]), t.input("b", F, [4, 2]));
        Var::concat(&[&a, &b], 0);
    }), @"
    concat: the tensors' shapes or types differ: [4, 3] against [4, 2]
      given: f32[4, 3] and f32[4, 2]
      help: all axes except the concatenated one, and the element types, must be equal
    ");
    assert_snapshot!(error(|t| {
        let (a, b) = (t.input("a", DType::I64, [4]), t.input("b", DType::I64, [5]));
        a.equals(&b);
    }), @"
    equal: shapes differ: [4] against [5]
      given: i64[4] and i64[5]
      help: compare tensors of one shape
    ");
    assert_snapshot!(error(|t| { t.input("a", F, []).linear(&t.input("b", F, [1, 1])); }), @"
    matmul: an operand has no axis: [] against [1, 1]
      given: f32[] and f32[1, 1]
      help: reshape scalars to matrices first
    ");
    assert_snapshot!(error(|t| { t.input("a", F, []).log_softmax(); }), @"
    log_softmax: needs floating-point scores with a last axis of at least one class
      given: f32[]
      help: reshape the scores to [..., classes]
    ");
}

#[test]
fn operands_of_a_scan_are_sequences_states_and_parameters() {
    assert_snapshot!(error(|t| {
        let (x, v) = (t.input("x", F, [5, 8, 4]), t.state("v", [8, 5]));
        t.scope("if", || Var::scan(&neuron(1), 5, &[&x], &[&v], &[]));
    }), @"
    if in `if`: a state or parameter does not broadcast to one time step: [8, 5] against [8, 4]
      given: f32[5, 8, 4] and f32[8, 5]
      help: axes must be equal or 1, counted from the last
    ");
    assert_snapshot!(error(|t| {
        let (x, v) = (t.input("x", F, [4, 8]), t.state("v", [8]));
        Var::scan(&neuron(1), 5, &[&x], &[&v], &[]);
    }), @"
    if: the shapes of the sequences differ: [4, 8] against [5, 8]
      given: f32[4, 8] and f32[8]
      help: make all sequences [T, N, ...]
    ");
    assert_snapshot!(error(|t| {
        let (x, v) = (t.input("x", F, [4, 8]), t.state("v", [8]));
        Var::scan(&neuron(2), 4, &[&x], &[&v], &[]);
    }), @"
    if: 1 sequences, 1 states of which 2 have a next value
      given: f32[4, 8] and f32[8]
      help: pass at least one sequence, and define the next value of each state
    ");
    assert_snapshot!(error(|t| {
        let (x, v) = (t.input("x", F, [0, 8]), t.state("v", [8]));
        Var::scan(&neuron(1), 0, &[&x], &[&v], &[]);
    }), @"
    if: no time steps
      given: f32[0, 8] and f32[8]
      help: pass sequences [T, N, ...] of at least one step
    ");
    assert_snapshot!(error(|t| {
        let x = t.input("x", F, [4, 8]);
        let scan = Scan::new(neuron(1), 4);
        t.apply(scan, &[&x]);
    }), @"
    if: takes 2 operands; 1 were given
      given: f32[4, 8]
      help: pass exactly the operands of the operation
    ");
}

#[test]
fn element_types_must_agree() {
    assert_snapshot!(error(|t| { let _ = t.input("a", F, [3]) * t.input("b", DType::F64, [3]); }), @"
    map: elementwise arithmetic on f32 and f64
      given: f32[3] and f64[3]
      help: convert the operands to one floating-point type
    ");
    assert_snapshot!(error(|t| { t.input("a", DType::I64, [3]).exp(); }), @"
    map: elementwise arithmetic on i64 and i64
      given: i64[3]
      help: convert the operands to one floating-point type
    ");
    assert_snapshot!(error(|t| { t.input("a", F, [3]).one_hot(4); }), @"
    one_hot: expects class numbers (i64), not f32
      given: f32[3]
      help: pass labels as an i64 tensor
    ");
    assert_snapshot!(error(|t| { t.input("a", DType::I64, [3]).argmax(); }), @"
    argmax: expects floating-point scores, not i64
      given: i64[3]
      help: use f32 or f64
    ");
    assert_snapshot!(error(|t| { t.input("a", DType::I64, [3]).sum(&[0]); }), @"
    sum: cannot reduce integers
      given: i64[3]
      help: convert to a floating-point type
    ");
    assert_snapshot!(error(|t| { t.input("a", F, [2, 3]).linear(&t.input("b", DType::F64, [4, 3])); }), @"
    matmul: cannot multiply f32 by f64
      given: f32[2, 3] and f64[4, 3]
      help: convert the operands to one floating-point type
    ");
    assert_snapshot!(error(|t| { t.input("a", F, [3]).uniform([4], RandomAxes::Nothing); }), @"
    uniform: the generator's state is f32[3]
      given: f32[3]
      help: pass i64[4]: seed, step, offset in time steps, offset in images
    ");
    assert_snapshot!(error(|t| { t.input("a", DType::I64, [4]).uniform([4], RandomAxes::TimeAndBatch); }), @"
    uniform: draws over TimeAndBatch need axes that the shape lacks
      given: [4]
      help: make the shape [T, …], [N, …] or [T, N, …], or use other RandomAxes
    ");
    assert_snapshot!(error(|t| {
        let (p, g) = (t.input("p", DType::F64, [3]), t.input("g", DType::I64, [4]));
        let distribution = Distribution::Bernoulli;
        t.apply1(Draw { distribution, stream: 0, over_time: false, first_step: 0, per_image: 0, shape: vec![3], dtype: F }, &[&g, &p]);
    }), @"
    bernoulli: draws f32 from probabilities in f64
      given: i64[4] and f64[3]
      help: draw in the floating-point type of the probabilities
    ");
}

#[test]
fn names_are_unique() {
    assert_snapshot!(error(|t| { t.input("x", F, [1]); t.parameter("x", [2]); }), @"input `x`: the name is already in use; use a different name for each input");
    assert_snapshot!(error(|t| {
        let x = t.input("x", F, [1]);
        t.output("y", &x);
        t.output("y", &x.exp());
    }), @"output `y`: the name is already in use; use a different name for each output");
}

#[test]
fn an_update_keeps_type_and_shape_and_is_of_an_input() {
    assert_snapshot!(error(|t| t.update(&t.state("v", [2]), &t.input("x", F, [3]))), @"
    update: the new value has another type or shape
      given: f32[2] and f32[3]
      help: compute a new value of the type and shape of the updated tensor
    ");
    assert_snapshot!(error(|t| t.update(&t.state("v", [2]), &t.input("x", DType::F64, [2]))), @"
    update: the new value has another type or shape
      given: f32[2] and f64[2]
      help: compute a new value of the type and shape of the updated tensor
    ");
    assert_snapshot!(error(|t| { let x = t.input("x", F, [2]); t.update(&x.exp(), &x); }), @"
    update: the updated tensor is the result of an operation
      given: f32[2] and f32[2]
      help: update an input, a parameter or a state
    ");
}

#[test]
fn a_gradient_is_that_of_one_number() {
    assert_snapshot!(error(|t| { let x = t.input("x", F, [3]); t.gradients(&x.exp(), &[&x]); }), @"no gradient of `a loss of type f32[3]`: the loss must have one floating-point element; reduce it by sum or mean");
    assert_snapshot!(error(|t| {
        let x = t.input("x", DType::I64, [1]);
        t.gradients(&x, &[&x]);
    }), @"no gradient of `a loss of type i64[1]`: the loss must have one floating-point element; reduce it by sum or mean");
}

#[test]
fn a_loss_that_does_not_depend_on_a_parameter_gives_zeros() {
    let t = Tracer::new(F);
    let (x, w) = (t.input("x", F, [3]), t.parameter("w", [2]));
    let dw = t.gradients(&x.sum_all(), &[&w]).remove(0);
    t.output("dw", &dw);
    assert_snapshot!(t.finish().unwrap(), @"
    %0 = Data `x`  f32[3]
    %1 = Parameter `w`  f32[2]
    %2 = sum[0](%0)  f32[]
    %3 = fill[1]()  f32[]  ∂ loss
    %4 = fill[0]()  f32[2]  ∂ loss
    `dw` = %4
    ");
}

#[test]
fn values_of_two_tracers_do_not_mix() {
    let other = Tracer::new(F).input("x", F, [3]);
    assert_snapshot!(error(|t| { let _ = t.input("a", F, [3]) + &other; }), @"
    map: an operand belongs to another tracer
      given: f32[3] and f32[3]
      help: trace one program with one tracer and its clones
    ");
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
    assert!(
        t.finish()
            .unwrap_err()
            .to_string()
            .starts_with("matmul in `fc`")
    );
}

#[test]
fn an_operation_says_how_many_operands_it_takes() {
    let op = MatMul::new(false, false);
    assert_snapshot!(error(|t| { t.apply(op, &[&t.input("x", F, [3])]); }), @"
    matmul: takes 2 operands; 1 were given
      given: f32[3]
      help: pass exactly the operands of the operation
    ");
}

#[test]
fn loops_whose_values_or_order_do_not_fit_are_refused() {
    let start = |t: &Tracer| (t.input("x", F, [3, 2]), t.state("h", [1, 2]));
    let invariant = error(|t| {
        let (x, h) = start(t);
        let open = t.begin_loop(3);
        let (_, x) = (open.carried(&h), open.sequence(&x));
        let made = t.scope("rnn", || open.finish(&[(&x, &x.relu())], &[&x]));
        assert!(made.is_err());
    });
    assert_snapshot!(invariant, @"
    loop in `rnn`: pair 0 of the next values starts with a value that the loop does not carry
      help: start each pair with a result of `LoopTrace::carried` of this loop
    ");
    let twice = error(|t| {
        let (x, h) = start(t);
        let open = t.begin_loop(3);
        let (h, x) = (open.carried(&h), open.sequence(&x));
        assert!(open.finish(&[(&h, &x), (&h, &(&x + 1.0))], &[&x]).is_err());
    });
    assert_snapshot!(twice, @"
    loop: pair 1 of the next values starts with a carried value that an earlier pair has
      help: give each carried value one next value
    ");
    let order = error(|t| {
        let (x, _) = start(t);
        let outer = t.begin_loop(3);
        let x = outer.sequence(&x);
        let inner = t.begin_loop(1);
        let x = inner.sequence(&x);
        assert!(outer.finish(&[], &[&x]).is_err());
        assert!(inner.finish(&[], &[&x]).is_err());
    });
    assert_snapshot!(order, @"
    loop: a loop inside this one is still open
      help: finish a loop before the loop around it
    ");
    let dropped = error(|t| {
        let (x, _) = start(t);
        let outer = t.begin_loop(3);
        let inner = t.begin_loop(3);
        let x = inner.sequence(&x);
        drop(outer);
        assert!(inner.finish(&[], &[&x]).is_err());
    });
    assert_eq!(dropped, order);
}

#[test]
fn names_that_two_values_of_a_recurrence_share_are_refused() {
    assert_snapshot!(error(|t| {
        let x = Expr::symbol("x");
        let same = Recurrence::new("same", ["x"], ["x"])
            .output("s", x.ge(1.0), true)
            .next(vec![x * 0.5]);
        let (x, v) = (t.input("x", F, [3, 2]), t.state("v", [2]));
        Var::scan(&Arc::new(same), 3, &[&x], &[&v], &[]);
    }), @"
    same: two of its inputs, states and parameters have the name `x`
      given: f32[3, 2] and f32[2]
      help: give each a name of its own
    ");
}

#[test]
fn a_variance_that_divides_by_0_is_refused() {
    assert_snapshot!(error(|t| { t.input("x", F, [4, 1]).var(&[1], 1); }), @"
    var: the variance of 1 elements with a correction of 1 divides by 0 or less
      given: f32[4, 1]
      help: use a smaller correction, or take the variance over more elements
    ");
}
