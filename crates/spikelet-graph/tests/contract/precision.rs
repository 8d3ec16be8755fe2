//! Networks in less than f32.

use crate::targets::Plain;
use insta::assert_snapshot;
use spikelet_expr::Expr;
use spikelet_graph::op::Recurrence;
use spikelet_graph::{DType, Graph, Plan, Precision, RandomAxes, Tracer, Var, pass};
use std::sync::Arc;

const F: DType = DType::F32;

fn traced(precision: Precision, build: impl FnOnce(&Tracer)) -> Graph {
    let tracer = Tracer::new(F);
    tracer.set_precision(precision);
    build(&tracer);
    tracer.finish().unwrap()
}

fn neuron() -> Arc<Recurrence> {
    let [x, v] = ["x", "v"].map(Expr::symbol);
    let h = &v + x;
    let s = Expr::custom_gradient(h.ge(1.0), h.sigmoid());
    Arc::new(
        Recurrence::new("if", ["x"], ["v"])
            .output("s", s, true)
            .next(vec![h]),
    )
}

/// An image that is shown as spikes, a layer with a bias, neurons, rates.
fn network(t: &Tracer) -> (Var, Vec<Var>) {
    let (image, g) = (t.input("image", F, [8, 12]), t.input("g", DType::I64, [4]));
    let (w, bias) = (t.parameter("w", [4, 12]), t.parameter("bias", [4]));
    let v = t.state("v", [8, 4]);
    let spikes = image.repeat_over_time(6).bernoulli(&g, RandomAxes::Time);
    let made = Var::scan(&neuron(), 6, &[&(spikes.linear(&w) + &bias)], &[&v], &[]);
    t.update(&v, &made[1]);
    (made[0].clone(), vec![w, bias])
}

#[test]
fn sequences_around_products_are_halved_and_everything_named_stays_f32() {
    assert_snapshot!(traced(Precision::Bf16, |t| {
        let (spikes, _) = network(t);
        t.output("spikes", &spikes);
        t.output("rate", &spikes.mean(&[0]));
    }), @"
    %0 = Data `image`  f32[8, 12]
    %1 = Data `g`  i64[4]
    %2 = Parameter `w`  f32[4, 12]
    %3 = Parameter `bias`  f32[4]
    %4 = State `v`  f32[8, 4]
    %5 = reshape[1, 8, 12](%0)  f32[1, 8, 12]
    %6 = expand[6, 8, 12](%5)  f32[6, 8, 12]
    %7 = bernoulli[stream 0, over time](%1, %5)  bf16[6, 8, 12]
    %15 = map[x0 as bf16](%2)  bf16[4, 12]
    %8 = matmul[a·bᵀ](%7, %15)  bf16[6, 8, 4]
    %9 = map[x0 + x1 as bf16](%8, %3)  bf16[6, 8, 4]
    %10, %11, %12 = scan[if #0, T=6](%8, %4, %3)  bf16[6, 8, 4], f32[8, 4], bf16[6, 8, 4]
        x; v; x_in0; s spikes
        #0 = x + x_in0
        #1 = v + #0
        s = {#1 ≥ 1 ∂ σ(#1)}
        v ← v + #0
    %13 = sum[0] as f32(%10)  f32[8, 4]
    %14 = map[x0 / 6](%13)  f32[8, 4]
    %16 = map[x0 as f32](%10)  f32[6, 8, 4]
    `v`: %4 becomes %11
    `spikes` = %16
    `rate` = %14
    ");
}

#[test]
fn spikes_and_masks_of_elementwise_operations_are_16_bit_where_a_product_reads_them() {
    assert_snapshot!(traced(Precision::Bf16, |t| {
        let (h, w) = (t.input("h", F, [6, 12]), t.parameter("w", [4, 12]));
        let [spike, mask] = [1.0, 2.0].map(|at| {
            h.map1(|h| Expr::custom_gradient(h.ge(at), h.sigmoid()))
        });
        t.output("next", &(&h * &(1.0 - &spike)));
        t.output("masked", &(&h * &mask));
        t.output("scores", &spike.linear(&w));
    }), @"
    %0 = Data `h`  f32[6, 12]
    %1 = Parameter `w`  f32[4, 12]
    %2 = map[{x0 ≥ 1 ∂ σ(x0)} as bf16](%0)  bf16[6, 12]
    %3 = map[{x0 ≥ 2 ∂ σ(x0)}](%0)  f32[6, 12]
    %4 = map[1 - x0 as bf16](%2)  bf16[6, 12]
    %5 = map[x0 · x1 as f32](%0, %4)  f32[6, 12]
    %6 = map[x0 · x1](%0, %3)  f32[6, 12]
    %8 = map[x0 as bf16](%1)  bf16[4, 12]
    %7 = matmul[a·bᵀ](%2, %8)  bf16[6, 4]
    %9 = map[x0 as f32](%7)  f32[6, 4]
    `next` = %5
    `masked` = %6
    `scores` = %9
    ");
}

#[test]
fn a_training_step_has_gradients_in_f32() {
    let graph = traced(Precision::F16, |t| {
        let (spikes, wrt) = network(t);
        let loss = spikes.mean(&[0]).square().mean_all();
        let wrt: Vec<&Var> = wrt.iter().collect();
        let grads = t.gradients(&loss, &wrt);
        t.output("loss", &loss);
        for (p, g) in wrt.iter().zip(&grads) {
            t.update(p, &(*p - g * 0.1));
        }
        // Traced after the gradients, and still what it says.
        t.output("activity", &spikes.mean_all());
        t.output("last", &spikes.slice(0, 5..6));
    });
    assert_snapshot!(Plan::new(graph, &Plain).graph, @"
    %0 = Data `image`  f32[8, 12]
    %1 = Data `g`  i64[4]
    %2 = Parameter `w`  f32[4, 12]
    %3 = Parameter `bias`  f32[4]
    %4 = State `v`  f32[8, 4]
    %5 = reshape[1, 8, 12](%0)  f32[1, 8, 12]
    %7 = bernoulli[stream 0, over time](%1, %5)  f16[6, 8, 12]
    %18 = map[x0 as f16](%2)  f16[4, 12]
    %8 = matmul[a·bᵀ](%7, %18)  f16[6, 8, 4]
    %10, %11, %12 = scan[if #0, T=6](%8, %4, %3)  f16[6, 8, 4], f32[8, 4], f16[6, 8, 4]
        x; v; x_in0; s spikes
        #0 = x + x_in0
        #1 = v + #0
        s = {#1 ≥ 1 ∂ σ(#1)}
        v ← v + #0
    %13 = sum[0] as f32(%10)  f32[8, 4]
    %14 = map[x0 / 6](%13)  f32[8, 4]
    %15 = map[x0 · x0](%14)  f32[8, 4]
    %16 = sum[0, 1](%15)  f32[]
    %17 = map[x0 · 0.03125](%16)  f32[]
    %19 = fill[1]()  f32[]  ∂ loss
    %20 = map[x0 · 0.03125 as f32](%19)  f32[]  ∂
    %21 = reshape[1, 1](%20)  f32[1, 1]  ∂
    %25 = map[(x1 · x0 + x1 · x0) / 6 as f16](%14, %21)  f16[8, 4]  ∂
    %26 = reshape[1, 8, 4](%25)  f16[1, 8, 4]  ∂
    %27 = expand[6, 8, 4](%26)  f16[6, 8, 4]  ∂
    %28, %29, %30 = scan_grad[if #0, T=6; of output 0](%8, %4, %3, %27)  f16[6, 8, 4], f32[8, 4], f32[8, 4]  ∂
    %31 = sum[0](%30)  f32[4]  ∂
    %33 = matmul[aᵀ·b as f32](%28, %7)  f32[4, 12]  ∂
    %35 = map[x0 - x1 · 0.1](%2, %33)  f32[4, 12]
    %37 = map[x0 - x1 · 0.1](%3, %31)  f32[4]
    %38 = sum[0, 1, 2] as f32(%10)  f32[]
    %39 = map[x0 / 192](%38)  f32[]
    %40 = map[x0 as f32](%10)  f32[6, 8, 4]
    %41 = slice[0: 5..6](%40)  f32[1, 8, 4]
    `v`: %4 becomes %11
    `loss` = %17
    `w`: %2 becomes %35
    `bias`: %3 becomes %37
    `activity` = %39
    `last` = %41
    ");
}

#[test]
fn products_in_tf32_have_derivatives_in_tf32() {
    let graph = traced(Precision::Tf32, |t| {
        let (spikes, wrt) = network(t);
        let grads = t.gradients(&spikes.sum_all(), &[&wrt[0]]);
        t.output("dw", &grads[0]);
    });
    let products = graph.nodes.iter().map(|n| format!("{:?}", n.op));
    let products: Vec<String> = products.filter(|op| op.starts_with("MatMul")).collect();
    assert_eq!(products.len(), 2);
    assert!(
        products.iter().all(|op| op.contains("Tf32")),
        "{products:?}"
    );
}

#[test]
fn f32_and_f64_networks_stay_what_they_are() {
    let text = |float: DType, precision| {
        let t = Tracer::new(float);
        t.set_precision(precision);
        let y = t
            .input("x", float, [2, 3])
            .linear(&t.parameter("w", [4, 3]));
        t.output("y", &y);
        t.finish().unwrap().to_string()
    };
    assert!(!text(F, Precision::F32).contains("f16"));
    assert!(!text(DType::F64, Precision::Bf16).contains("bf16"));
}

#[test]
fn each_value_is_cast_once_and_what_moves_elements_follows() {
    assert_snapshot!(traced(Precision::Bf16, |t| {
        let x = t.input("x", F, [6, 4]);
        let (w, u) = (t.parameter("w", [4, 4]), t.parameter("u", [4, 4]));
        let y = Var::concat(&[&x.linear(&w), &x], 0).permute(&[1, 0]);
        t.output("y", &(y.slice(1, 0..4).matmul(&x.linear(&u).slice(0, 0..4))));
        t.output("scores", &x.linear(&w).log_softmax());
        t.output("mixed", &(x.linear(&w) * &x));
    }), @"
    %0 = Data `x`  f32[6, 4]
    %1 = Parameter `w`  f32[4, 4]
    %2 = Parameter `u`  f32[4, 4]
    %15 = map[x0 as bf16](%0)  bf16[6, 4]
    %16 = map[x0 as bf16](%1)  bf16[4, 4]
    %3 = matmul[a·bᵀ](%15, %16)  bf16[6, 4]
    %4 = concat[0](%3, %15)  bf16[12, 4]
    %5 = permute[1, 0](%4)  bf16[4, 12]
    %14 = slice[0: 0..4](%4)  bf16[4, 4]
    %6 = permute[1, 0](%14)  bf16[4, 4]
    %17 = map[x0 as bf16](%2)  bf16[4, 4]
    %7 = matmul[a·bᵀ](%15, %17)  bf16[6, 4]
    %8 = slice[0: 0..4](%7)  bf16[4, 4]
    %9 = matmul[a·b](%6, %8)  bf16[4, 4]
    %10 = matmul[a·bᵀ](%15, %16)  bf16[6, 4]
    %11 = log_softmax(%10)  f32[6, 4]
    %12 = matmul[a·bᵀ](%15, %16)  bf16[6, 4]
    %13 = map[x0 · x1 as f32](%12, %0)  f32[6, 4]
    %18 = map[x0 as f32](%9)  f32[4, 4]
    `y` = %18
    `scores` = %11
    `mixed` = %13
    ");
}

#[test]
fn a_draw_and_a_product_write_what_their_only_reader_casts_to() {
    let mut graph = traced(Precision::F32, |t| {
        let (p, g) = (t.input("p", F, [8, 4]), t.input("g", DType::I64, [4]));
        let drawn = p.bernoulli(&g, RandomAxes::Nothing).cast(DType::BF16);
        let w = t.input("w", DType::BF16, [3, 4]);
        t.output("y", &drawn.linear(&w).cast(F));
        let twice = drawn.linear(&w);
        t.output("half", &twice);
        t.output("single", &twice.cast(F));
    });
    let report = pass::fold_casts::run(&mut graph);
    assert_snapshot!(graph, @"
    %0 = Data `p`  f32[8, 4]
    %1 = Data `g`  i64[4]
    %4 = Data `w`  bf16[3, 4]
    %3 = bernoulli[stream 0](%1, %0)  bf16[8, 4]
    %6 = matmul[a·bᵀ as f32](%3, %4)  f32[8, 3]
    %7 = matmul[a·bᵀ](%3, %4)  bf16[8, 3]
    %8 = map[x0 as f32](%7)  f32[8, 3]
    `y` = %6
    `half` = %7
    `single` = %8
    ");
    assert_snapshot!(report.summary, @"2 products and draws write what their reader casts to");
}

#[test]
fn a_precision_has_a_name() {
    for precision in Precision::ALL {
        assert_eq!(precision.to_string().parse(), Ok(precision));
    }
    let unknown = "fp8".parse::<Precision>();
    assert_snapshot!(unknown.unwrap_err(), @r"
    no precision is called `fp8`
      help: the names are f32, tf32, bf16, f16
    ");
}
