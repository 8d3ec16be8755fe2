//! The operations of a graph, one file each.
//!
//! Every operation defines its shape rule, its derivative as graph operations, and its cost. The
//! kernels are in the files of the same name in `spikelet-cpu/src/op` and `spikelet-cuda/src/op`.

mod all_reduce;
mod arg_max;
mod batch_matmul;
mod concat;
mod conv;
mod cumprod;
mod custom;
mod delayed_matmul;
mod draw;
mod equal;
mod event_frames;
mod expand;
mod fill;
mod flip;
mod gather;
mod generator_steps;
mod log_softmax;
mod loops;
mod map;
mod matmul;
mod mean_var;
mod one_hot;
mod pack;
mod permute;
mod pool;
mod port;
mod rank_update;
mod recurrence;
mod reduce;
mod reshape;
mod scan;
mod scan_grad;
mod scan_types;
mod slice;
mod time_chunk;
mod top_k;
#[cfg(test)]
mod with_body;

pub use crate::device_code::{DeviceArgument, DeviceCall, DeviceCode, DeviceKernel, DeviceNumber};
pub use crate::host_tensor::{HostTensor, HostTensorMut};
pub use all_reduce::{AllReduceDone, AllReduceStart};
pub use arg_max::ArgMax;
pub use batch_matmul::{BatchMatMul, BatchMatMulSizes};
pub use concat::Concat;
pub use conv::{Conv, ConvPart, ConvSizes};
pub use cumprod::CumProd;
pub use custom::{BackwardOperand, Custom, CustomOp, HostCall};
pub use delayed_matmul::{DelayedMatMul, DelayedSizes};
pub use draw::{Distribution, Draw, GENERATOR_STATE};
pub use equal::Equal;
pub use event_frames::{EventFrames, EventSlicing};
pub use expand::Expand;
pub use fill::Fill;
pub use flip::Flip;
pub use gather::{Gather, GatherSizes, Indexed, ScatterAdd};
pub use generator_steps::{GENERATOR_TIME, GeneratorSteps};
pub use log_softmax::LogSoftmax;
pub use loops::{Loop, LoopBody};
pub use map::Map;
pub use matmul::{MatMul, MatmulPrecision};
pub use mean_var::MeanVar;
pub use one_hot::OneHot;
pub use pack::Pack;
pub use permute::Permute;
pub(crate) use permute::inverse;
pub use pool::{Pool, PoolGrad, Pooling, Window};
pub use port::{Port, Ports};
pub use rank_update::RankUpdate;
pub use recurrence::{Recurrence, StepOutput};
pub use reduce::{Reduce, Reduction};
pub use reshape::Reshape;
pub use scan::{Feedback, Scan, ScanId};
pub use scan_grad::ScanGrad;
pub use slice::Slice;
pub(crate) use time_chunk::time_chunk_type;
pub use time_chunk::{ConcatChunks, TimeChunk};
pub use top_k::TopK;
#[cfg(test)]
pub use with_body::WithBody;

// The files of operations have these names too: they import everything of this module.
use crate::backward::Backward;
use crate::error::{Error, InvalidOp, Result, invalid};
use crate::graph::{Graph, Node, ValueId};
use crate::semantics::{Class, InPlace, Join, Kind, Role, Semantics, Storage};
use crate::semantics::{aligned, common_axes};
use crate::text::Text;
use crate::types::{DType, ShapeText, TensorType, broadcast};
use std::ops::Range;

/// The rules of an operation.
pub trait Operation {
    /// Its name, its kind of computation and the element types under a 16-bit precision.
    fn kind(&self) -> Kind;

    /// The error of an operation without a derivative.
    fn no_gradient(&self, problem: &str) -> Error {
        Error::Gradient {
            what: self.name(),
            problem: problem.to_string(),
        }
    }

    /// The kind of computation.
    fn class(&self) -> Class {
        self.kind().class
    }

    /// The element types under a 16-bit precision.
    fn storage(&self) -> Storage {
        self.kind().storage
    }

    /// The name in error messages.
    fn name(&self) -> String {
        self.kind().name.to_string()
    }

    /// The name and the parameters as they are printed and read: one description for both directions.
    fn text(&mut self, t: &mut Text<'_>) {
        t.word(self.kind().name);
    }

    /// The types of the results.
    ///
    /// # Errors
    /// When the operands do not fit the operation.
    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp>;

    /// The number of results for this number of operands.
    fn outputs(&self, _operands: usize) -> usize {
        1
    }

    /// Whether the result is the operand: a shape, an order or a range of elements that it has already. A graph gets no
    /// node for such an operation.
    fn changes_nothing(&self, _inputs: &[TensorType]) -> bool {
        false
    }

    /// Appends the gradients of the operands, computed from those of the results (the vector-Jacobian
    /// product); `None` for an operand without a gradient.
    ///
    /// # Errors
    /// When the operation has no derivative.
    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>>;

    /// The operands whose memory a result may take.
    fn in_place(&self, _result: usize) -> InPlace {
        InPlace::Never
    }

    /// Whether results take the memory of operands only on devices that
    /// [overwrite sequences](crate::InPlaceUpdates::overwrites_sequences).
    fn asks_device(&self) -> bool {
        false
    }

    /// What it does to the axes of operands and results of these types. By default an elementwise operation broadcasts
    /// all operands, and no other one can be divided.
    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let whole = Semantics::new(inputs, outputs);
        match self.class() {
            Class::Elementwise => whole.broadcasting(0..inputs.len(), inputs, &outputs[0].shape),
            _ => whole,
        }
    }

    /// The operation over some iterations of one of its [`axes`](Semantics::axes), with results of these types; `None`:
    /// the operation as it is. See [`Op::part`].
    fn resized(&self, _axis: usize, _range: &Range<usize>, _results: &[TensorType]) -> Option<Op> {
        None
    }

    /// Floating-point operations; by default one for each element that a reduction reads, and else none.
    fn flops(&self, inputs: &[TensorType], _outputs: &[TensorType]) -> u64 {
        match self.class() {
            Class::Reduction => elements(inputs),
            _ => 0,
        }
    }

    /// How results share the memory of operands; `None` for results with memory of their own.
    fn view(&self) -> Option<View> {
        None
    }

    /// See [`Operation::view`].
    fn is_view(&self) -> bool {
        self.view().is_some()
    }

    /// Whether a device has work to do for it, such as to wait for an all-reduce.
    fn runs(&self) -> bool {
        !self.is_view()
    }

    /// Whether a result is written even if it is not read.
    fn writes_unread(&self, _result: usize) -> bool {
        false
    }

    /// Whether a result consists of zeros and ones and can be stored as bits.
    fn is_binary(&self, _result: usize) -> bool {
        false
    }

    /// The operation on operands whose axis `k` becomes axis `order[k]`, with results permuted alike; `None` if their axes
    /// have other meanings.
    fn permuted(&self, _order: &[usize]) -> Option<Op> {
        None
    }

    /// The operation with results that are rounded to another element type, once; `None` if its results have one type
    /// only.
    fn stored_as(&self, _dtype: DType) -> Option<Op> {
        None
    }

    /// The precision of its products of f32 numbers, if it has any.
    fn precision_mut(&mut self) -> Option<&mut MatmulPrecision> {
        None
    }

    /// Whether a long sequence is always divided into time chunks: the last bits of its results depend on the number of
    /// chunks, and no plan may give others.
    fn is_chunked(&self) -> bool {
        false
    }

    /// The time steps of a layer whose steps read each other's results through products or a body.
    fn recurrent_steps(&self) -> Option<usize> {
        None
    }

    /// The graph that the operation runs, such as the body of a loop.
    ///
    /// The body reads no value of the graph around it: every value that it captures is an operand of
    /// the operation, so that lifetimes and use counts of the outer graph are complete. The planner
    /// treats a body as follows:
    ///
    /// - Passes rewrite it as they rewrite the outer graph ([`crate::rewrite::for_each_graph`]); types
    ///   of its inputs and outputs do not change.
    /// - The workspace of the operation begins with the arena of its body, followed by the workspace
    ///   that the target asks for, so that peaks and memory limits include it. A backend lays out the
    ///   body in this memory with a plan of its own.
    /// - `pass::time_chunking` divides neither the operation nor its body, and `pass::rematerialize`
    ///   recomputes it only completely.
    fn body(&self) -> Option<&Graph> {
        None
    }

    /// How often the body runs.
    fn body_runs(&self) -> usize {
        1
    }

    /// See [`Operation::body`].
    fn body_mut(&mut self) -> Option<&mut Graph> {
        None
    }
}

/// Results in the memory of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// Each result is the operand with the same index.
    Operand,
    /// The result is the chunk with this index, of equal chunks of the operand.
    Chunk(usize),
    /// The operands are equal chunks of the result.
    Joined,
}

/// A kind of operation, for patterns: `Conv::of(&node.op)` is `Some` if the node is a convolution.
pub trait OpKind: Sized {
    /// The operation, if it is of this kind.
    fn of(op: &Op) -> Option<&Self>;
}

/// An operation to read a text into.
macro_rules! blank {
    // Its code is not in the text.
    (Custom) => {
        None
    };
    ($name:ident) => {
        Some(Op::from($name::default()))
    };
}

macro_rules! operations {
    ($($(#[$attribute:meta])* $name:ident)*) => {
        impl Op {
            /// An operation of each kind whose text can be read, to be read into.
            pub(crate) fn blanks() -> Vec<Op> {
                let blanks = [$($(#[$attribute])* blank!($name),)*];
                blanks.into_iter().flatten().collect()
            }
        }

        /// An operation of a graph. Equal operations compute the same of the same operands.
        #[derive(Clone, Debug, PartialEq)]
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
            /// The names of all kinds of operations.
            pub const KINDS: &[&str] = &[$($(#[$attribute])* stringify!($name),)*];

            fn operation(&self) -> &dyn Operation {
                match self { $($(#[$attribute])* Op::$name(op) => op,)* }
            }

            fn operation_mut(&mut self) -> &mut dyn Operation {
                match self { $($(#[$attribute])* Op::$name(op) => op,)* }
            }
        }
    };
}

/// Calls a macro with the names of all operations, so that a backend does not list them again.
#[macro_export]
macro_rules! for_each_operation {
    ($macro:ident $($more:tt)*) => {
        $macro! {
            AllReduceDone AllReduceStart ArgMax BatchMatMul Concat ConcatChunks Conv CumProd Custom
            DelayedMatMul Draw Equal EventFrames Expand Fill Flip Gather GeneratorSteps LogSoftmax
            Loop Map MatMul MeanVar OneHot Pack Permute Pool PoolGrad RankUpdate
            Reduce Reshape Scan ScanGrad ScatterAdd Slice TimeChunk TopK
            $($more)*
        }
    };
}

for_each_operation!(operations #[cfg(test)] WithBody);

/// Lets an operation answer by its kind.
macro_rules! answer_by_kind {
    ($(fn $name:ident(&self $(, $given:ident: $type:ty)*) -> $answer:ty;)*) => {
        impl Operation for Op {
            $(fn $name(&self $(, $given: $type)*) -> $answer {
                self.operation().$name($($given),*)
            })*

            fn text(&mut self, t: &mut Text<'_>) {
                self.operation_mut().text(t);
            }

            fn precision_mut(&mut self) -> Option<&mut MatmulPrecision> {
                self.operation_mut().precision_mut()
            }

            fn body_mut(&mut self) -> Option<&mut Graph> {
                self.operation_mut().body_mut()
            }
        }
    };
}

answer_by_kind! {
    fn kind(&self) -> Kind;
    fn name(&self) -> String;
    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp>;
    fn outputs(&self, operands: usize) -> usize;
    fn changes_nothing(&self, inputs: &[TensorType]) -> bool;
    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>>;
    fn in_place(&self, result: usize) -> InPlace;
    fn asks_device(&self) -> bool;
    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics;
    fn resized(&self, axis: usize, range: &Range<usize>, results: &[TensorType]) -> Option<Op>;
    fn permuted(&self, order: &[usize]) -> Option<Op>;
    fn stored_as(&self, dtype: DType) -> Option<Op>;
    fn flops(&self, inputs: &[TensorType], outputs: &[TensorType]) -> u64;
    fn view(&self) -> Option<View>;
    fn runs(&self) -> bool;
    fn writes_unread(&self, result: usize) -> bool;
    fn is_binary(&self, result: usize) -> bool;
    fn is_chunked(&self) -> bool;
    fn recurrent_steps(&self) -> Option<usize>;
    fn body(&self) -> Option<&Graph>;
    fn body_runs(&self) -> usize;
}

impl Graph {
    /// What a node does to the axes of its operands.
    pub fn semantics(&self, node: &Node) -> Semantics {
        let (inputs, outputs) = (self.types(&node.inputs), self.types(&node.outputs));
        node.op.semantics(&inputs, &outputs)
    }
}

impl Op {
    /// The operation over the iterations `range` of an axis, given its semantics and results: its operands are then those
    /// parts of the operands that [`Semantics::part`] gives.
    pub fn part(
        &self,
        semantics: &Semantics,
        outputs: &[TensorType],
        axis: usize,
        range: &Range<usize>,
    ) -> Op {
        let results = semantics.results.iter().zip(outputs);
        let results: Vec<TensorType> = results
            .map(|(access, ty)| semantics.part(access, ty, axis, range))
            .collect();
        let resized = self.resized(axis, range, &results);
        resized.unwrap_or_else(|| self.clone())
    }
}

/// The largest stride, padding, dilation or window along an axis: libraries of devices use 32-bit
/// signed integers.
pub(crate) const MAX_STEP: usize = i32::MAX as usize;

/// The number of elements of all types together.
pub(crate) fn elements(types: &[TensorType]) -> u64 {
    let lengths = types.iter().map(|t| t.len() as u64);
    lengths.fold(0, u64::saturating_add)
}

/// The product of counts; `u64::MAX` if it overflows, since costs are also computed for shapes that no
/// memory holds.
pub(crate) fn product(counts: impl IntoIterator<Item = usize>) -> u64 {
    counts
        .into_iter()
        .fold(1, |a, n| a.saturating_mul(n as u64))
}

/// Checks the number of operands.
pub(crate) fn arity(inputs: &[TensorType], expected: usize) -> std::result::Result<(), InvalidOp> {
    if inputs.len() == expected {
        return Ok(());
    }
    invalid!("takes {expected} operands; {} were given", inputs.len();
        "pass exactly the operands of the operation")
}

/// The operands, of which there must be as many.
pub(crate) fn operands<const N: usize>(
    inputs: &[TensorType],
) -> std::result::Result<&[TensorType; N], InvalidOp> {
    arity(inputs, N)?;
    Ok(inputs.first_chunk().expect("the number was checked"))
}

/// The length of an axis that an operand must have.
pub(super) fn expect_axis(ty: &TensorType, axis: usize) -> std::result::Result<usize, InvalidOp> {
    let length = ty.shape.get(axis).copied();
    length.ok_or_else(|| InvalidOp::no_axis(axis, ty.shape.len()))
}

/// Checks that an operand broadcasts to a shape.
pub(super) fn expect_broadcast(
    problem: &str,
    given: &TensorType,
    shape: &[usize],
) -> std::result::Result<(), InvalidOp> {
    if broadcast(&given.shape, shape).as_deref() == Some(shape) {
        return Ok(());
    }
    invalid!("{problem}: {} against {}", ShapeText(&given.shape), ShapeText(shape);
        "axes must be equal or 1, counted from the last")
}

/// Checks that an operand holds class numbers.
pub(super) fn expect_labels(ty: &TensorType) -> std::result::Result<(), InvalidOp> {
    if ty.dtype == DType::I64 {
        return Ok(());
    }
    invalid!("expects class numbers (i64), not {}", ty.dtype; "pass labels as an i64 tensor")
}

/// Checks that scores are floating-point numbers.
pub(super) fn expect_float(dtype: DType) -> std::result::Result<(), InvalidOp> {
    if dtype.is_float() {
        return Ok(());
    }
    invalid!("expects floating-point scores, not {dtype}"; "use f32 or f64")
}
