//! The operations of a graph, one file each.
//!
//! Every operation states its shape rule, its derivative as graph operations, and its cost.
//! The same file name on another floor (`spikelet-cpu/src/op/…`) runs it there.

mod all_reduce;
mod arg_max;
mod concat;
mod conv;
mod custom;
mod draw;
mod equal;
mod expand;
mod fill;
mod log_softmax;
mod map;
mod matmul;
mod mean_var;
mod one_hot;
mod pack;
mod permute;
mod pool;
mod reduce;
mod reshape;
mod scan;
mod scan_grad;
mod slice;
mod time_chunk;

pub use crate::device_code::{DeviceArgument, DeviceCall, DeviceCode, DeviceKernel, DeviceNumber};
pub use crate::host_tensor::{HostTensor, HostTensorMut};
pub use all_reduce::{AllReduceDone, AllReduceStart};
pub use arg_max::ArgMax;
pub use concat::Concat;
pub use conv::{Conv, ConvPart, ConvSizes};
pub use custom::{BackwardOperand, Custom, CustomOp, HostCall};
pub use draw::{Distribution, Draw, GENERATOR_STATE};
pub use equal::Equal;
pub use expand::Expand;
pub use fill::Fill;
pub use log_softmax::LogSoftmax;
pub use map::Map;
pub use matmul::{MatMul, MatmulPrecision};
pub use mean_var::MeanVar;
pub use one_hot::OneHot;
pub use pack::Pack;
pub use permute::Permute;
pub(crate) use permute::inverse;
pub use pool::{Pool, PoolGrad, Pooling, Window};
pub use reduce::{Reduce, Reduction};
pub use reshape::Reshape;
pub use scan::{Recurrence, Scan, StepOutput};
pub use scan_grad::ScanGrad;
pub use slice::Slice;
pub(crate) use time_chunk::time_chunk_type;
pub use time_chunk::{ConcatChunks, TimeChunk};

use crate::backward::Backward;
use crate::error::{InvalidOp, Result};
use crate::graph::{Graph, Node, ValueId};
#[cfg(test)]
use crate::rewrite::WithBody;
use crate::types::{DType, TensorType};

/// What the graph needs to know of an operation.
pub trait Operation {
    /// Its name, as in error messages.
    fn name(&self) -> String;

    /// Its name with what sets it apart, as in a printed graph.
    fn describe(&self) -> String {
        self.name()
    }

    /// The types of its outputs.
    ///
    /// # Errors
    /// When the operands do not fit.
    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp>;

    /// The number of its outputs, given that of its operands.
    fn outputs(&self, _operands: usize) -> usize {
        1
    }

    /// Builds the gradients of its inputs from those of its outputs; `None` where there is none.
    ///
    /// # Errors
    /// When the operation has no derivative.
    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>>;

    /// Floating-point operations.
    fn flops(&self, inputs: &[TensorType], outputs: &[TensorType]) -> u64;

    /// Whether the output is the inputs' memory under another shape. Of several outputs, each is
    /// the input of its place.
    fn is_view(&self) -> bool {
        false
    }

    /// Whether a device has something to do for it, be it to wait.
    fn runs(&self) -> bool {
        !self.is_view()
    }

    /// Whether all outputs are written, even those that nobody reads. (A custom operation says for
    /// each of its outputs whether it is.)
    fn writes_all(&self) -> bool {
        false
    }

    /// The graph that the operation runs, such as the body of a loop. Passes rewrite it as they
    /// rewrite the graph around it (see [`crate::rewrite::for_each_graph`]).
    fn body(&self) -> Option<&Graph> {
        None
    }

    /// See [`Operation::body`].
    fn body_mut(&mut self) -> Option<&mut Graph> {
        None
    }
}

/// A kind of operation, for patterns: `Conv::of(&node.op)` is the convolution that a node runs, if
/// it is one.
pub trait OpKind: Sized {
    /// The operation, if it is of this kind.
    fn of(op: &Op) -> Option<&Self>;
}

macro_rules! operations {
    ($($(#[$attribute:meta])* $name:ident),* $(,)?) => {
        /// An operation of a graph.
        #[derive(Clone, Debug)]
        pub enum Op {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $(#[$attribute])*
                $name($name),
            )*
        }
        $(
            $(#[$attribute])*
            impl From<$name> for Op {
                fn from(op: $name) -> Op { Op::$name(op) }
            }
            $(#[$attribute])*
            impl OpKind for $name {
                fn of(op: &Op) -> Option<&Self> {
                    match op { Op::$name(op) => Some(op), _ => None }
                }
            }
        )*
        impl Op {
            fn operation(&self) -> &dyn Operation {
                match self { $($(#[$attribute])* Op::$name(op) => op,)* }
            }

            fn operation_mut(&mut self) -> &mut dyn Operation {
                match self { $($(#[$attribute])* Op::$name(op) => op,)* }
            }
        }
    };
}

operations! {
    AllReduceStart, ArgMax, AllReduceDone, Concat, Conv, Custom, Draw, Equal, Expand, Fill, ConcatChunks, LogSoftmax, Map, MatMul,
    MeanVar, OneHot, Pack, TimeChunk, Permute, Pool, PoolGrad, Reduce, Reshape, Scan, ScanGrad, Slice,
    #[cfg(test)]
    WithBody,
}

impl Operation for Op {
    fn name(&self) -> String {
        self.operation().name()
    }

    fn describe(&self) -> String {
        self.operation().describe()
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        self.operation().infer(inputs)
    }

    fn outputs(&self, operands: usize) -> usize {
        self.operation().outputs(operands)
    }

    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        self.operation().differentiate(b, node)
    }

    fn flops(&self, inputs: &[TensorType], outputs: &[TensorType]) -> u64 {
        self.operation().flops(inputs, outputs)
    }

    fn is_view(&self) -> bool {
        self.operation().is_view()
    }

    fn runs(&self) -> bool {
        self.operation().runs()
    }

    fn writes_all(&self) -> bool {
        self.operation().writes_all()
    }

    fn body(&self) -> Option<&Graph> {
        self.operation().body()
    }

    fn body_mut(&mut self) -> Option<&mut Graph> {
        self.operation_mut().body_mut()
    }
}

/// The longest stride, padding, dilation or window along an axis: what 32 bits with a sign hold,
/// which is what devices' libraries count in.
pub(crate) const MAX_STEP: usize = i32::MAX as usize;

/// The elements of all types together.
pub(crate) fn elements(types: &[TensorType]) -> u64 {
    let lengths = types.iter().map(|t| t.len() as u64);
    lengths.fold(0, u64::saturating_add)
}

/// The product of counts; `u64::MAX` for more. Costs are counted of shapes that no memory holds, too.
pub(crate) fn product(counts: impl IntoIterator<Item = usize>) -> u64 {
    counts
        .into_iter()
        .fold(1, |a, n| a.saturating_mul(n as u64))
}

/// Checks that an operation has the number of operands it needs.
pub(crate) fn arity(inputs: &[TensorType], expected: usize) -> std::result::Result<(), InvalidOp> {
    if inputs.len() == expected {
        return Ok(());
    }
    Err(InvalidOp::new(
        format!("takes {expected} operands, {} were given", inputs.len()),
        "pass exactly the operands that the operation names",
    ))
}

/// Checks that an operand holds class numbers.
pub(super) fn expect_labels(ty: &TensorType) -> std::result::Result<(), InvalidOp> {
    if ty.dtype == DType::I64 {
        return Ok(());
    }
    Err(InvalidOp::new(
        format!("expects class numbers (i64), not {}", ty.dtype),
        "pass labels as an i64 tensor",
    ))
}

/// Checks that scores are floating-point numbers.
pub(super) fn expect_float(dtype: DType) -> std::result::Result<(), InvalidOp> {
    if dtype.is_float() {
        return Ok(());
    }
    Err(InvalidOp::new(
        format!("expects floating-point scores, not {dtype}"),
        "use f32 or f64",
    ))
}
