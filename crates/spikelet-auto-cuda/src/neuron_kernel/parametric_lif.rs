//! Parametric leaky integrate-and-fire: as LIF, with a learned `decay`.
//!
//! dL/d decay = Σ dL/dH·dH/d decay over all steps and neurons, where dH/d decay is
//! X − (V − v_reset), or −(V − v_reset) if the input does not decay. Each thread sums the steps of its
//! neurons in `float`, each block sums its threads in a fixed order into one element of `grad_decay`, and
//! [`BlockSum`](crate::BlockSum) sums those elements. There are no atomic additions: the same arguments
//! give the same bits.

use super::leak::{self, leaky_neuron};
use super::{BPTTKernel, FPTTKernel, Form, NeuronBackward};
use crate::block_sum::{reduction, storage};
use crate::{Attribute, CodeBlock, CodeTyper, Dtype, cfunction};

/// The parametric leaky integrate-and-fire neuron. Its kernels have an additional parameter, the tensor
/// `decay` of one element, which is 1/τ.
///
/// The backward kernel also has `v_v_seq` \[T + 1, N\] from the forward pass, `x_seq` \[T, N\]
/// if the input decays, and `grad_decay` (`float`, also for `half2`), to which each block writes one
/// element: their sum, by [`BlockSum`](crate::BlockSum), is dL/d decay.
#[derive(Clone, Copy, Debug)]
pub struct ParametricLIFNode {
    /// Whether the input is multiplied by `decay` as well.
    pub decay_input: bool,
}

/// The forward kernel of the parametric leaky integrate-and-fire neuron.
pub type ParametricLIFNodeFPTTKernel = FPTTKernel<ParametricLIFNode>;

/// The backward kernel of the parametric leaky integrate-and-fire neuron.
pub type ParametricLIFNodeBPTTKernel = BPTTKernel<ParametricLIFNode>;

/// 1/τ in a kernel's text.
const DECAY: &str = "decay[0]";

/// The variable of a thread's sum.
const SUM: &str = "grad_decay_sum";

/// The parameter of 1/τ: its type and its name.
fn own_params(form: Form) -> Vec<(String, String)> {
    vec![(format!("const {} *", form.dtype), "decay".to_string())]
}

leaky_neuron!(ParametricLIFNode);

impl NeuronBackward for ParametricLIFNode {
    fn class_name(&self) -> &str {
        "ParametricLIFNodeBPTTKernel"
    }

    fn params(&self, form: Form) -> Vec<(String, String)> {
        let sequence = format!("const {} *", form.dtype);
        let mut params = own_params(form);
        params.push((sequence.clone(), "v_v_seq".to_string()));
        params.push(("float *".to_string(), "grad_decay".to_string()));
        if self.decay_input {
            params.push((sequence, "x_seq".to_string()));
        }
        params
    }

    fn grad_h_next_to_v(&self, form: Form, _after: &str) -> String {
        leak::grad_h_next_to_v(form, DECAY)
    }

    fn grad_h_to_x(&self, form: Form) -> String {
        leak::grad_h_to_x(form, self.decay_input, DECAY)
    }

    fn prologue(&self, _form: Form) -> String {
        format!("{}\nfloat {SUM} = 0.0f;", storage())
    }

    fn step_end(&self, form: Form) -> String {
        let dtype = form.dtype;
        let mut typer = CodeTyper::new(0);
        let mut block = CodeBlock::new(&mut typer);
        block.append(&leak::above_reset(form));
        if self.decay_input {
            block.append(&cfunction::sub("temp_var", "x_seq[t]", "temp_var", dtype));
        } else {
            block.append(&cfunction::neg("temp_var", "temp_var", dtype));
        }
        match dtype {
            Dtype::Float => block.append(&format!("{SUM} += grad_h * temp_var;")),
            // Products and sums of halves would overflow.
            Dtype::Half2 => block.append(&format!(
                "{SUM} += __low2float(grad_h) * __low2float(temp_var);
                 {SUM} += __high2float(grad_h) * __high2float(temp_var);"
            )),
        }
        drop(block);
        typer.codes().to_string()
    }

    fn epilogue(&self, _form: Form) -> String {
        reduction(SUM, "grad_decay[blockIdx.x]")
    }

    fn attribute(&self, name: &str) -> Option<Attribute> {
        leak::attribute(self.decay_input, name)
    }
}
