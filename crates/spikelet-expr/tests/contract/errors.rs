//! What is said when an expression does not compile.

use spikelet_expr::{CompileError, Expr, Program};

#[test]
fn an_unknown_symbol_is_named_with_the_inputs_that_there_are() {
    let expr = Expr::symbol("v") + Expr::symbol("z");
    let error = Program::compile(&[expr], &["w"], &["x", "v"]).unwrap_err();
    insta::assert_snapshot!(error, @"the expression uses `z`, which is not among its inputs (w, x, v); name it as an input or replace it");
}

#[test]
fn the_tangent_of_a_graft_is_no_part_of_a_program() {
    let expr = Expr::custom_gradient(Expr::symbol("x"), Expr::symbol("unknown"));
    assert!(Program::compile(&[expr], &[], &["x"]).is_ok());
}

#[test]
fn an_expression_with_too_many_inputs_is_refused() {
    let names: Vec<String> = (0..70_000).map(|k| format!("x{k}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let error = Program::compile(&[Expr::symbol("x69999")], &[], &names).unwrap_err();
    assert_eq!(error, CompileError::TooLarge { needed: 69_999 });
    insta::assert_snapshot!(error, @"the expression needs 69999 registers, at most 65535 can be named; split it");
}
