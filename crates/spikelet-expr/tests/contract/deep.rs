//! Expressions of great depth or with many shared subexpressions.

use spikelet_expr::{Expr, Program, cuda, vjp};

const DEEP: usize = 1_000_000;

/// Each step reads the previous one once.
fn nested(steps: usize, step: impl Fn(&Expr) -> Expr) -> Expr {
    (0..steps).fold(Expr::symbol("x"), |e, _| step(&e))
}

/// Each step reads the previous one twice: the tree has 2^60 leaves.
fn doubled() -> Expr {
    nested(60, |e| e * e + 1.0)
}

#[test]
fn a_million_nested_are_printed_and_dropped() {
    let e = nested(DEEP, |e| (e + 1.0).exp());
    assert_eq!(e.to_string().len(), 1 + DEEP * "exp( + 1)".len());
    let other = e.clone();
    drop(e);
    drop(other);
    drop(nested(DEEP, |e| Expr::select(e.gt(0.0), e, 1.0)));
    drop(nested(DEEP, Expr::detach));
}

#[test]
fn a_million_nested_are_walked() {
    let e = nested(DEEP, |e| (e + 1.0).sqrt());
    assert!(e.same_value(&nested(DEEP, |e| (e + 1.0).sqrt())));
    assert_eq!(e.symbols(), ["x"]);
    assert!(!e.needs_function_of(&|_| true));
    assert!(e.exp().needs_function_of(&|name| name == "x"));
    let e = nested(DEEP / 5, |e| (e + 1.0).sqrt());
    let z = e.substitute(&|_| Some(Expr::symbol("z")));
    assert_eq!(z.symbols(), ["z"]);
    let grads = vjp(&[(z, Expr::constant(1.0))], &["z"]);
    assert_eq!(grads[0].symbols(), ["z"]);
    let program = Program::compile(std::slice::from_ref(&e), &[], &["x"]).unwrap();
    assert_eq!(program.operations(), 2 * DEEP / 5);
    let printed = cuda::statements(&[e], &|name| Some(name.to_string()), "t", 0).unwrap();
    assert_eq!(printed.code.lines().count(), 2 * DEEP / 5);
}

#[test]
fn sixty_doublings_are_printed_compared_derived_and_compiled() {
    let e = doubled();
    let text = e.to_string();
    assert!(
        text.starts_with("#0 = x · x + 1; #1 = #0 · #0 + 1; "),
        "{text}"
    );
    assert!(text.ends_with("; #58 · #58 + 1"), "{text}");
    assert_eq!(format!("{e:?}"), text);
    assert!(e.same_value(&doubled()));
    assert!(!e.same_value(&(doubled() + 1.0)));
    let slope = e.derivative("x");
    assert_eq!(slope.substitute(&|_| None).symbols(), ["x"]);
    let program = Program::compile(&[e.clone(), slope], &[], &["x"]).unwrap();
    assert!(program.operations() < 1000);
    let printed = cuda::statements(&[e], &|name| Some(name.to_string()), "t", 0).unwrap();
    assert_eq!(printed.code.lines().count(), 120);
}

#[test]
fn expressions_with_different_custom_gradients_have_the_same_value() {
    let x = Expr::symbol("x");
    let spike = Expr::custom_gradient(x.ge(0.0), x.sigmoid());
    assert!(spike.same_value(&x.ge(0.0)));
    assert!(!Expr::constant(0.1).same_value(&Expr::constant(f64::from(0.1_f32))));
    assert_eq!(x.detach().as_symbol(), Some("x"));
    assert_eq!(spike.as_symbol(), None);
}
