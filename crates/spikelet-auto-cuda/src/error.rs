//! What can be wrong with a kernel or with the arguments of a call.

use super::Element;

/// What can be wrong with a kernel or with the arguments of a call.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AutoCudaError {
    /// A number type that kernels are not written for.
    #[error("`{given}` is no number type of a kernel: use `float` or `half2`")]
    Dtype {
        /// What was given.
        given: String,
    },
    /// A parameter that C++ could not read.
    #[error(
        "kernel `{kernel}`: `{ctype} {cname}` declares no parameter; give a type such as \
         `const float *` and a name of letters, digits and `_` that begins with no digit"
    )]
    Declaration {
        /// The kernel.
        kernel: String,
        /// The type that was given.
        ctype: String,
        /// The name that was given.
        cname: String,
    },
    /// A parameter with the name of a variable of the kernel's own.
    #[error(
        "kernel `{kernel}`: no parameter can be called `{cname}`, which the kernel uses itself \
         ({reserved}); choose another name"
    )]
    ReservedName {
        /// The kernel.
        kernel: String,
        /// The name.
        cname: String,
        /// All reserved names.
        reserved: String,
    },
    /// A second parameter of the same name.
    #[error(
        "kernel `{kernel}`: `{given} {cname}` cannot be added, there is `{known} {cname}` already; \
         choose another name"
    )]
    RepeatedName {
        /// The kernel.
        kernel: String,
        /// The name.
        cname: String,
        /// The type of the parameter that is there.
        known: String,
        /// The type that was given.
        given: String,
    },
    /// An attribute that the kernel does not have.
    #[error("kernel `{kernel}` has no attribute `{attribute}`")]
    Attribute {
        /// The kernel.
        kernel: String,
        /// The name that was given.
        attribute: String,
    },
    /// A number of threads that no block can have.
    #[error("kernel `{kernel}`: a block cannot have {given} threads; give it 1 to 1024")]
    Threads {
        /// The kernel.
        kernel: String,
        /// The number that was given.
        given: u32,
    },
    /// A surrogate's derivative that depends on something else than its argument.
    #[error("a surrogate's derivative is made of its argument and numbers: {0}")]
    Derivative(#[from] spikelet_expr::CompileError),
    /// The text does not compile, or there is no compiler.
    #[error(transparent)]
    Compile(#[from] spikelet_cuda::CompileError),
    /// The device failed, or the engine refused.
    #[error(transparent)]
    Device(#[from] spikelet_graph::Error),
    /// A tensor made of more or fewer values than it has.
    #[error("a tensor {shape} cannot be made of {given} values: give as many as it has elements")]
    Values {
        /// The shape.
        shape: String,
        /// How many values there were.
        given: usize,
    },
    /// A tensor that is larger than any memory.
    #[error("a tensor {shape} has more elements than can be counted")]
    Shape {
        /// The shape.
        shape: String,
    },
    /// An axis that a tensor does not have.
    #[error("a tensor {shape} has no axis {axis}; axes are counted from 0")]
    Axis {
        /// The axis.
        axis: usize,
        /// The shape.
        shape: String,
    },
    /// Values asked for as another type.
    #[error("a tensor of {element} cannot be read as {asked}: ask for its own type")]
    Element {
        /// The tensor's element type.
        element: Element,
        /// What was asked for.
        asked: Element,
    },
    /// Two arguments of the same name.
    #[error("kernel `{kernel}`: `{cname}` is given twice")]
    RepeatedArgument {
        /// The kernel.
        kernel: String,
        /// The name.
        cname: String,
    },
    /// Arguments that do not match the parameters.
    #[error(
        "kernel `{kernel}` has the parameters {expected}; missing: {missing}; not among them: \
         {unknown}"
    )]
    Keys {
        /// The kernel.
        kernel: String,
        /// Parameters without an argument.
        missing: String,
        /// Arguments without a parameter.
        unknown: String,
        /// All parameters.
        expected: String,
    },
    /// A parameter of a type that no argument has.
    #[error(
        "kernel `{kernel}`: no argument can be given for `{ctype} {cname}`; calls know `float`, \
         `half2`, `half` and `int`, and `*` or `&` of them"
    )]
    ParameterType {
        /// The kernel.
        kernel: String,
        /// The parameter.
        cname: String,
        /// Its type.
        ctype: String,
    },
    /// An argument that is not of its parameter's type.
    #[error("kernel `{kernel}`: `{ctype} {cname}` needs {expected}, not {given}")]
    ArgumentType {
        /// The kernel.
        kernel: String,
        /// The parameter.
        cname: String,
        /// Its type.
        ctype: String,
        /// What was given.
        given: String,
        /// What fits.
        expected: &'static str,
    },
    /// A tensor whose elements do not lie in order.
    #[error(
        "kernel `{kernel}`: `{cname}` of shape {shape} is not contiguous, its strides are \
         {strides}; give `contiguous()` of it"
    )]
    NotContiguous {
        /// The kernel.
        kernel: String,
        /// The parameter.
        cname: String,
        /// The tensor's shape.
        shape: String,
        /// Its strides.
        strides: String,
    },
    /// No tensor, which would say on which GPU to run.
    #[error("kernel `{kernel}` is called without a tensor, which would say on which GPU")]
    NoTensor {
        /// The kernel.
        kernel: String,
    },
    /// Tensors on several GPUs.
    #[error("kernel `{kernel}` runs on {expected}, but `{cname}` is on {device}; copy it there")]
    OtherDevice {
        /// The kernel.
        kernel: String,
        /// The parameter.
        cname: String,
        /// Where its tensor is.
        device: String,
        /// Where the first tensor is.
        expected: String,
    },
    /// Tensors of two handles of one GPU, whose work is not in one order.
    #[error(
        "kernel `{kernel}`: `{cname}` was made with another `Cuda` than the first tensor; open \
         {device} once and clone the handle"
    )]
    OtherHandle {
        /// The kernel.
        kernel: String,
        /// The parameter.
        cname: String,
        /// The first tensor's GPU.
        device: String,
    },
    /// ForwardBackwardPlans that cannot be taken in pairs.
    #[error(
        "kernel `{kernel}`: `{cname}` of shape {shape} cannot be taken in pairs of halves; its \
         size has to be even"
    )]
    OddHalf2 {
        /// The kernel.
        kernel: String,
        /// The parameter.
        cname: String,
        /// The tensor's shape.
        shape: String,
    },
    /// A tensor of more than two dimensions for a kernel over sequences.
    #[error(
        "kernel `{kernel}` takes sequences [T, N]; `{cname}` is {shape}: fold its last dimensions \
         into one"
    )]
    Dimensions {
        /// The kernel.
        kernel: String,
        /// The parameter.
        cname: String,
        /// The tensor's shape.
        shape: String,
    },
    /// A tensor that has not as many elements as the kernel reads or writes.
    #[error(
        "kernel `{kernel}`: `{cname}` has {given} elements; with the `numel`, `N` and blocks of \
         this call it needs {expected}"
    )]
    Length {
        /// The kernel.
        kernel: String,
        /// The parameter.
        cname: String,
        /// How many elements it has.
        given: usize,
        /// How many it needs.
        expected: usize,
    },
    /// A kernel whose threads share the work in a way of its own.
    #[error("kernel `{kernel}` has no loop that says how many threads it needs; use `call`")]
    NoLayout {
        /// The kernel.
        kernel: String,
    },
    /// Nothing that says how many elements there are.
    #[error("kernel `{kernel}`: {lacking} says how many elements there are; use `call`")]
    NoSize {
        /// The kernel.
        kernel: String,
        /// What there is none of.
        lacking: &'static str,
    },
    /// Tensors of sizes that do not agree.
    #[error(
        "kernel `{kernel}`: {first} and {second} do not have the same size; if that is as it \
         should be, give `numel` and `N` yourself with `call`"
    )]
    Sizes {
        /// The kernel.
        kernel: String,
        /// A tensor.
        first: String,
        /// One that differs.
        second: String,
    },
    /// More elements than the kernel's `int` can count.
    #[error(
        "kernel `{kernel}`: {count} elements are more than its `int` can count; call it with parts"
    )]
    TooLarge {
        /// The kernel.
        kernel: String,
        /// How many.
        count: usize,
    },
    /// A grid or block that no GPU can run.
    #[error(
        "kernel `{kernel}` cannot run in blocks {grid:?} of threads {block:?}: there have to be \
         blocks, and 1 to 1024 threads in each"
    )]
    Launch {
        /// The kernel.
        kernel: String,
        /// Blocks.
        grid: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
    },
}

impl From<AutoCudaError> for spikelet_core::Error {
    fn from(error: AutoCudaError) -> Self {
        Self::other(error)
    }
}
