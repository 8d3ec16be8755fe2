//! The common parts of leaky neurons: the charge towards v_reset, and its derivatives.
//!
//! With `decay` = 1/τ and v_reset = 0 for a soft reset:
//!
//! - H = V + (X − (V − v_reset))·decay if the input decays as well
//! - H = V − (V − v_reset)·decay + X if it does not

use super::Form;
use crate::{Attribute, CodeBlock, CodeTyper, cfunction};
use spikelet_expr::Expr;

/// Implements the constructors of a leaky neuron's kernels, and its forward kernel. `own_params` (the
/// parameter of 1/τ) and `DECAY` (its value in a text) are those of the calling module.
macro_rules! leaky_neuron {
    ($neuron:ident) => {
        impl FPTTKernel<$neuron> {
            /// The forward kernel.
            pub fn new(decay_input: bool, hard_reset: bool, dtype: crate::Dtype) -> Self {
                Self::of($neuron { decay_input }, hard_reset, dtype)
            }
        }

        impl BPTTKernel<$neuron> {
            /// The backward kernel.
            pub fn new(
                decay_input: bool,
                surrogate_function: impl crate::SurrogateCodes + 'static,
                hard_reset: bool,
                detach_reset: bool,
                dtype: crate::Dtype,
            ) -> Self {
                let neuron = $neuron { decay_input };
                Self::of(neuron, surrogate_function, hard_reset, detach_reset, dtype)
            }
        }

        impl $crate::neuron_kernel::NeuronForward for $neuron {
            fn class_name(&self) -> &str {
                concat!(stringify!($neuron), "FPTTKernel")
            }

            fn params(&self, form: Form) -> Vec<(String, String)> {
                own_params(form)
            }

            fn neuronal_charge(&self, form: Form) -> String {
                leak::charge(form, self.decay_input, DECAY)
            }

            fn equation(&self, form: Form) -> Option<spikelet_expr::Expr> {
                Some(leak::equation(form, self.decay_input))
            }

            fn attribute(&self, name: &str) -> Option<Attribute> {
                leak::attribute(self.decay_input, name)
            }
        }
    };
}
pub(super) use leaky_neuron;

/// The attribute of a leaky neuron.
pub(super) fn attribute(decay_input: bool, name: &str) -> Option<Attribute> {
    (name == "decay_input").then(|| decay_input.into())
}

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
    let above_reset = if form.hard_reset {
        &v - Expr::symbol("v_reset")
    } else {
        v.clone()
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

/// dH\[t\]/dX\[t\]: decay, or 1 if the input does not decay
pub(super) fn grad_h_to_x(form: Form, decay_input: bool, decay: &str) -> String {
    let target = format!("const {} grad_h_to_x", form.dtype);
    if decay_input {
        format!("{target} = {decay};")
    } else {
        cfunction::constant(target.as_str(), 1.0, form.dtype)
    }
}
