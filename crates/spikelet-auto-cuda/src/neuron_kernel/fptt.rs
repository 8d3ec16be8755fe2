//! The forward kernel of a neuron over all time steps.

use super::lengths::{self, Length};
use super::{
    Form, Undefined, add_params, attribute, neuronal_fire, neuronal_hard_reset, neuronal_soft_reset,
};
use crate::{
    Attribute, AutoCudaError, CKernel, CKernel2D, CodeTyper, Described, Dims, Dtype, Kernel,
};
use spikelet_expr::Expr;

/// A neuron's definitions for its forward kernel.
pub trait NeuronForward {
    /// The start of the kernel's name.
    fn class_name(&self) -> &str {
        "NeuronFPTTKernel"
    }

    /// Additional parameters of the charge: types and names.
    fn params(&self, _form: Form) -> Vec<(String, String)> {
        vec![]
    }

    /// Statements for H\[t\] = f(X\[t\], V\[t−1\]): they set `h_seq[t]` from `x_seq[t]` and
    /// `v_v_seq[t]`, the potential after the previous step.
    fn neuronal_charge(&self, _form: Form) -> String {
        "// neuronal_charge should be defined here!".to_string()
    }

    /// H\[t\] as an expression, for the CPU: of `v` for V\[t−1\], `x` for X\[t\], and the names of
    /// the kernel's scalars and tensors of one element (`v_th`, `v_reset` with a hard reset, those of
    /// [`params`](Self::params)).
    ///
    /// [`NeuronATGF`](super::NeuronATGF) evaluates it and its derivatives on the CPU. The kernels are
    /// printed from the texts, so both must be equivalent. `None` by default: such a neuron runs on GPUs
    /// only.
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
/// | `h_seq` | \[T, N\] | written: the potentials before firing, for the backward pass |
/// | `spike_seq` | \[T, N\] | written: the spikes |
/// | `v_th`, `v_reset` | scalars | the latter only with a hard reset |
/// | `numel`, `N` | scalars | T·N and N; counted in pairs for `half2` |
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
    /// The kernel of a neuron whose charge is not defined, for inspection.
    pub fn new(hard_reset: bool, dtype: Dtype) -> Self {
        Self::of(Undefined, hard_reset, dtype)
    }
}

impl<F: NeuronForward> FPTTKernel<F> {
    /// The kernel of a neuron.
    ///
    /// # Errors
    /// If a parameter of the neuron has an invalid type, or a name that is reserved or used.
    pub fn with(neuron: F, hard_reset: bool, dtype: Dtype) -> Result<Self, AutoCudaError> {
        let form = Form { dtype, hard_reset };
        let name = format!("{}_{dtype}_{}", neuron.class_name(), form.reset_name());
        let mut kernel = CKernel2D::new(name, false);
        kernel.reserve(&["temp_var"]);
        let written = ["v_v_seq", "h_seq", "spike_seq"];
        let own = neuron.params(form);
        add_params(&mut kernel, form, &["x_seq"], &written, own)?;
        Ok(Self {
            kernel,
            form,
            neuron,
        })
    }

    /// The scalar type and the reset.
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
        let neuron = |name: &str| self.neuron.attribute(name);
        attribute(self.form, name, neuron, &self.kernel)
    }
}
