//! Multi-step kernels of neurons, forward (FPTT) and backward (BPTT).
//!
//! [`FPTTKernel`] contains firing and reset, [`BPTTKernel`] the chain rule through them. A neuron defines
//! its charge ([`NeuronForward`]) and two derivatives of it ([`NeuronBackward`]). [`IFNode`], [`LIFNode`]
//! and [`ParametricLIFNode`] are provided.
//!
//! Forward, with X the input, V the potential after a step, H before firing, S the spike:
//!
//! H\[t\] = f(V\[t−1\], X\[t\]), S\[t\] = Θ(H\[t\] − v_th), V\[t\] = H(1 − S) + v_reset·S (hard
//! reset) or H − v_th·S (soft reset)
//!
//! Backward, from the last step to the first, with D = 1 if the reset is detached, else 0:
//!
//! - dL/dH\[t\] = ∂L/∂S·Θ′ + (∂L/∂V\[t\] + dL/dH\[t+1\]·dH\[t+1\]/dV\[t\])·dV/dH
//! - dV/dH = 1 − S + (v_reset − H)·Θ′·(1 − D), or 1 − v_th·Θ′·(1 − D) for soft reset
//! - dL/dX\[t\] = dL/dH\[t\]·dH/dX, dL/dV\[0\] = dL/dH\[1\]·dH\[1\]/dV\[0\]
//!
//! Source: the CUPY neuron tutorial and the auto_cuda reference of SpikingJelly.
//!
//! A custom neuron, which loses a tenth of its potential at each step:
//!
//! ```
//! use spikelet_auto_cuda::neuron_kernel::{Form, FPTTKernel, NeuronForward};
//! use spikelet_auto_cuda::{Dtype, Kernel, cfunction};
//!
//! struct Leaky;
//!
//! impl NeuronForward for Leaky {
//!     fn class_name(&self) -> &str {
//!         "LeakyFPTTKernel"
//!     }
//!     fn neuronal_charge(&self, form: Form) -> String {
//!         let kept = cfunction::constant(None, 0.9, form.dtype);
//!         let kept = cfunction::mul(None, &kept, "v_v_seq[t]", form.dtype);
//!         cfunction::add("h_seq[t]", "x_seq[t]", &kept, form.dtype)
//!     }
//! }
//!
//! let kernel = FPTTKernel::with(Leaky, true, Dtype::Half2)?;
//! assert_eq!(kernel.kernel_name(), "LeakyFPTTKernel_half2_hard_reset");
//! # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
//! ```

mod atgf;
mod bptt;
mod fptt;
mod if_node;
mod leak;
mod lengths;
mod lif;
mod parametric_lif;

pub use atgf::{
    IFNodeATGF, LIFNodeATGF, NeuronATGF, NeuronATGFBase, OwnParameter, ParametricLIFNodeATGF,
    PreBackward, PreForward,
};
pub use bptt::{BPTTKernel, NeuronBPTTKernel, NeuronBackward};
pub use fptt::{FPTTKernel, NeuronFPTTKernel, NeuronForward};
pub use if_node::{IFNode, IFNodeBPTTKernel, IFNodeFPTTKernel};
pub use lif::{LIFNode, LIFNodeBPTTKernel, LIFNodeFPTTKernel};
pub use parametric_lif::{
    ParametricLIFNode, ParametricLIFNodeBPTTKernel, ParametricLIFNodeFPTTKernel,
};

use super::operand::bracketed;
use super::{Attribute, AutoCudaError, CKernel2D, Dtype, Kernel, cfunction};

/// The properties that all texts of a neuron's kernel depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The scalar type.
    pub dtype: Dtype,
    /// Whether firing sets the potential to `v_reset`; otherwise it subtracts `v_th`.
    pub hard_reset: bool,
}

impl Form {
    fn reset_name(self) -> &'static str {
        if self.hard_reset {
            "hard_reset"
        } else {
            "soft_reset"
        }
    }
}

/// A neuron without definitions: its kernels show the places of the texts that a neuron defines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undefined;

/// v_next = h·(1 − spike) + v_reset·spike
///
/// The reference's text multiplies, so an infinite h that fires gives NaN.
pub fn neuronal_hard_reset(
    v_next: &str,
    h: &str,
    spike: &str,
    v_reset: &str,
    dtype: Dtype,
) -> String {
    match dtype {
        Dtype::Float => {
            let rest = cfunction::sub(None, "1.0f", spike, dtype);
            let kept = cfunction::mul(None, h, &rest, dtype);
            let set = cfunction::mul(None, v_reset, spike, dtype);
            format!("{v_next} = {} + {};", bare(&kept), bare(&set))
        }
        Dtype::Half2 => {
            let one = cfunction::constant(None, 1.0, dtype);
            let rest = cfunction::sub(None, bare(&one), spike, dtype);
            let set = cfunction::mul(None, v_reset, spike, dtype);
            format!("{v_next} = __hfma2({h}, {}, {});", bare(&rest), bare(&set))
        }
    }
}

/// v_next = h − v_th·spike
pub fn neuronal_soft_reset(v_next: &str, h: &str, spike: &str, v_th: &str, dtype: Dtype) -> String {
    let taken = cfunction::mul(None, v_th, spike, dtype);
    let taken = bare(&taken);
    match dtype {
        Dtype::Float => format!("{v_next} = {} - {taken};", bracketed(h)),
        Dtype::Half2 => cfunction::sub(v_next, h, taken, dtype),
    }
}

/// spike = Θ(v − v_th)
///
/// In `half2` a NaN fires: see [`cfunction::heaviside`].
pub fn neuronal_fire(spike: &str, v: &str, v_th: &str, dtype: Dtype) -> String {
    let over = cfunction::sub(None, v, v_th, dtype);
    match dtype {
        Dtype::Float => cfunction::heaviside(spike, &over, dtype),
        Dtype::Half2 => cfunction::heaviside(spike, bare(&over), dtype),
    }
}

/// An expression without its outer brackets, for operators that bind less tightly.
fn bare(codes: &str) -> &str {
    let inner = codes.strip_prefix('(').and_then(|c| c.strip_suffix(')'));
    inner.unwrap_or(codes)
}

/// Adds the parameters of a neuron's kernel: the sequences that it reads and writes, `v_th`, `v_reset` for a
/// hard reset, and the neuron's own.
fn add_params(
    kernel: &mut CKernel2D,
    form: Form,
    read: &[&str],
    written: &[&str],
    own: Vec<(String, String)>,
) -> Result<(), AutoCudaError> {
    let Form { dtype, hard_reset } = form;
    for name in read {
        kernel.add_param(&format!("const {dtype} *"), name)?;
    }
    for name in written {
        kernel.add_param(&format!("{dtype} *"), name)?;
    }
    let scalars = if hard_reset {
        &["v_th", "v_reset"][..]
    } else {
        &["v_th"]
    };
    for name in scalars {
        kernel.add_param(&format!("{dtype} &"), name)?;
    }
    own.iter()
        .try_for_each(|(ctype, cname)| kernel.add_param(ctype, cname))
}

/// An attribute of a neuron's kernel: of its form, else of the neuron, else of any kernel.
fn attribute(
    form: Form,
    name: &str,
    neuron: impl FnOnce(&str) -> Option<Attribute>,
    kernel: &CKernel2D,
) -> Option<Attribute> {
    match name {
        "hard_reset" => Some(form.hard_reset.into()),
        "dtype" => Some(form.dtype.into()),
        _ => neuron(name).or_else(|| kernel.attribute(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_soft_reset_subtracts_the_threshold() {
        let text = |dtype| neuronal_soft_reset("v", "h", "s", "v_th", dtype);
        assert_eq!(text(Dtype::Float), "v = h - v_th * s;");
        assert_eq!(text(Dtype::Half2), "v = __hsub2(h, __hmul2(v_th, s));");
    }

    #[test]
    fn operands_of_the_reset_get_brackets() {
        let text = neuronal_hard_reset("v", "a + b", "s", "c - d", Dtype::Float);
        assert_eq!(text, "v = (a + b) * (1.0f - s) + (c - d) * s;");
    }
}
