//! The backward kernel of a neuron over all time steps.

use super::lengths::{self, Length};
use super::{Form, Undefined, add_params, attribute};
use crate::{
    Attribute, AutoCudaError, CKernel, CKernel2D, CodeBlock, CodeTyper, Described, Dims, Dtype,
    Kernel, SurrogateCodes, cfunction,
};
use std::fmt;
use std::sync::Arc;

/// The kernel's variables.
const VARIABLES: [&str; 8] = [
    "grad_h",
    "grad_h_next_to_v",
    "grad_h_to_x",
    "grad_s_to_h",
    "grad_v_to_h",
    "over_th",
    "spike_seq_t",
    "temp_var",
];

/// A neuron's definitions for its backward kernel.
pub trait NeuronBackward {
    /// The start of the kernel's name.
    fn class_name(&self) -> &str {
        "NeuronBPTTKernel"
    }

    /// Additional parameters of the derivatives: types and names.
    fn params(&self, _form: Form) -> Vec<(String, String)> {
        vec![]
    }

    /// Statements that declare `grad_h_next_to_v` = dH\[t+1\]/dV\[t\].
    ///
    /// They are used in the loop, and after it for dH\[1\]/dV\[0\]. `after` is the index of V\[t\] in a
    /// sequence that starts with the initial potential: `t + dt` in the loop, `index` after it.
    fn grad_h_next_to_v(&self, _form: Form, _after: &str) -> String {
        "// grad_h_next_to_v should be defined here!".to_string()
    }

    /// Statements that declare `grad_h_to_x` = dH\[t\]/dX\[t\].
    fn grad_h_to_x(&self, _form: Form) -> String {
        "// grad_h_to_x should be defined here!".to_string()
    }

    /// Statements at the start of the kernel, executed by all threads of a block, including those without a
    /// neuron.
    fn prologue(&self, _form: Form) -> String {
        String::new()
    }

    /// Statements at the end of each step, where `grad_h` is dL/dH\[t\].
    fn step_end(&self, _form: Form) -> String {
        String::new()
    }

    /// Statements at the end of the kernel, executed by all threads of a block, including those without a
    /// neuron.
    fn epilogue(&self, _form: Form) -> String {
        String::new()
    }

    /// An attribute of the neuron, for [`Kernel::check_attributes`].
    fn attribute(&self, _name: &str) -> Option<Attribute> {
        None
    }
}

impl NeuronBackward for Undefined {}

/// A neuron's backward kernel over T time steps of N neurons.
///
/// | parameter | shape | |
/// |---|---|---|
/// | `grad_spike_seq` | \[T, N\] | ∂L/∂S |
/// | `grad_v_seq` | \[T, N\] | ∂L/∂V after each step |
/// | `h_seq` | \[T, N\] | the potentials before firing, from the forward pass |
/// | `grad_x_seq` | \[T, N\] | written: dL/dX |
/// | `grad_v_init` | \[N\] | written: dL/dV at the start |
/// | `v_th`, `v_reset` | scalars | the latter only with a hard reset |
/// | `numel`, `N` | scalars | T·N and N; counted in pairs for `half2` |
#[derive(Clone)]
pub struct BPTTKernel<B> {
    kernel: CKernel2D,
    form: Form,
    detach_reset: bool,
    surrogate_function: Arc<dyn SurrogateCodes>,
    neuron: B,
}

/// The backward kernel of a neuron whose derivatives are not defined.
pub type NeuronBPTTKernel = BPTTKernel<Undefined>;

impl NeuronBPTTKernel {
    /// The kernel of a neuron whose derivatives are not defined, for inspection.
    pub fn new(
        surrogate_function: impl SurrogateCodes + 'static,
        hard_reset: bool,
        detach_reset: bool,
        dtype: Dtype,
    ) -> Self {
        Self::of(
            Undefined,
            surrogate_function,
            hard_reset,
            detach_reset,
            dtype,
        )
    }
}

impl<B: NeuronBackward> BPTTKernel<B> {
    /// The kernel of a neuron.
    ///
    /// # Errors
    /// If a parameter of the neuron has an invalid type, or a name that is reserved or used.
    pub fn with(
        neuron: B,
        surrogate_function: impl SurrogateCodes + 'static,
        hard_reset: bool,
        detach_reset: bool,
        dtype: Dtype,
    ) -> Result<Self, AutoCudaError> {
        let form = Form { dtype, hard_reset };
        let detach = if detach_reset { "detach" } else { "nodetach" };
        let name = format!(
            "{}_{dtype}_{}_{detach}_reset",
            neuron.class_name(),
            form.reset_name()
        );
        let mut kernel = CKernel2D::new(name, true);
        kernel.reserve(&VARIABLES);
        let read = ["grad_spike_seq", "grad_v_seq", "h_seq"];
        let written = ["grad_x_seq", "grad_v_init"];
        let own = neuron.params(form);
        add_params(&mut kernel, form, &read, &written, own)?;
        Ok(Self {
            kernel,
            form,
            detach_reset,
            surrogate_function: Arc::new(surrogate_function),
            neuron,
        })
    }

    /// The scalar type and the reset.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Whether no gradient passes through the spike in the reset.
    pub fn detach_reset(&self) -> bool {
        self.detach_reset
    }

    /// The surrogate of Θ′.
    pub fn surrogate_function(&self) -> &dyn SurrogateCodes {
        &*self.surrogate_function
    }

    /// The neuron.
    pub fn neuron(&self) -> &B {
        &self.neuron
    }

    /// As [`with`](Self::with), for a neuron of this crate.
    pub(super) fn of(
        neuron: B,
        surrogate_function: impl SurrogateCodes + 'static,
        hard_reset: bool,
        detach_reset: bool,
        dtype: Dtype,
    ) -> Self {
        Self::with(neuron, surrogate_function, hard_reset, detach_reset, dtype)
            .expect("parameters of the neurons here do not clash")
    }

    /// Declares `grad_v_to_h` = dV\[t\]/dH\[t\].
    fn grad_v_to_h(&self, typer: &mut CodeTyper) {
        let Form { dtype, hard_reset } = self.form;
        let target = format!("{dtype} grad_v_to_h");
        let temp = format!("{dtype} temp_var");
        let one = cfunction::constant(None, 1.0, dtype);
        if hard_reset {
            typer.append(&cfunction::sub(target.as_str(), &one, "spike_seq_t", dtype));
        } else {
            typer.append(&format!("{target} = {one}"));
        }
        if self.detach_reset {
            return;
        }
        let mut block = CodeBlock::new(typer);
        if hard_reset {
            block.append(&cfunction::sub(temp.as_str(), "v_reset", "h_seq[t]", dtype));
            block.append(&cfunction::mul(
                "temp_var",
                "temp_var",
                "grad_s_to_h",
                dtype,
            ));
            block.append(&cfunction::add(
                "grad_v_to_h",
                "temp_var",
                "grad_v_to_h",
                dtype,
            ));
        } else {
            block.append(&cfunction::mul(temp.as_str(), "v_th", "grad_s_to_h", dtype));
            block.append(&cfunction::sub(
                "grad_v_to_h",
                "grad_v_to_h",
                "temp_var",
                dtype,
            ));
        }
    }
}

impl<B: NeuronBackward> Kernel for BPTTKernel<B> {
    fn kernel(&self) -> &CKernel {
        &self.kernel
    }

    fn kernel_mut(&mut self) -> &mut CKernel {
        &mut self.kernel
    }

    fn prologue(&self) -> String {
        self.neuron.prologue(self.form)
    }

    fn pre_core(&self) -> String {
        let dtype = self.form.dtype;
        cfunction::constant(format!("{dtype} grad_h").as_str(), 0.0, dtype)
    }

    fn core(&self) -> String {
        let Form { dtype, .. } = self.form;
        let constant = |name: &str| format!("const {dtype} {name}");
        let mut typer = CodeTyper::new(0);
        typer.append(&cfunction::sub(
            constant("over_th").as_str(),
            "h_seq[t]",
            "v_th",
            dtype,
        ));
        typer.append(&cfunction::heaviside(
            constant("spike_seq_t").as_str(),
            "over_th",
            dtype,
        ));
        typer.append(&self.surrogate_function.cuda_codes(
            &constant("grad_s_to_h"),
            "over_th",
            dtype,
        ));
        self.grad_v_to_h(&mut typer);
        typer.append(&self.neuron.grad_h_next_to_v(self.form, "t + dt"));
        typer.append(&cfunction::mul(
            "grad_h",
            "grad_h",
            "grad_h_next_to_v",
            dtype,
        ));
        typer.append(&cfunction::add("grad_h", "grad_v_seq[t]", "grad_h", dtype));
        typer.append(&cfunction::mul("grad_h", "grad_h", "grad_v_to_h", dtype));
        {
            let mut block = CodeBlock::new(&mut typer);
            let temp = format!("{dtype} temp_var");
            block.append(&cfunction::mul(
                temp.as_str(),
                "grad_spike_seq[t]",
                "grad_s_to_h",
                dtype,
            ));
            block.append(&cfunction::add("grad_h", "grad_h", "temp_var", dtype));
        }
        typer.append(&self.neuron.grad_h_to_x(self.form));
        typer.append(&cfunction::mul(
            "grad_x_seq[t]",
            "grad_h",
            "grad_h_to_x",
            dtype,
        ));
        typer.append(&self.neuron.step_end(self.form));
        typer.codes().to_string()
    }

    fn post_core(&self) -> String {
        let mut typer = CodeTyper::new(0);
        typer.append(&self.neuron.grad_h_next_to_v(self.form, "index"));
        typer.append(&cfunction::mul(
            "grad_v_init[index]",
            "grad_h",
            "grad_h_next_to_v",
            self.form.dtype,
        ));
        typer.codes().to_string()
    }

    fn epilogue(&self) -> String {
        self.neuron.epilogue(self.form)
    }

    /// The gradients of a padding neuron are zero, so that sums over neurons are correct.
    fn zero_padded(&self) -> &[&str] {
        &["grad_spike_seq", "grad_v_seq"]
    }

    fn extra_steps(&self, cname: &str) -> usize {
        usize::from(cname == "v_v_seq")
    }

    fn check_arguments(&self, grid: Dims, args: &Described<'_>) -> Result<(), AutoCudaError> {
        lengths::check(self.kernel_name(), self.form, grid, args, &|name| {
            Some(match name {
                "grad_spike_seq" | "grad_v_seq" | "grad_x_seq" | "h_seq" | "x_seq" => Length::Steps,
                "v_v_seq" => Length::StartAndSteps,
                "grad_v_init" => Length::Neurons,
                "grad_decay" => Length::Blocks,
                "decay" => Length::Some,
                _ => return None,
            })
        })
    }

    /// The attribute `surrogate_function` is its text for `y` and `x`.
    fn attribute(&self, name: &str) -> Option<Attribute> {
        let dtype = self.form.dtype;
        match name {
            "detach_reset" => Some(self.detach_reset.into()),
            "surrogate_function" => {
                Some(self.surrogate_function.cuda_codes("y", "x", dtype).into())
            }
            _ => {
                let neuron = |name: &str| self.neuron.attribute(name);
                attribute(self.form, name, neuron, &self.kernel)
            }
        }
    }
}

impl<B: fmt::Debug> fmt::Debug for BPTTKernel<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BPTTKernel")
            .field("kernel", &self.kernel)
            .field("form", &self.form)
            .field("detach_reset", &self.detach_reset)
            .field("neuron", &self.neuron)
            .finish_non_exhaustive()
    }
}
