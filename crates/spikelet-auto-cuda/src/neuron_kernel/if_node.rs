//! Integrate-and-fire: H\[t\] = V\[t−1\] + X\[t\].

use super::{BPTTKernel, FPTTKernel, Form, NeuronBackward, NeuronForward};
use crate::{Dtype, SurrogateCodes, cfunction};
use spikelet_expr::Expr;

/// The integrate-and-fire neuron.
#[derive(Clone, Copy, Debug, Default)]
pub struct IFNode;

/// The forward kernel of the integrate-and-fire neuron.
pub type IFNodeFPTTKernel = FPTTKernel<IFNode>;

/// The backward kernel of the integrate-and-fire neuron.
pub type IFNodeBPTTKernel = BPTTKernel<IFNode>;

impl IFNodeFPTTKernel {
    /// The forward kernel.
    pub fn new(hard_reset: bool, dtype: Dtype) -> Self {
        Self::of(IFNode, hard_reset, dtype)
    }
}

impl IFNodeBPTTKernel {
    /// The backward kernel.
    pub fn new(
        surrogate_function: impl SurrogateCodes + 'static,
        hard_reset: bool,
        detach_reset: bool,
        dtype: Dtype,
    ) -> Self {
        Self::of(IFNode, surrogate_function, hard_reset, detach_reset, dtype)
    }
}

impl NeuronForward for IFNode {
    fn class_name(&self) -> &str {
        "IFNodeFPTTKernel"
    }

    fn neuronal_charge(&self, form: Form) -> String {
        cfunction::add("h_seq[t]", "x_seq[t]", "v_v_seq[t]", form.dtype)
    }

    fn equation(&self, _form: Form) -> Option<Expr> {
        Some(Expr::symbol("x") + Expr::symbol("v"))
    }
}

impl NeuronBackward for IFNode {
    fn class_name(&self) -> &str {
        "IFNodeBPTTKernel"
    }

    fn grad_h_next_to_v(&self, form: Form, _after: &str) -> String {
        let target = format!("const {} grad_h_next_to_v", form.dtype);
        cfunction::constant(target.as_str(), 1.0, form.dtype)
    }

    fn grad_h_to_x(&self, form: Form) -> String {
        let target = format!("const {} grad_h_to_x", form.dtype);
        cfunction::constant(target.as_str(), 1.0, form.dtype)
    }
}
