//! All time steps forward.

use super::lengths::{self, Length};
use super::{Form, Undefined, neuronal_fire, neuronal_hard_reset, neuronal_soft_reset, thresholds};
use crate::{
    Attribute, AutoCudaError, CKernel, CKernel2D, CodeTyper, Described, Dims, Dtype, Kernel,
};
use spikelet_expr::Expr;

/// What a neuron gives of its own to its forward kernel.
pub trait NeuronForward {
    /// What the kernel's name begins with.
    fn class_name(&self) -> &str {
        "NeuronFPTTKernel"
    }

    /// Parameters that the charge needs besides those of every neuron: types and names.
    fn params(&self, _form: Form) -> Vec<(String, String)> {
        vec![]
    }

    /// Statements for H\[t\] = f(X\[t\], V\[t−1\]): they set `h_seq[t]` from `x_seq[t]` and
    /// `v_v_seq[t]`, which is the potential after the step before.
    fn neuronal_charge(&self, _form: Form) -> String {
        "// neuronal_charge should be defined here!".to_string()
    }

    /// H\[t\] as an expression, for the CPU: of `v` for V\[t−1\], `x` for X\[t\], and the names of
    /// the kernel's numbers and one-number tensors (`v_th`, `v_reset` with a hard reset, those of
    /// [`params`](Self::params)).
    ///
    /// [`NeuronATGF`](super::NeuronATGF) runs it where there is no GPU and takes the derivatives
    /// from it. The kernels are printed from the texts, so both have to say the same. None by
    /// default: such a neuron runs on GPUs only.
    fn equation(&self, _form: Form) -> Option<Expr> {
        None
    }

    /// An attribute of the neuron, for [`Kernel::check_attributes`].
    fn attribute(&self, _name: &str) -> Option<Attribute> {
        None
    }
}

impl NeuronForward for Undefined {}

/// A neuron's forward kernel over T time steps of N neurons.
///
/// | parameter | shape | |
/// |---|---|---|
/// | `x_seq` | \[T, N\] | inputs |
/// | `v_v_seq` | \[T + 1, N\] | the potentials at the start, then after each step |
/// | `h_seq` | \[T, N\] | takes the potentials before firing, for the backward pass |
/// | `spike_seq` | \[T, N\] | takes the spikes |
/// | `v_th`, `v_reset` | numbers | the latter only with a hard reset |
/// | `numel`, `N` | numbers | T·N and N; in pairs for `half2` |
///
/// ```
/// use spikelet_auto_cuda::neuron_kernel::IFNodeFPTTKernel;
/// use spikelet_auto_cuda::{Dtype, Kernel};
/// let text = IFNodeFPTTKernel::new(true, Dtype::Float).full_codes();
/// assert!(text.contains("h_seq[t] = x_seq[t] + v_v_seq[t];"));
/// ```
#[derive(Clone, Debug)]
pub struct FPTTKernel<F> {
    kernel: CKernel2D,
    form: Form,
    neuron: F,
}

/// The forward kernel of a neuron whose charge is not defined.
pub type NeuronFPTTKernel = FPTTKernel<Undefined>;

impl NeuronFPTTKernel {
    /// The kernel of a neuron whose charge is not defined, to be looked at.
    pub fn new(hard_reset: bool, dtype: Dtype) -> Self {
        Self::of(Undefined, hard_reset, dtype)
    }
}

impl<F: NeuronForward> FPTTKernel<F> {
    /// The kernel of a neuron.
    ///
    /// # Errors
    /// If a parameter of the neuron's has no proper type, or a name that is reserved or taken.
    pub fn with(neuron: F, hard_reset: bool, dtype: Dtype) -> Result<Self, AutoCudaError> {
        let form = Form { dtype, hard_reset };
        let name = format!("{}_{dtype}_{}", neuron.class_name(), form.reset_name());
        let mut kernel = CKernel2D::new(name, false);
        kernel.reserve(&["temp_var"]);
        let (read, written) = (format!("const {dtype} *"), format!("{dtype} *"));
        kernel.add_param(&read, "x_seq")?;
        for name in ["v_v_seq", "h_seq", "spike_seq"] {
            kernel.add_param(&written, name)?;
        }
        for (ctype, cname) in thresholds(form) {
            kernel.add_param(&ctype, cname)?;
        }
        for (ctype, cname) in neuron.params(form) {
            kernel.add_param(&ctype, &cname)?;
        }
        Ok(Self {
            kernel,
            form,
            neuron,
        })
    }

    /// Number type and reset.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The neuron.
    pub fn neuron(&self) -> &F {
        &self.neuron
    }

    /// As [`with`](Self::with), for a neuron of this crate.
    pub(super) fn of(neuron: F, hard_reset: bool, dtype: Dtype) -> Self {
        Self::with(neuron, hard_reset, dtype).expect("parameters of the neurons here do not clash")
    }
}

impl<F: NeuronForward> Kernel for FPTTKernel<F> {
    fn kernel(&self) -> &CKernel {
        &self.kernel
    }

    fn kernel_mut(&mut self) -> &mut CKernel {
        &mut self.kernel
    }

    fn core(&self) -> String {
        let dtype = self.form.dtype;
        let mut typer = CodeTyper::new(0);
        typer.append(&self.neuron.neuronal_charge(self.form));
        typer.append(&neuronal_fire("spike_seq[t]", "h_seq[t]", "v_th", dtype));
        let (v, h, s) = ("v_v_seq[t + dt]", "h_seq[t]", "spike_seq[t]");
        typer.append(&if self.form.hard_reset {
            neuronal_hard_reset(v, h, s, "v_reset", dtype)
        } else {
            neuronal_soft_reset(v, h, s, "v_th", dtype)
        });
        typer.codes().to_string()
    }

    fn extra_steps(&self, cname: &str) -> usize {
        usize::from(cname == "v_v_seq")
    }

    fn check_arguments(&self, grid: Dims, args: &Described<'_>) -> Result<(), AutoCudaError> {
        lengths::check(self.kernel_name(), self.form, grid, args, &|name| {
            Some(match name {
                "x_seq" | "h_seq" | "spike_seq" => Length::Steps,
                "v_v_seq" => Length::StartAndSteps,
                "decay" => Length::Some,
                _ => return None,
            })
        })
    }

    fn attribute(&self, name: &str) -> Option<Attribute> {
        match name {
            "hard_reset" => Some(self.form.hard_reset.into()),
            "dtype" => Some(self.form.dtype.into()),
            _ => self
                .neuron
                .attribute(name)
                .or_else(|| self.kernel.attribute(name)),
        }
    }
}
