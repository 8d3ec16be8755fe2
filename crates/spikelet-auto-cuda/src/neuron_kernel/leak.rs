//! What neurons that forget have in common: the charge towards v_reset, and its derivatives.
//!
//! With `decay` = 1/τ and v_reset = 0 for a soft reset:
//!
//! - H = V + (X − (V − v_reset))·decay where the input decays as well
//! - H = V − (V − v_reset)·decay + X where it does not

use super::Form;
use crate::{CodeBlock, CodeTyper, cfunction};
use spikelet_expr::Expr;

/// Sets `h_seq[t]`.
pub(super) fn charge(form: Form, decay_input: bool, decay: &str) -> String {
    let dtype = form.dtype;
    let mut typer = CodeTyper::new(0);
    let mut block = CodeBlock::new(&mut typer);
    block.append(&above_reset(form));
    if decay_input {
        block.append(&cfunction::sub("temp_var", "x_seq[t]", "temp_var", dtype));
        block.append(&cfunction::mul("temp_var", "temp_var", decay, dtype));
        block.append(&cfunction::add("h_seq[t]", "v_v_seq[t]", "temp_var", dtype));
    } else {
        block.append(&cfunction::mul("temp_var", "temp_var", decay, dtype));
        block.append(&cfunction::sub("temp_var", "v_v_seq[t]", "temp_var", dtype));
        block.append(&cfunction::add("h_seq[t]", "temp_var", "x_seq[t]", dtype));
    }
    drop(block);
    typer.codes().to_string()
}

/// H as an expression, in the order of [`charge`].
pub(super) fn equation(form: Form, decay_input: bool) -> Expr {
    let [v, x, decay] = ["v", "x", "decay"].map(Expr::symbol);
    let above_reset = match form.hard_reset {
        true => &v - Expr::symbol("v_reset"),
        false => v.clone(),
    };
    if decay_input {
        v + (x - above_reset) * decay
    } else {
        v - above_reset * decay + x
    }
}

/// Declares `temp_var` = V − v_reset.
pub(super) fn above_reset(form: Form) -> String {
    let target = format!("{} temp_var", form.dtype);
    if form.hard_reset {
        cfunction::sub(target.as_str(), "v_v_seq[t]", "v_reset", form.dtype)
    } else {
        format!("{target} = v_v_seq[t];")
    }
}

/// dH\[t+1\]/dV\[t\] = 1 − decay
pub(super) fn grad_h_next_to_v(form: Form, decay: &str) -> String {
    let target = format!("const {} grad_h_next_to_v", form.dtype);
    let one = cfunction::constant(None, 1.0, form.dtype);
    cfunction::sub(target.as_str(), &one, decay, form.dtype)
}

/// dH\[t\]/dX\[t\]: decay, or 1 where the input does not decay
pub(super) fn grad_h_to_x(form: Form, decay_input: bool, decay: &str) -> String {
    let target = format!("const {} grad_h_to_x", form.dtype);
    if decay_input {
        format!("{target} = {decay};")
    } else {
        cfunction::constant(target.as_str(), 1.0, form.dtype)
    }
}
