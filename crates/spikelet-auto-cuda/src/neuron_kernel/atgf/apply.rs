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

/// What a neuron's kernels take besides what every neuron's do.
#[derive(Clone, Copy, Debug)]
pub enum OwnParameter<'a> {
    /// A number, for `float &` or `half2 &`.
    Number(f64),
    /// One number that is learned, for `const float *` or `const half2 *`; the backward kernel has
    /// a parameter `float * grad_<name>`, into which each block puts its share of the gradient.
    /// The shares are added up in a fixed order.
    Tensor(&'a Var),
}

/// The autograd function of any neuron whose kernels are a [`FPTTKernel`] and a [`BPTTKernel`].
///
/// | | shape | |
/// |---|---|---|
/// | `x_seq` | \[T, …\] | inputs: f32 for kernels of `float`, f16 for `half2` |
/// | `v_init` | the shape of a step, or what broadcasts to it | the potential at the start |
/// | `v_th` | | the threshold |
/// | `v_reset` | | where a hard reset puts the potential; none for a soft reset |
/// | `own` | | the neuron's own parameters by their names |
/// | spike_seq, v_seq | \[T, …\] | spikes, and the potentials after each step |
///
/// An odd number of neurons of `half2` gets one more, which nobody sees. What does not fit is put
/// on record, as by all operations on [`Var`]s: kernels of another number type or reset, a
/// parameter that is missing or unknown.
///
/// A neuron that forgets a tenth of its potential at each step:
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
    /// Nothing checks the kernels' texts: the neuron's own, the surrogate's, and those that were
    /// set. On a GPU they have to stay within the sequences, numbers and gradients that they are
    /// given: a wrong index writes over other memory of the program.
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
                        // The operation says what it needs.
                        _ => (*tensor).clone(),
                    });
                }
            }
        }
        let definition = Definition::new(
            forward_kernel.into(),
            backward_kernel.into(),
            numbers,
            names,
        );
        run(x_seq, v_init, definition, &tensors)
    }
}

/// Applies an operation that wants \[T, N\], with an even N for halves.
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
    let made = Var::custom(Arc::new(Forward(Arc::new(definition))), &operands);
    let whole = |sequence: Var| match is_odd {
        true => sequence.slice(1, 0..n).reshape(&shape[..]),
        false => sequence.reshape(&shape[..]),
    };
    let v_seq = made[1].slice(0, 1..steps + 1);
    (whole(made[0].clone()), whole(v_seq))
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
    /// As [`NeuronATGF::apply`]: texts that were set, and those of the surrogate, are trusted.
    pub unsafe fn apply(
        x_seq: &Var,
        v_init: &Var,
        v_th: f64,
        v_reset: Option<f64>,
        forward_kernel: impl Into<Arc<IFNodeFPTTKernel>>,
        backward_kernel: impl Into<Arc<IFNodeBPTTKernel>>,
    ) -> (Var, Var) {
        // SAFETY: the caller's promise.
        unsafe {
            NeuronATGF::apply(
                x_seq,
                v_init,
                v_th,
                v_reset,
                &[],
                forward_kernel,
                backward_kernel,
            )
        }
    }
}

/// The autograd function of the leaky integrate-and-fire neuron: see [`NeuronATGF`].
#[derive(Clone, Copy, Debug)]
pub struct LIFNodeATGF;

impl LIFNodeATGF {
    /// spike_seq and v_seq; `decay` is 1/τ.
    ///
    /// # Safety
    /// As [`NeuronATGF::apply`]: texts that were set, and those of the surrogate, are trusted.
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
        // SAFETY: the caller's promise.
        unsafe {
            NeuronATGF::apply(
                x_seq,
                v_init,
                v_th,
                v_reset,
                &own,
                forward_kernel,
                backward_kernel,
            )
        }
    }
}

/// The autograd function of the parametric leaky integrate-and-fire neuron: see [`NeuronATGF`].
#[derive(Clone, Copy, Debug)]
pub struct ParametricLIFNodeATGF;

impl ParametricLIFNodeATGF {
    /// spike_seq and v_seq; `decay` is 1/τ, one number with a gradient.
    ///
    /// # Safety
    /// As [`NeuronATGF::apply`]: texts that were set, and those of the surrogate, are trusted.
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
        // SAFETY: the caller's promise.
        unsafe {
            NeuronATGF::apply(
                x_seq,
                v_init,
                v_th,
                v_reset,
                &own,
                forward_kernel,
                backward_kernel,
            )
        }
    }
}
