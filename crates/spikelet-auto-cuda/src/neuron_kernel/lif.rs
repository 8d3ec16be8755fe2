//! Leaky integrate-and-fire: with `decay` = 1/τ and v_reset = 0 for a soft reset,
//! H = V + (X − (V − v_reset))·decay if the input decays as well, else
//! H = V − (V − v_reset)·decay + X.

use super::leak::{self, leaky_neuron};
use super::{BPTTKernel, FPTTKernel, Form, NeuronBackward};
use crate::Attribute;

/// The leaky integrate-and-fire neuron. Its kernels have an additional parameter, the scalar `decay`,
/// which is 1/τ.
#[derive(Clone, Copy, Debug)]
pub struct LIFNode {
    /// Whether the input is multiplied by `decay` as well.
    pub decay_input: bool,
}

/// The forward kernel of the leaky integrate-and-fire neuron.
pub type LIFNodeFPTTKernel = FPTTKernel<LIFNode>;

/// The backward kernel of the leaky integrate-and-fire neuron.
pub type LIFNodeBPTTKernel = BPTTKernel<LIFNode>;

/// 1/τ in a kernel's text.
const DECAY: &str = "decay";

/// The parameter of 1/τ: its type and its name.
fn own_params(form: Form) -> Vec<(String, String)> {
    vec![(format!("{} &", form.dtype), DECAY.to_string())]
}

leaky_neuron!(LIFNode);

impl NeuronBackward for LIFNode {
    fn class_name(&self) -> &str {
        "LIFNodeBPTTKernel"
    }

    fn params(&self, form: Form) -> Vec<(String, String)> {
        own_params(form)
    }

    fn grad_h_next_to_v(&self, form: Form, _after: &str) -> String {
        leak::grad_h_next_to_v(form, DECAY)
    }

    fn grad_h_to_x(&self, form: Form) -> String {
        leak::grad_h_to_x(form, self.decay_input, DECAY)
    }

    fn attribute(&self, name: &str) -> Option<Attribute> {
        leak::attribute(self.decay_input, name)
    }
}
