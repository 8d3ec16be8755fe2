//! Parametric leaky integrate-and-fire: as LIF, with a `decay` that is learned.
//!
//! dL/d decay = Σ dL/dH·dH/d decay over all steps and neurons, where dH/d decay is
//! X − (V − v_reset), or −(V − v_reset) where the input does not decay. Each thread adds up its
//! neurons' steps in `float`, each block its threads in a fixed order into one number of
//! `grad_decay`, and [`BlockSum`](crate::BlockSum) those numbers. Nothing is added
//! atomically: the same arguments give the same bits.

use super::{BPTTKernel, FPTTKernel, Form, NeuronBackward, NeuronForward, leak};
use crate::block_sum::{reduction, storage};
use crate::{Attribute, CodeBlock, CodeTyper, Dtype, SurrogateCodes, cfunction};
use spikelet_expr::Expr;

/// The parametric leaky integrate-and-fire neuron. Its kernels have one more parameter, the tensor
/// `decay` of one number, which is 1/τ.
///
/// The backward kernel also has `v_v_seq` \[T + 1, N\] from the forward pass, `x_seq` \[T, N\]
/// where the input decays, and `grad_decay` (`float`, also for `half2`), which takes one number a
/// block: their sum, by [`BlockSum`](crate::BlockSum), is dL/d decay.
#[derive(Clone, Copy, Debug)]
pub struct ParametricLIFNode {
    /// Whether the input decays as well.
    pub decay_input: bool,
}

/// The forward kernel of the parametric leaky integrate-and-fire neuron.
pub type ParametricLIFNodeFPTTKernel = FPTTKernel<ParametricLIFNode>;

/// The backward kernel of the parametric leaky integrate-and-fire neuron.
pub type ParametricLIFNodeBPTTKernel = BPTTKernel<ParametricLIFNode>;

impl ParametricLIFNodeFPTTKernel {
    /// The forward kernel.
    pub fn new(decay_input: bool, hard_reset: bool, dtype: Dtype) -> Self {
        Self::of(ParametricLIFNode { decay_input }, hard_reset, dtype)
    }
}

impl ParametricLIFNodeBPTTKernel {
    /// The backward kernel.
    pub fn new(
        decay_input: bool,
        surrogate_function: impl SurrogateCodes + 'static,
        hard_reset: bool,
        detach_reset: bool,
        dtype: Dtype,
    ) -> Self {
        let neuron = ParametricLIFNode { decay_input };
        Self::of(neuron, surrogate_function, hard_reset, detach_reset, dtype)
    }
}

const DECAY: &str = "decay[0]";

/// What a thread has added up.
const SUM: &str = "grad_decay_sum";

impl ParametricLIFNode {
    fn own_params(form: Form) -> Vec<(String, String)> {
        vec![(format!("const {} *", form.dtype), "decay".to_string())]
    }

    fn own_attribute(&self, name: &str) -> Option<Attribute> {
        (name == "decay_input").then(|| self.decay_input.into())
    }
}

impl NeuronForward for ParametricLIFNode {
    fn class_name(&self) -> &str {
        "ParametricLIFNodeFPTTKernel"
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

impl NeuronBackward for ParametricLIFNode {
    fn class_name(&self) -> &str {
        "ParametricLIFNodeBPTTKernel"
    }

    fn params(&self, form: Form) -> Vec<(String, String)> {
        let sequence = format!("const {} *", form.dtype);
        let mut params = Self::own_params(form);
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
        self.own_attribute(name)
    }
}
