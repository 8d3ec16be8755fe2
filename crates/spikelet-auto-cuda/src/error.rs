//! Errors of kernels and of their calls.

use super::Element;

/// An error of a kernel or of the arguments of a call.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AutoCudaError {
    /// A scalar type that kernels do not support.
    #[error("`{given}` is not a scalar type of kernels; use `float` or `half2`")]
    Dtype {
        /// What was given.
        given: String,
    },
    /// An invalid declaration of a parameter.
    #[error(
        "kernel `{kernel}`: `{ctype} {cname}` is not a declaration of a parameter; use a type such as \
         `const float *` and a name of letters, digits and `_` that does not start with a digit"
    )]
    Declaration {
        /// The kernel.
        kernel: String,
        /// The type that was given.
        ctype: String,
        /// The name that was given.
        cname: String,
    },
    /// A parameter with the name of a variable of the kernel.
    #[error(
        "kernel `{kernel}`: a parameter cannot be named `{cname}`, the kernel has variables \
         {reserved}; choose another name"
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
        "kernel `{kernel}`: `{given} {cname}` cannot be added, there already is `{known} {cname}`; \
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
    /// A surrogate's derivative that does not only depend on its argument.
    #[error("a surrogate's derivative can only depend on its argument and constants: {0}")]
    Derivative(#[from] spikelet_expr::CompileError),
    /// The text does not compile, or NVRTC is missing.
    #[error(transparent)]
    Compile(#[from] spikelet_cuda::CompileError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] spikelet_graph::Error),
    /// A tensor with another number of values than elements.
    #[error("a tensor {shape} cannot be created from {given} values; pass one for each element")]
    Values {
        /// The shape.
        shape: String,
        /// The number of values.
        given: usize,
    },
    /// A tensor whose number of elements overflows.
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
    /// Values requested as another type.
    #[error("a tensor of {element} cannot be read as {asked}; read it as {element}")]
    Element {
        /// The tensor's element type.
        element: Element,
        /// The requested type.
        asked: Element,
    },
    /// Arguments that are to be made like a tensor that is not there.
    #[error(
        "`{cname}` is {given}; pass a tensor of {expected} with this name, whose device and type the others get"
    )]
    Reference {
        /// The name of the tensor.
        cname: String,
        /// What was given.
        given: String,
        /// The valid element types.
        expected: &'static str,
    },
    /// Two arguments of the same name.
    #[error("kernel `{kernel}`: `{cname}` is given twice; pass it once")]
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
    /// A parameter of an unsupported type.
    #[error(
        "kernel `{kernel}`: arguments for `{ctype} {cname}` are not supported; use `float`, `half2`, `half` or \
         `int`, or `*` or `&` of them"
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
    /// A tensor that is not contiguous.
    #[error(
        "kernel `{kernel}`: `{cname}` of shape {shape} is not contiguous, its strides are \
         {strides}; pass `contiguous()` of it"
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
    /// A call without a tensor, which determines the GPU.
    #[error(
        "kernel `{kernel}` is called without a tensor, which determines the GPU; pass at least one"
    )]
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
        /// The device of its tensor.
        device: String,
        /// The device of the first tensor.
        expected: String,
    },
    /// Tensors of two handles of one GPU, which have separate streams.
    #[error(
        "kernel `{kernel}`: `{cname}` was created with another `Cuda` than the first tensor; open \
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
    /// An odd number of f16 elements for `half2`.
    #[error(
        "kernel `{kernel}`: `{cname}` of shape {shape} cannot be read as `half2`; its number of elements must \
         be even"
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
        "kernel `{kernel}` takes sequences [T, N]; `{cname}` is {shape}; reshape its last dimensions \
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
    /// A tensor with fewer elements than the kernel accesses.
    #[error(
        "kernel `{kernel}`: `{cname}` has {given} elements; with the `numel`, `N` and blocks of \
         this call it needs {expected}"
    )]
    Length {
        /// The kernel.
        kernel: String,
        /// The parameter.
        cname: String,
        /// The number of its elements.
        given: usize,
        /// The required number.
        expected: usize,
    },
    /// A kernel without a loop over elements or time steps.
    #[error(
        "kernel `{kernel}` has no loop over elements or time steps, so the number of its threads is \
         unknown; use `call`"
    )]
    NoLayout {
        /// The kernel.
        kernel: String,
    },
    /// No tensor that determines the number of elements.
    #[error("kernel `{kernel}`: {lacking} determines the number of elements; use `call`")]
    NoSize {
        /// The kernel.
        kernel: String,
        /// The missing kind of tensor, such as `no tensor`.
        lacking: &'static str,
    },
    /// Tensors of sizes that do not agree.
    #[error(
        "kernel `{kernel}`: {first} and {second} do not have the same size; if that is \
         intended, pass `numel` and `N` with `call`"
    )]
    Sizes {
        /// The kernel.
        kernel: String,
        /// A tensor.
        first: String,
        /// A tensor of another size.
        second: String,
    },
    /// More elements than the kernel's `int` can count.
    #[error(
        "kernel `{kernel}`: {count} elements exceed its `int`; call it on parts of the tensors"
    )]
    TooLarge {
        /// The kernel.
        kernel: String,
        /// The number of elements.
        count: usize,
    },
    /// A grid or block that no GPU can run.
    #[error(
        "kernel `{kernel}` cannot run in blocks {grid:?} of threads {block:?}: use at least one \
         block, and 1 to 1024 threads in each"
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

impl spikelet_core::OtherError for AutoCudaError {}
