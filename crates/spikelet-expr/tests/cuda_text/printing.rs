//! Printed statements.

use insta::assert_snapshot;
use spikelet_expr::cuda::{Function, statements};
use spikelet_expr::{CompileError, Expr, vjp};

fn own(name: &str) -> Option<String> {
    Some(name.to_string())
}

fn print(roots: &[Expr]) -> String {
    let printed = statements(roots, &own, "t", 0).unwrap();
    let needed: Vec<String> = printed
        .functions
        .iter()
        .map(|f| format!(" {f:?}"))
        .collect();
    format!(
        "{}-> {}\ncalls{}",
        printed.code,
        printed.results.join(", "),
        needed.concat()
    )
}

/// One step of a leaky integrate-and-fire neuron: its spike and its potential after the reset.
fn lif(tau: f64) -> [Expr; 2] {
    let [v, x] = ["v", "x"].map(Expr::symbol);
    let h = &v + (x - &v) / tau;
    let over = &h - 1.0;
    let alpha = 2.0;
    let angle = std::f64::consts::FRAC_PI_2 * alpha * &over;
    let slope = alpha / 2.0 / (1.0 + &angle * &angle);
    let spike = Expr::with_gradient_of(over.ge(0.0), &over, slope);
    let next = Expr::select(spike.detach(), 0.0, &h);
    [spike, next]
}

#[test]
fn a_step_of_a_neuron_is_straight_line_code() {
    assert_snapshot!(print(&lif(2.0)), @r"
    const float t0 = x - v;
    const float t1 = t0 * 0.5f;
    const float t2 = v + t1;
    const bool t3 = t2 >= 1.0f;
    const float t4 = t3 ? 1.0f : 0.0f;
    const float t5 = t3 ? 0.0f : t2;
    -> t4, t5
    calls
    ");
}

#[test]
fn a_step_backward_is_straight_line_code() {
    let [ds, dv] = ["ds", "dv"].map(Expr::symbol);
    let [spike, next] = lif(3.0);
    let gradients = vjp(&[(spike, ds), (next, dv)], &["v", "x"]);
    assert_snapshot!(print(&gradients), @r"
    const float t0 = x - v;
    const float t1 = spk_div_const(t0, 3.0f, 0xaaaaabp-25f, -0xaaaaabp-50f);
    const float t2 = v + t1;
    const float t3 = t2 - 1.0f;
    const bool t4 = t2 >= 1.0f;
    const float t5 = t4 ? 0.0f : dv;
    const float t6 = 0xc90fdbp-22f * t3;
    const float t7 = t6 * t6;
    const float t8 = 1.0f + t7;
    const float t9 = 1.0f / t8;
    const float t10 = ds * t9;
    const float t11 = t5 + t10;
    const float t12 = spk_div_const(t11, 3.0f, 0xaaaaabp-25f, -0xaaaaabp-50f);
    const float t13 = t11 - t12;
    -> t13, t12
    calls DivConst
    ");
}

#[test]
fn constants_and_symbols_need_no_statements() {
    let x = Expr::symbol("x");
    assert_snapshot!(print(&[x.clone(), Expr::constant(0.1), x.detach()]), @r"
    -> x, 0xcccccdp-27f, x
    calls
    ");
}

#[test]
fn a_comparison_read_as_a_boolean_and_as_a_number_is_computed_once() {
    let [a, b] = ["a", "b"].map(Expr::symbol);
    let less = a.lt(&b);
    assert_snapshot!(print(&[Expr::select(&less, &a, &b), &less * 2.0]), @r"
    const bool t0 = a < b;
    const float t1 = t0 ? 1.0f : 0.0f;
    const float t2 = t0 ? a : b;
    const float t3 = t1 * 2.0f;
    -> t2, t3
    calls
    ");
}

#[test]
fn unused_values_are_not_printed() {
    let [a, b] = ["a", "b"].map(Expr::symbol);
    let printed = statements(&[Expr::custom_gradient(&a + &b, a.exp())], &own, "t", 0).unwrap();
    assert_eq!(printed.code, "const float t0 = a + b;\n");
    assert!(printed.functions.is_empty());
    let printed = statements(&[a.min(&b) / 3.0], &own, "t", 0).unwrap();
    assert_eq!(
        printed.functions,
        [Function::Min, Function::DivConst].into()
    );
}

#[test]
fn a_symbol_without_a_name_is_an_error() {
    let [a, b] = ["a", "b"].map(Expr::symbol);
    let names = |name: &str| (name == "a").then(|| name.to_string());
    let error = statements(&[a * b], &names, "t", 0).unwrap_err();
    let expected = CompileError::UnknownSymbol {
        symbol: "b".to_string(),
        inputs: vec!["a".to_string()],
    };
    assert_eq!(error, expected);
}
