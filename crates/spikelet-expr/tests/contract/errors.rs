//! Errors of the compilation of expressions.

use spikelet_expr::{CompileError, Expr, Program};

#[test]
fn an_unknown_symbol_is_reported_with_the_inputs() {
    let expr = Expr::symbol("v") + Expr::symbol("z");
    let error = Program::compile(&[expr], &["w"], &["x", "v"]).unwrap_err();
    let expected = CompileError::UnknownSymbol {
        symbol: "z".to_string(),
        inputs: ["w", "x", "v"].map(String::from).into(),
    };
    assert_eq!(error, expected);
    insta::assert_snapshot!(error, @"the expression uses `z`, which is not among its inputs (w, x, v); name it as an input or replace it");
}

#[test]
fn the_tangent_of_a_custom_gradient_is_not_compiled() {
    let expr = Expr::custom_gradient(Expr::symbol("x"), Expr::symbol("unknown"));
    assert!(Program::compile(&[expr], &[], &["x"]).is_ok());
}

#[test]
fn too_many_inputs_and_outputs_are_reported_as_operands() {
    let names: Vec<String> = (0..70_000).map(|k| format!("x{k}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let x = Expr::symbol("x0");
    let outputs = vec![x.clone(); 70_000];
    let too_many = |operands| CompileError::TooManyOperands {
        operands,
        given: 70_000,
        limit: 65_536,
    };
    let compile = |outputs: &[Expr], uniform: &[&str], varying: &[&str]| {
        Program::compile(outputs, uniform, varying).unwrap_err()
    };
    let one = [x];
    assert_eq!(compile(&one, &[], &names), too_many("varying inputs"));
    assert_eq!(compile(&one, &names, &[]), too_many("uniform inputs"));
    assert_eq!(compile(&outputs, &[], &["x0"]), too_many("outputs"));
}

#[test]
fn too_many_constants_are_reported_as_registers() {
    let x = Expr::symbol("x");
    let outputs: Vec<Expr> = (0..65_000).map(|k| &x + f64::from(k + 1)).collect();
    let sum = (0..600).fold(x.clone(), |sum, k| (sum + f64::from(-k - 1)).abs());
    let outputs: Vec<Expr> = outputs.into_iter().chain([sum]).collect();
    let error = Program::compile(&outputs, &[], &["x"]).unwrap_err();
    let expected = CompileError::TooManyRegisters {
        needed: 65_537,
        limit: 65_536,
    };
    assert_eq!(error, expected);
}
