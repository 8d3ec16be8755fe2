//! The common parts of the autograd functions of all neurons.

use crate::kernel::MAX_THREADS;
use crate::params::CType;
use crate::{Dtype, Kernel, PlannedArgument, THREADS};
use spikelet_graph::op::{BackwardOperand, DeviceArgument};
use spikelet_graph::{DType, InvalidOp, ShapeText, TensorType};

/// The results of a forward operation, in order.
pub(super) const SPIKE_SEQ: usize = 0;
pub(super) const V_V_SEQ: usize = 1;
pub(super) const H_SEQ: usize = 2;

/// The common parts of the autograd functions of all neurons.
///
/// [`NeuronATGF`](super::NeuronATGF) uses it for all neurons. Use it directly to write the two
/// [`CustomOp`](spikelet_graph::op::CustomOp)s of a neuron whose operation differs. The forward
/// one's operands are x_seq \[T, N\] and v_init \[N\], then the neuron's own; its results are
/// spike_seq \[T, N\], v_v_seq \[T + 1, N\] and h_seq \[T, N\].
#[derive(Clone, Copy, Debug)]
pub struct NeuronATGFBase;

/// The properties of a forward kernel's launch, computed from its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct PreForward {
    /// The scalar type of the kernels.
    pub dtype: Dtype,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// T·N; in pairs for `half2`.
    pub numel: i32,
    /// N; in pairs for `half2`.
    pub n: i32,
    /// The type of the spikes, \[T, N\].
    pub spike_seq: TensorType,
    /// The type of the initial potentials and those after each step, \[T + 1, N\].
    pub v_v_seq: TensorType,
    /// The type of the potentials before firing, \[T, N\].
    pub h_seq: TensorType,
    /// The arguments of every neuron's kernel: the sequences, `numel` and `N`.
    pub py_dict: Vec<(&'static str, PlannedArgument)>,
}

/// The properties of a backward kernel's launch, computed from its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct PreBackward {
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// T·N; in pairs for `half2`.
    pub numel: i32,
    /// N; in pairs for `half2`.
    pub n: i32,
    /// The type of dL/dX, \[T, N\].
    pub grad_x_seq: TensorType,
    /// The type of dL/dV at the start, \[N\].
    pub grad_v_init: TensorType,
    /// The arguments: the saved tensors, the gradients, `numel` and `N`.
    pub py_dict: Vec<(String, PlannedArgument)>,
}

/// Blocks of `threads` threads for N neurons; 0 without neurons.
fn blocks(n: i32, threads: u32) -> u32 {
    n.unsigned_abs().div_ceil(threads.max(1))
}

impl PreForward {
    /// With this number of threads per block, such as [`Kernel::threads`] of the kernel.
    #[must_use]
    pub fn with_threads(mut self, threads: u32) -> Self {
        (self.blocks, self.threads) = (blocks(self.n, threads), threads);
        self
    }
}

impl PreBackward {
    /// With this number of threads per block, such as [`Kernel::threads`] of the kernel.
    #[must_use]
    pub fn with_threads(mut self, threads: u32) -> Self {
        (self.blocks, self.threads) = (blocks(self.n, threads), threads);
        self
    }
}

impl NeuronATGFBase {
    /// Types of the results, launch and arguments of a forward kernel. `v_v_seq` starts with v_init, which
    /// must be copied there before the kernel runs.
    ///
    /// # Errors
    /// If `x_seq` is not \[T, N\] of f32, or of f16 with an even N; if `v_init` is not \[N\] of the
    /// same type; if the number of elements exceeds the kernel's `int`.
    ///
    /// ```
    /// use spikelet_auto_cuda::neuron_kernel::NeuronATGFBase;
    /// use spikelet_graph::{DType, TensorType};
    /// let sequence = |dtype| TensorType::new(dtype, [8, 1000]);
    /// let start = |dtype| TensorType::new(dtype, [1000]);
    /// let float = NeuronATGFBase::pre_forward(&sequence(DType::F32), &start(DType::F32))?;
    /// assert_eq!((float.numel, float.n, float.blocks, float.threads), (8000, 1000, 2, 512));
    /// assert_eq!(float.v_v_seq.shape, [9, 1000]);
    /// let half2 = NeuronATGFBase::pre_forward(&sequence(DType::F16), &start(DType::F16))?;
    /// assert_eq!((half2.numel, half2.n, half2.blocks), (4000, 500, 1));
    /// # Ok::<(), spikelet_graph::InvalidOp>(())
    /// ```
    pub fn pre_forward(x_seq: &TensorType, v_init: &TensorType) -> Result<PreForward, InvalidOp> {
        let Counts { dtype, numel, n } = Counts::new("x_seq", x_seq)?;
        let start = TensorType::new(x_seq.dtype, &x_seq.shape[1..]);
        if *v_init != start {
            return Err(InvalidOp::new(
                format!("x_seq is {x_seq}, so v_init must be {start}; it is {v_init}"),
                "pass a potential for each neuron, of the type of x_seq",
            ));
        }
        let mut longer = x_seq.clone();
        longer.shape[0] += 1;
        Ok(PreForward {
            dtype,
            blocks: blocks(n, THREADS),
            threads: THREADS,
            numel,
            n,
            spike_seq: x_seq.clone(),
            v_v_seq: longer,
            h_seq: x_seq.clone(),
            py_dict: vec![
                ("x_seq", DeviceArgument::Input(0).into()),
                ("spike_seq", DeviceArgument::Output(SPIKE_SEQ).into()),
                ("v_v_seq", DeviceArgument::Output(V_V_SEQ).into()),
                ("h_seq", DeviceArgument::Output(H_SEQ).into()),
                ("numel", numel.into()),
                ("N", n.into()),
            ],
        })
    }

    /// The operands of the backward operation, in order, with the names of the kernel's parameters: the
    /// gradients of the spikes and the potentials, and the sequences and additional operands (`own`) of the
    /// forward operation that the kernel reads.
    ///
    /// ```
    /// use spikelet_auto_cuda::neuron_kernel::{IFNodeBPTTKernel, NeuronATGFBase};
    /// use spikelet_auto_cuda::{Dtype, ExprSurrogate};
    /// use spikelet_graph::op::BackwardOperand::{Gradient, Output};
    /// let surrogate = ExprSurrogate::new(|x| 1.0 / (1.0 + x * x))?;
    /// let kernel = IFNodeBPTTKernel::new(surrogate, true, false, Dtype::Float);
    /// let saved = NeuronATGFBase::ctx_save(&kernel, &[]);
    /// let operands: Vec<_> = saved.iter().map(|(_, operand)| *operand).collect();
    /// assert_eq!(operands, [Gradient(0), Gradient(1), Output(2)]); // h_seq is the last one
    /// # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
    /// ```
    pub fn ctx_save(
        backward_kernel: &(impl Kernel + ?Sized),
        own: &[&str],
    ) -> Vec<(String, BackwardOperand)> {
        let operand = |name: &str| {
            Some(match name {
                "grad_spike_seq" => BackwardOperand::Gradient(SPIKE_SEQ),
                "grad_v_seq" => BackwardOperand::Gradient(V_V_SEQ),
                "spike_seq" => BackwardOperand::Output(SPIKE_SEQ),
                "v_v_seq" => BackwardOperand::Output(V_V_SEQ),
                "h_seq" => BackwardOperand::Output(H_SEQ),
                "x_seq" => BackwardOperand::Input(0),
                "v_init" => BackwardOperand::Input(1),
                _ => BackwardOperand::Input(2 + own.iter().position(|own| *own == name)?),
            })
        };
        let params = backward_kernel.cparams().iter();
        params
            .filter(|(_, ctype)| !CType::parse(ctype).is_output())
            .filter_map(|(name, _)| Some((name.clone(), operand(name)?)))
            .collect()
    }

    /// Types of the results, launch and arguments of a backward kernel: `saved` is the result
    /// of [`ctx_save`](Self::ctx_save), `operands` are the types of these tensors. The results
    /// are dL/dX and dL/dV at the start, then the neuron's own.
    ///
    /// # Errors
    /// If the gradient of the spikes is missing or of an unsupported type.
    pub fn pre_backward(
        saved: &[(String, BackwardOperand)],
        operands: &[TensorType],
    ) -> Result<PreBackward, InvalidOp> {
        let mut named = saved.iter().map(|(name, _)| name).zip(operands);
        let Some((_, sequence)) = named.find(|(name, _)| *name == "grad_spike_seq") else {
            return Err(InvalidOp::new(
                "the backward kernel has no `grad_spike_seq`",
                "add the parameters of `BPTTKernel`",
            ));
        };
        let Counts { numel, n, .. } = Counts::new("grad_spike_seq", sequence)?;
        let start = TensorType::new(sequence.dtype, &sequence.shape[1..]);
        let mut py_dict: Vec<(String, PlannedArgument)> = vec![
            ("grad_x_seq".to_string(), DeviceArgument::Output(0).into()),
            ("grad_v_init".to_string(), DeviceArgument::Output(1).into()),
            ("numel".to_string(), numel.into()),
            ("N".to_string(), n.into()),
        ];
        py_dict.extend(saved.iter().enumerate().map(|(k, (name, _))| {
            let operand = match name.as_str() {
                // The gradient of v_v_seq, whose first row is that of v_init.
                "grad_v_seq" => DeviceArgument::InputAt(k, start.bytes()),
                _ => DeviceArgument::Input(k),
            };
            (name.clone(), operand.into())
        }));
        Ok(PreBackward {
            blocks: blocks(n, THREADS),
            threads: THREADS,
            numel,
            n,
            grad_x_seq: sequence.clone(),
            grad_v_init: start,
            py_dict,
        })
    }
}

/// The counts that are passed to a kernel.
struct Counts {
    dtype: Dtype,
    numel: i32,
    n: i32,
}

impl Counts {
    fn new(name: &str, sequence: &TensorType) -> Result<Self, InvalidOp> {
        let (dtype, lanes) = match sequence.dtype {
            DType::F32 => (Dtype::Float, 1),
            DType::F16 => (Dtype::Half2, 2),
            other => {
                return Err(InvalidOp::new(
                    format!("{name} is {other}; kernels support f32 and, as half2, f16"),
                    "cast it to one of them",
                ));
            }
        };
        let [steps, neurons] = sequence.shape[..] else {
            return Err(InvalidOp::new(
                format!(
                    "{name} has the shape {}; it must be [T, N]",
                    ShapeText(&sequence.shape)
                ),
                "reshape all axes after time into one",
            ));
        };
        if neurons % lanes != 0 {
            return Err(InvalidOp::new(
                format!("{name} has {neurons} neurons; f16 elements are processed in pairs"),
                "pass an even number of neurons",
            ));
        }
        let n = neurons / lanes;
        let numel = steps.saturating_mul(n);
        // Indices advance by one step, or one block, before they are compared.
        let furthest = numel.saturating_add(n.max(MAX_THREADS as usize));
        match (
            i32::try_from(furthest),
            i32::try_from(numel),
            i32::try_from(n),
        ) {
            (Ok(_), Ok(numel), Ok(n)) => Ok(Self { dtype, numel, n }),
            _ => Err(InvalidOp::new(
                format!("{name} has more elements than the kernels' `int` can represent"),
                "run fewer neurons or time steps at once",
            )),
        }
    }
}
