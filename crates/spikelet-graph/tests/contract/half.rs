//! 16-bit types: what operations make of them, and of which type gradients are.

use insta::assert_snapshot;
use spikelet_expr::Expr;
use spikelet_graph::op::{MatMul, MatmulPrecision, Recurrence, Reduce};
use spikelet_graph::{DType, Graph, Tensor, Tracer, Var, pass};
use std::sync::Arc;

const F: DType = DType::F32;
const BF: DType = DType::BF16;

fn traced(build: impl FnOnce(&Tracer)) -> Graph {
    let tracer = Tracer::new(F);
    build(&tracer);
    tracer.finish().unwrap()
}

fn error(build: impl FnOnce(&Tracer)) -> String {
    let tracer = Tracer::new(F);
    build(&tracer);
    tracer.finish().unwrap_err().to_string()
}

fn neuron() -> Arc<Recurrence> {
    let [x, v, w] = ["x", "v", "w"].map(Expr::symbol);
    let h = &v + x * w;
    Arc::new(
        Recurrence::new("if", ["x"], ["v"])
            .params(["w"])
            .output("s", h.ge(1.0), true)
            .next(vec![h]),
    )
}

#[test]
fn elementwise_results_have_the_operands_type_or_one_of_their_own() {
    assert_snapshot!(traced(|t| {
        let (a, b) = (t.input("a", BF, [2, 3]), t.input("b", F, [3]));
        t.output("one type", &a.exp());
        t.output("mixed", &(&a * &b));
        t.output("two halves", &(&a + t.input("c", DType::F16, [3])));
        t.output("cast", &b.cast(DType::F16));
        t.output("as it was", &b.cast(F));
    }), @"
    %0 = Data `a`  bf16[2, 3]
    %1 = Data `b`  f32[3]
    %4 = Data `c`  f16[3]
    %2 = map[exp(x0)](%0)  bf16[2, 3]
    %3 = map[x0 · x1](%0, %1)  f32[2, 3]
    %5 = map[x0 + x1](%0, %4)  f32[2, 3]
    %6 = map[x0 as f16](%1)  f16[3]
    `one type` = %2
    `mixed` = %3
    `two halves` = %5
    `cast` = %6
    `as it was` = %1
    ");
}

#[test]
fn a_gradient_has_the_type_of_what_it_belongs_to() {
    assert_snapshot!(traced(|t| {
        let (x, w) = (t.input("x", F, [5, 4, 6]), t.parameter("w", [3, 6]));
        let (bias, v, gain) = (t.parameter("bias", [3]), t.state("v", [4, 3]), t.parameter("gain", []));
        let wide = x.cast(BF).linear(&w.cast(BF));
        let y = Var::map(&[&wide, &bias], |x| &x[0] + &x[1]).cast(BF);
        let made = Var::scan(&neuron(), 5, &[&y], &[&v], &[&gain]);
        let rate = Reduce { out: Some(F), ..Reduce::sum([0, 1]) };
        let loss = (t.apply1(rate, &[&made[0]]) + made[1].max(&[0])).square().sum_all();
        let grads = t.gradients(&loss, &[&w, &bias, &gain, &v]);
        for (name, grad) in ["dw", "dbias", "dgain", "dv"].iter().zip(&grads) {
            t.output(name, grad);
        }
    }), @"
    %0 = Data `x`  f32[5, 4, 6]
    %1 = Parameter `w`  f32[3, 6]
    %2 = Parameter `bias`  f32[3]
    %3 = State `v`  f32[4, 3]
    %4 = Parameter `gain`  f32[]
    %5 = map[x0 as bf16](%0)  bf16[5, 4, 6]
    %6 = map[x0 as bf16](%1)  bf16[3, 6]
    %7 = matmul[a·bᵀ](%5, %6)  bf16[5, 4, 3]
    %8 = map[x0 + x1](%7, %2)  f32[5, 4, 3]
    %9 = map[x0 as bf16](%8)  bf16[5, 4, 3]
    %10, %11, %12 = scan[if #0, T=5](%9, %3, %4)  bf16[5, 4, 3], f32[4, 3], bf16[5, 4, 3]
        x; v; w; s spikes
        #0 = v + x · w
        s = #0 ≥ 1
        v ← #0
    %13 = sum[0, 1] as f32(%10)  f32[3]
    %14 = max[0](%11)  f32[3]
    %15 = map[x0 + x1](%13, %14)  f32[3]
    %16 = map[x0 · x0](%15)  f32[3]
    %17 = sum[0](%16)  f32[]
    %18 = fill[1]()  f32[]  ∂ loss
    %19 = reshape[1](%18)  f32[1]  ∂
    %20 = expand[3](%19)  f32[3]  ∂
    %21 = map[x1 · x0 + x1 · x0 as f32](%15, %20)  f32[3]  ∂
    %22 = reshape[1, 3](%21)  f32[1, 3]  ∂
    %23 = reshape[1, 3](%14)  f32[1, 3]  ∂
    %24 = map[x0 = x1 as f32](%11, %23)  f32[4, 3]  ∂
    %25 = sum[0] as f32(%24)  f32[3]  ∂
    %26 = reshape[1, 3](%25)  f32[1, 3]  ∂
    %27 = map[x0 · (x1 / x2) as f32](%24, %22, %26)  f32[4, 3]  ∂
    %28 = map[x0 as bf16](%21)  bf16[3]  ∂
    %29 = reshape[1, 1, 3](%28)  bf16[1, 1, 3]  ∂
    %30 = expand[5, 4, 3](%29)  bf16[5, 4, 3]  ∂
    %31, %32, %33 = scan_grad[if #0, T=5; of output 0, last 0](%9, %3, %4, %30, %27)  bf16[5, 4, 3], f32[4, 3], f32[4, 3]  ∂
    %34 = sum[0, 1](%33)  f32[]  ∂
    %35 = map[x0 as f32](%31)  f32[5, 4, 3]  ∂
    %36 = map[x0 as bf16](%35)  bf16[5, 4, 3]  ∂
    %37 = sum[0, 1](%35)  f32[3]  ∂
    %38 = matmul[aᵀ·b](%36, %5)  bf16[3, 6]  ∂
    %39 = map[x0 as f32](%38)  f32[3, 6]  ∂
    `dw` = %39
    `dbias` = %37
    `dgain` = %34
    `dv` = %32
    ");
}

#[test]
fn a_product_of_halves_may_be_stored_as_f32_and_a_derivative_keeps_the_precision() {
    assert_snapshot!(traced(|t| {
        let (x, w) = (t.input("x", BF, [4, 6]), t.input("w", BF, [3, 6]));
        let wide = MatMul { out: Some(F), ..MatMul::new(false, true) };
        let y = t.apply1(wide, &[&x, &w]);
        t.output("dw", &t.gradients(&y.sum_all(), &[&w])[0]);
    }), @"
    %0 = Data `x`  bf16[4, 6]
    %1 = Data `w`  bf16[3, 6]
    %2 = matmul[a·bᵀ as f32](%0, %1)  f32[4, 3]
    %3 = sum[0, 1](%2)  f32[]
    %4 = fill[1]()  f32[]  ∂ loss
    %5 = reshape[1, 1](%4)  f32[1, 1]  ∂
    %6 = expand[4, 3](%5)  f32[4, 3]  ∂
    %7 = map[x0 as bf16](%6)  bf16[4, 3]  ∂
    %8 = matmul[aᵀ·b](%7, %0)  bf16[3, 6]  ∂
    `dw` = %8
    ");
    assert_snapshot!(traced(|t| {
        let (x, w) = (t.input("x", F, [4, 6]), t.input("w", F, [3, 6]));
        let quick = MatMul { precision: MatmulPrecision::Tf32, ..MatMul::new(false, true) };
        let y = t.apply1(quick, &[&x, &w]);
        t.output("dw", &t.gradients(&y.sum_all(), &[&w])[0]);
    }), @"
    %0 = Data `x`  f32[4, 6]
    %1 = Data `w`  f32[3, 6]
    %2 = matmul[a·bᵀ, tf32](%0, %1)  f32[4, 3]
    %3 = sum[0, 1](%2)  f32[]
    %4 = fill[1]()  f32[]  ∂ loss
    %5 = reshape[1, 1](%4)  f32[1, 1]  ∂
    %6 = expand[4, 3](%5)  f32[4, 3]  ∂
    %7 = matmul[aᵀ·b, tf32](%6, %0)  f32[3, 6]  ∂
    `dw` = %7
    ");
}

#[test]
fn scores_may_be_halves() {
    assert_snapshot!(traced(|t| {
        let scores = t.input("scores", BF, [8, 10]);
        let labels = t.input("labels", DType::I64, [8]);
        t.output("class", &scores.argmax());
        let loss = (scores.log_softmax() * labels.one_hot(10)).sum_all() + scores.max(&[0, 1]);
        t.output("gradient", &t.gradients(&loss, &[&scores])[0]);
    }), @"
    %0 = Data `scores`  bf16[8, 10]
    %1 = Data `labels`  i64[8]
    %2 = argmax(%0)  i64[8]
    %3 = log_softmax(%0)  f32[8, 10]
    %4 = one_hot(%1)  f32[8, 10]
    %5 = map[x0 · x1](%3, %4)  f32[8, 10]
    %6 = sum[0, 1](%5)  f32[]
    %7 = max[0, 1](%0)  bf16[]
    %8 = map[x0 + x1](%6, %7)  f32[]
    %9 = fill[1]()  f32[]  ∂ loss
    %10 = map[x0 as bf16](%9)  bf16[]  ∂
    %11 = reshape[1, 1](%10)  bf16[1, 1]  ∂
    %12 = reshape[1, 1](%7)  bf16[1, 1]  ∂
    %13 = map[x0 = x1 as bf16](%0, %12)  bf16[8, 10]  ∂
    %14 = sum[0, 1] as f32(%13)  f32[]  ∂
    %15 = reshape[1, 1](%14)  f32[1, 1]  ∂
    %16 = map[x0 · (x1 / x2) as bf16](%13, %11, %15)  bf16[8, 10]  ∂
    %17 = reshape[1, 1](%9)  f32[1, 1]  ∂
    %18 = expand[8, 10](%17)  f32[8, 10]  ∂
    %19 = map[x1 · x0 as f32](%4, %18)  f32[8, 10]  ∂
    %20 = sum[1](%19)  f32[8]  ∂
    %21 = reshape[8, 1](%20)  f32[8, 1]  ∂
    %22 = map[x0 - exp(x1) · x2 as bf16](%19, %3, %21)  bf16[8, 10]  ∂
    %23 = map[x0 + x1](%16, %22)  bf16[8, 10]  ∂
    `class` = %2
    `gradient` = %23
    ");
}

#[test]
fn maps_are_not_joined_where_a_rounding_would_be_lost() {
    let mut graph = traced(|t| {
        let (a, b) = (t.input("a", F, [4]), t.input("b", F, [4]));
        let joined = (&a * &b).cast(BF);
        let tenth = t.fill(BF, [4], 0.1);
        t.output("y", &(joined.cast(F) - &b + tenth));
    });
    pass::fuse::run(&mut graph);
    assert_snapshot!(graph, @"
    %0 = Data `a`  f32[4]
    %1 = Data `b`  f32[4]
    %3 = map[x0 · x1 as bf16](%0, %1)  bf16[4]
    %7 = map[x0 - x1 + 0.10009765625 as f32](%3, %1)  f32[4]
    `y` = %7
    ");
}

#[test]
fn types_that_do_not_fit_are_refused() {
    assert_snapshot!(error(|t| { t.input("a", F, [2]).cast(DType::F64); }), @"
    map: cannot store 1 results of f32 arithmetic as [f64]
      given: f32[2]
      help: pass one type for each result: f64 for f64 arithmetic, else f32, f16 or bf16
    ");
    assert_snapshot!(error(|t| { t.input("a", BF, [2, 3]).linear(&t.input("b", F, [4, 3])); }), @"
    matmul: cannot multiply bf16 by f32
      given: bf16[2, 3] and f32[4, 3]
      help: convert the operands to one floating-point type
    ");
    assert_snapshot!(error(|t| {
        let op = MatMul { out: Some(DType::F16), ..MatMul::new(false, true) };
        t.apply1(op, &[&t.input("a", BF, [2, 3]), &t.input("b", BF, [4, 3])]);
    }), @"
    matmul: cannot store a product of bf16 as f16
      given: bf16[2, 3] and bf16[4, 3]
      help: store it in the operands' type; products of f16 or bf16 may be stored as f32
    ");
    assert_snapshot!(error(|t| {
        let op = Reduce { out: Some(BF), ..Reduce::max([0]) };
        t.apply1(op, &[&t.input("a", F, [2, 3])]);
    }), @"
    max: cannot store the max of f32 as bf16
      given: f32[2, 3]
      help: store it in the operand's own type or in f32; a sum may become f16 or bf16
    ");
    assert_snapshot!(error(|t| {
        let (x, v) = (t.input("x", BF, [4, 8]), t.input("v", BF, [8]));
        Var::scan(&neuron(), 4, &[&x], &[&v], &[&v]);
    }), @"
    if: sequences, states and parameters differ in element type
      given: bf16[4, 8] and bf16[8] and bf16[8]
      help: use one floating-point type; states and parameters of f16 and bf16 sequences are f32
    ");
}

#[test]
fn tensors_are_converted_and_take_two_bytes_an_element() {
    for dtype in [DType::F16, BF] {
        let tensor = Tensor::f32([3], [0.5, -2.0, 65504.0]).cast(dtype);
        assert_eq!(tensor.ty().dtype, dtype);
        assert_eq!(tensor.ty().bytes(), 6);
        assert_eq!(tensor.to_f64()[..2], [0.5, -2.0]);
        assert_eq!(tensor.cast(F).ty().dtype, F);
        assert_eq!(Tensor::zeros(&tensor.ty()).unwrap().to_f64(), [0.0; 3]);
    }
}
