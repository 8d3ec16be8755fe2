//! Leaky integrate-and-fire: with `decay` = 1/τ and v_reset = 0 for a soft reset,
//! H = V + (X − (V − v_reset))·decay where the input decays as well, else
//! H = V − (V − v_reset)·decay + X.

use super::{BPTTKernel, FPTTKernel, Form, NeuronBackward, NeuronForward, leak};
use crate::{Attribute, Dtype, SurrogateCodes};
use spikelet_expr::Expr;

/// The leaky integrate-and-fire neuron. Its kernels have one more parameter, the number `decay`,
/// which is 1/τ.
#[derive(Clone, Copy, Debug)]
pub struct LIFNode {
    /// Whether the input decays as well.
    pub decay_input: bool,
}

/// The forward kernel of the leaky integrate-and-fire neuron.
pub type LIFNodeFPTTKernel = FPTTKernel<LIFNode>;

/// The backward kernel of the leaky integrate-and-fire neuron.
pub type LIFNodeBPTTKernel = BPTTKernel<LIFNode>;

impl LIFNodeFPTTKernel {
    /// The forward kernel.
    pub fn new(decay_input: bool, hard_reset: bool, dtype: Dtype) -> Self {
        Self::of(LIFNode { decay_input }, hard_reset, dtype)
    }
}

impl LIFNodeBPTTKernel {
    /// The backward kernel.
    pub fn new(
        decay_input: bool,
        surrogate_function: impl SurrogateCodes + 'static,
        hard_reset: bool,
        detach_reset: bool,
        dtype: Dtype,
    ) -> Self {
        let neuron = LIFNode { decay_input };
        Self::of(neuron, surrogate_function, hard_reset, detach_reset, dtype)
    }
}

const DECAY: &str = "decay";

impl LIFNode {
    fn own_params(form: Form) -> Vec<(String, String)> {
        vec![(format!("{} &", form.dtype), DECAY.to_string())]
    }

    fn own_attribute(&self, name: &str) -> Option<Attribute> {
        (name == "decay_input").then(|| self.decay_input.into())
    }
}

impl NeuronForward for LIFNode {
    fn class_name(&self) -> &str {
        "LIFNodeFPTTKernel"
    }

    fn params(&self, form: Form) -> Vec<(String, String)> {
        Self::own_params(form)
    }

    fn neuronal_charge(&self, form: Form) -> String {
        leak::charge(form, self.decay_input, DECAY)
    }

    fn equation(&self, form: Form) -> Option<Expr> {
        Some(leak::equation(form, self.decay_input))
    }

    fn attribute(&self, name: &str) -> Option<Attribute> {
        self.own_attribute(name)
    }
}

impl NeuronBackward for LIFNode {
    fn class_name(&self) -> &str {
        "LIFNodeBPTTKernel"
    }

    fn params(&self, form: Form) -> Vec<(String, String)> {
        Self::own_params(form)
    }

    fn grad_h_next_to_v(&self, form: Form, _after: &str) -> String {
        leak::grad_h_next_to_v(form, DECAY)
    }

    fn grad_h_to_x(&self, form: Form) -> String {
        leak::grad_h_to_x(form, self.decay_input, DECAY)
    }

    fn attribute(&self, name: &str) -> Option<Attribute> {
        self.own_attribute(name)
    }
}
