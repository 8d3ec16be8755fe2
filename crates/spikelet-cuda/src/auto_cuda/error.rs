//! What can be wrong with a kernel or with the arguments of a call.

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
    /// A surrogate's derivative that depends on something else than its argument.
    #[error("a surrogate's derivative is made of its argument and numbers: {0}")]
    Derivative(#[from] spikelet_expr::CompileError),
}
