//! Applying a pair of kernels to `Var`s.

use super::definition::Definition;
use super::forward::Forward;
use crate::neuron_kernel::{
    BPTTKernel, FPTTKernel, IFNodeBPTTKernel, IFNodeFPTTKernel, LIFNodeBPTTKernel,
    LIFNodeFPTTKernel, NeuronBackward, NeuronForward, ParametricLIFNodeBPTTKernel,
    ParametricLIFNodeFPTTKernel,
};
use spikelet_graph::{DType, Var};
use std::sync::Arc;

/// An additional parameter of a neuron's kernels.
#[derive(Clone, Copy, Debug)]
pub enum OwnParameter<'a> {
    /// A scalar, for `float &` or `half2 &`.
    Number(f64),
    /// A learned tensor of one element, for `const float *` or `const half2 *`. The backward kernel has a
    /// parameter `float * grad_<name>`, to which each block writes its part of the gradient. The parts are
    /// summed in a fixed order.
    Tensor(&'a Var),
}

/// The autograd function of any neuron whose kernels are a [`FPTTKernel`] and a [`BPTTKernel`].
///
/// | | shape | |
/// |---|---|---|
/// | `x_seq` | \[T, …\] | inputs: f32 for kernels of `float`, f16 for `half2` |
/// | `v_init` | the shape of a step, or one that broadcasts to it | the initial potential |
/// | `v_th` | | the threshold |
/// | `v_reset` | | the potential after a hard reset; `None` for a soft reset |
/// | `own` | | the neuron's additional parameters by name |
/// | spike_seq, v_seq | \[T, …\] | spikes, and the potentials after each step |
///
/// An odd number of neurons is padded by one for `half2`. Errors are recorded, as by all operations on
/// [`Var`]s: kernels of another scalar type or reset, a missing or unknown parameter.
///
/// A neuron that loses a tenth of its potential at each step:
///
/// ```
/// use spikelet_auto_cuda::neuron_kernel::{
///     BPTTKernel, FPTTKernel, Form, NeuronATGF, NeuronBackward, NeuronForward,
/// };
/// use spikelet_auto_cuda::{AutoCudaError, Dtype, ExprSurrogate, cfunction};
/// use spikelet_expr::Expr;
/// use spikelet_graph::{DType, Tracer};
///
/// struct Leaky;
///
/// impl NeuronForward for Leaky {
///     fn class_name(&self) -> &str {
///         "LeakyFPTTKernel"
///     }
///     fn neuronal_charge(&self, form: Form) -> String {
///         let kept = cfunction::mul(None, &cfunction::constant(None, 0.9, form.dtype), "v_v_seq[t]", form.dtype);
///         cfunction::add("h_seq[t]", "x_seq[t]", &kept, form.dtype)
///     }
///     fn equation(&self, _: Form) -> Option<Expr> {
///         Some(Expr::symbol("x") + 0.9 * Expr::symbol("v")) // for the CPU
///     }
/// }
///
/// impl NeuronBackward for Leaky {
///     fn class_name(&self) -> &str {
///         "LeakyBPTTKernel"
///     }
///     fn grad_h_next_to_v(&self, form: Form, _after: &str) -> String {
///         let target = format!("const {} grad_h_next_to_v", form.dtype);
///         cfunction::constant(target.as_str(), 0.9, form.dtype)
///     }
///     fn grad_h_to_x(&self, form: Form) -> String {
///         let target = format!("const {} grad_h_to_x", form.dtype);
///         cfunction::constant(target.as_str(), 1.0, form.dtype)
///     }
/// }
///
/// let surrogate = ExprSurrogate::new(|x| 1.0 / (1.0 + x * x))?;
/// let forward = FPTTKernel::with(Leaky, true, Dtype::Float)?;
/// let backward = BPTTKernel::with(Leaky, surrogate, true, false, Dtype::Float)?;
///
/// let tracer = Tracer::new(DType::F32);
/// let x_seq = tracer.parameter("x_seq", [8, 4, 10]); // [T, N, …]
/// let v_init = tracer.fill(DType::F32, [], 0.0);
/// // SAFETY: the texts write what they are given at the thread's own index.
/// let (spike_seq, _) = unsafe {
///     NeuronATGF::apply(&x_seq, &v_init, 1.0, Some(0.0), &[], forward, backward)
/// };
/// let grads = tracer.gradients(&spike_seq.mean_all(), &[&x_seq]);
/// assert_eq!(grads[0].shape(), [8, 4, 10]);
/// # tracer.check()?;
/// # Ok::<(), AutoCudaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NeuronATGF;

impl NeuronATGF {
    /// spike_seq and v_seq.
    ///
    /// # Safety
    /// The kernels' texts are not checked: those of the neuron, of the surrogate, and those that were set.
    /// On a GPU they must only access the sequences, scalars and gradients that they are given: a wrong
    /// index overwrites other memory of the program.
    pub unsafe fn apply<F, B>(
        x_seq: &Var,
        v_init: &Var,
        v_th: f64,
        v_reset: Option<f64>,
        own: &[(&str, OwnParameter<'_>)],
        forward_kernel: impl Into<Arc<FPTTKernel<F>>>,
        backward_kernel: impl Into<Arc<BPTTKernel<B>>>,
    ) -> (Var, Var)
    where
        F: NeuronForward + Send + Sync + 'static,
        B: NeuronBackward + Send + Sync + 'static,
    {
        let inputs = Inputs {
            x_seq,
            v_init,
            v_th,
            v_reset,
        };
        // SAFETY: the caller's promise.
        unsafe { inputs.apply(own, forward_kernel.into(), backward_kernel.into()) }
    }
}

/// The inputs of every neuron.
struct Inputs<'a> {
    x_seq: &'a Var,
    v_init: &'a Var,
    v_th: f64,
    v_reset: Option<f64>,
}

impl Inputs<'_> {
    /// Applies the kernels.
    ///
    /// # Safety
    /// As [`NeuronATGF::apply`].
    unsafe fn apply<F, B>(
        self,
        own: &[(&str, OwnParameter<'_>)],
        forward_kernel: Arc<FPTTKernel<F>>,
        backward_kernel: Arc<BPTTKernel<B>>,
    ) -> (Var, Var)
    where
        F: NeuronForward + Send + Sync + 'static,
        B: NeuronBackward + Send + Sync + 'static,
    {
        let Self {
            x_seq,
            v_init,
            v_th,
            v_reset,
        } = self;
        let mut numbers = vec![("v_th".to_string(), v_th as f32)];
        numbers.extend(v_reset.map(|v| ("v_reset".to_string(), v as f32)));
        let (mut names, mut tensors) = (vec![], vec![]);
        for (name, parameter) in own {
            match parameter {
                OwnParameter::Number(value) => numbers.push((name.to_string(), *value as f32)),
                OwnParameter::Tensor(tensor) => {
                    names.push(name.to_string());
                    tensors.push(match tensor.ty().len() {
                        1 => tensor.reshape([1]).cast(DType::F32),
                        // Rejected by the operation.
                        _ => (*tensor).clone(),
                    });
                }
            }
        }
        let definition = Definition::new(forward_kernel, backward_kernel, numbers, names);
        run(x_seq, v_init, definition, &tensors)
    }
}

/// Applies an operation on \[T, N\], with an even N for f16.
fn run(x_seq: &Var, v_init: &Var, definition: Definition, own: &[Var]) -> (Var, Var) {
    let tracer = x_seq.tracer();
    let dtype = x_seq.ty().dtype;
    let shape = x_seq.shape().to_vec();
    let step = shape.get(1..).unwrap_or(&[]);
    let (steps, n) = (x_seq.dim(0), step.iter().product());
    let mut x = x_seq.reshape([steps, n]);
    let mut v = v_init.expand(step).reshape([n]).cast(dtype);
    let is_odd = dtype == DType::F16 && n % 2 == 1;
    if is_odd {
        x = Var::concat(&[&x, &tracer.fill(dtype, [steps, 1], 0.0)], 1);
        v = Var::concat(&[&v, &tracer.fill(dtype, [1], 0.0)], 0);
    }
    let operands: Vec<&Var> = [&x, &v].into_iter().chain(own).collect();
    let outputs = Var::custom(Arc::new(Forward(Arc::new(definition))), &operands);
    let in_shape = |sequence: Var| {
        let sequence = if is_odd {
            sequence.slice(1, 0..n)
        } else {
            sequence
        };
        sequence.reshape(&shape[..])
    };
    let v_seq = outputs[1].slice(0, 1..steps + 1);
    (in_shape(outputs[0].clone()), in_shape(v_seq))
}

/// The autograd function of the integrate-and-fire neuron: see [`NeuronATGF`].
#[derive(Clone, Copy, Debug)]
pub struct IFNodeATGF;

impl IFNodeATGF {
    /// spike_seq and v_seq.
    ///
    /// ```
    /// use spikelet_auto_cuda::neuron_kernel::{IFNodeATGF, IFNodeBPTTKernel, IFNodeFPTTKernel};
    /// use spikelet_auto_cuda::{Dtype, ExprSurrogate};
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x_seq = tracer.input("x_seq", DType::F32, [8, 64, 100]);
    /// let v_init = tracer.fill(DType::F32, [], 0.0);
    /// let surrogate = ExprSurrogate::new(|x| 1.0 / (1.0 + x * x))?;
    /// let forward_kernel = IFNodeFPTTKernel::new(true, Dtype::Float);
    /// let backward_kernel = IFNodeBPTTKernel::new(surrogate, true, false, Dtype::Float);
    /// // SAFETY: the kernels are those of this module, with the derivative of an expression.
    /// let (spike_seq, v_seq) = unsafe {
    ///     IFNodeATGF::apply(&x_seq, &v_init, 1.0, Some(0.0), forward_kernel, backward_kernel)
    /// };
    /// assert_eq!((spike_seq.ty(), v_seq.ty()), (x_seq.ty(), x_seq.ty()));
    /// # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
    /// ```
    ///
    /// # Safety
    /// As [`NeuronATGF::apply`]: texts that were set, and those of the surrogate, must be sound.
    pub unsafe fn apply(
        x_seq: &Var,
        v_init: &Var,
        v_th: f64,
        v_reset: Option<f64>,
        forward_kernel: impl Into<Arc<IFNodeFPTTKernel>>,
        backward_kernel: impl Into<Arc<IFNodeBPTTKernel>>,
    ) -> (Var, Var) {
        let inputs = Inputs {
            x_seq,
            v_init,
            v_th,
            v_reset,
        };
        // SAFETY: the caller's promise.
        unsafe { inputs.apply(&[], forward_kernel.into(), backward_kernel.into()) }
    }
}

/// The autograd function of the leaky integrate-and-fire neuron: see [`NeuronATGF`].
#[derive(Clone, Copy, Debug)]
pub struct LIFNodeATGF;

impl LIFNodeATGF {
    /// spike_seq and v_seq; `decay` is 1/τ.
    ///
    /// # Safety
    /// As [`NeuronATGF::apply`]: texts that were set, and those of the surrogate, must be sound.
    pub unsafe fn apply(
        x_seq: &Var,
        v_init: &Var,
        v_th: f64,
        v_reset: Option<f64>,
        decay: f64,
        forward_kernel: impl Into<Arc<LIFNodeFPTTKernel>>,
        backward_kernel: impl Into<Arc<LIFNodeBPTTKernel>>,
    ) -> (Var, Var) {
        let own = [("decay", OwnParameter::Number(decay))];
        let inputs = Inputs {
            x_seq,
            v_init,
            v_th,
            v_reset,
        };
        // SAFETY: the caller's promise.
        unsafe { inputs.apply(&own, forward_kernel.into(), backward_kernel.into()) }
    }
}

/// The autograd function of the parametric leaky integrate-and-fire neuron: see [`NeuronATGF`].
#[derive(Clone, Copy, Debug)]
pub struct ParametricLIFNodeATGF;

impl ParametricLIFNodeATGF {
    /// spike_seq and v_seq; `decay` is 1/τ, a tensor of one element with a gradient.
    ///
    /// # Safety
    /// As [`NeuronATGF::apply`]: texts that were set, and those of the surrogate, must be sound.
    pub unsafe fn apply(
        x_seq: &Var,
        v_init: &Var,
        v_th: f64,
        v_reset: Option<f64>,
        decay: &Var,
        forward_kernel: impl Into<Arc<ParametricLIFNodeFPTTKernel>>,
        backward_kernel: impl Into<Arc<ParametricLIFNodeBPTTKernel>>,
    ) -> (Var, Var) {
        let own = [("decay", OwnParameter::Tensor(decay))];
        let inputs = Inputs {
            x_seq,
            v_init,
            v_th,
            v_reset,
        };
        // SAFETY: the caller's promise.
        unsafe { inputs.apply(&own, forward_kernel.into(), backward_kernel.into()) }
    }
}
