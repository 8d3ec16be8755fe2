//! Errors of tracing and planning.

use crate::types::{ShapeText, TensorType};

/// What can be wrong with a network or a plan.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Operands that do not fit an operation.
    #[error("{operation}{}: {problem}\n  given: {given}\n  help: {help}", place(.layer))]
    Shape {
        /// The path of the layer, such as `fc.0`.
        layer: String,
        /// The operation, such as `matmul`.
        operation: String,
        /// What does not fit, with the numbers.
        problem: String,
        /// The operands' types.
        given: String,
        /// What to do.
        help: String,
    },
    /// A name used twice or not at all.
    #[error("{kind} `{name}`: {problem}")]
    Name {
        /// `input`, `parameter`, `output` or `state`.
        kind: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A tensor that is not of the type that the plan was made for.
    #[error("`{name}` is {given}, the plan expects {expected}; compile the network for this shape")]
    Type {
        /// The input's name.
        name: String,
        /// What was given.
        given: TensorType,
        /// What the plan was compiled for.
        expected: TensorType,
    },
    /// An expression inside an operation does not compile.
    #[error("{operation}{}: {source}", place(.layer))]
    Expression {
        /// The path of the layer.
        layer: String,
        /// The operation.
        operation: String,
        /// The reason.
        source: spikelet_expr::CompileError,
    },
    /// A gradient that cannot be had.
    #[error("no gradient of `{what}`: {problem}")]
    Gradient {
        /// The value or operation.
        what: String,
        /// The reason.
        problem: String,
    },
    /// A plan that cannot be run with the buffers that were given, or at all.
    #[error("the plan cannot be loaded: {problem}")]
    Plan {
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A memory budget below the least that a plan needs.
    #[error(
        "{} MiB were allowed, {} MiB are the least that was found ({} MiB of it are parameters, states and inputs); allow more, use a smaller batch, fewer time steps or a 16-bit precision",
        mebibytes(*allowed), mebibytes(*least), mebibytes(*fixed)
    )]
    Budget {
        /// The budget in bytes.
        allowed: usize,
        /// The lowest peak that was found, in bytes.
        least: usize,
        /// Bytes of it that no plan can save: parameters, states and inputs.
        fixed: usize,
    },
    /// A buffer that another device allocated, be it one of the same kind.
    #[error("{backend}: {buffer} belongs to another backend; allocate it from this one")]
    ForeignBuffer {
        /// The device that it was given to.
        backend: String,
        /// What it was given as.
        buffer: String,
    },
    /// A buffer whose type was changed to one that its memory cannot hold.
    #[error("{backend}: a buffer of {bytes} bytes cannot hold {ty}; allocate one of that type")]
    Storage {
        /// The device.
        backend: String,
        /// The size of the memory.
        bytes: usize,
        /// The type that the buffer claims to have.
        ty: TensorType,
    },
    /// A backend that a custom operation calls while that backend runs it: the call would wait for
    /// the run, and the run for the operation.
    #[error(
        "{backend}: called by an operation that it is running; pass what the operation needs as an \
         operand, or give it a backend of its own"
    )]
    Busy {
        /// The device.
        backend: String,
    },
    /// Something that only a backend can find out.
    #[error("{backend}: {problem}")]
    Backend {
        /// The device.
        backend: String,
        /// What happened, and what to do.
        problem: String,
    },
}

fn mebibytes(bytes: usize) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// Where an operation is, for a message; nothing outside of all layers.
fn place(layer: &str) -> String {
    if layer.is_empty() {
        String::new()
    } else {
        format!(" in `{layer}`")
    }
}

/// The result of tracing, planning or running.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation refuses its operands; the layer and the shapes are added by the graph.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{problem}; {help}")]
pub struct InvalidOp {
    pub(crate) problem: String,
    pub(crate) help: String,
}

impl InvalidOp {
    /// A refusal with what does not fit and what to do about it.
    pub fn new(problem: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            help: help.into(),
        }
    }

    pub(crate) fn at(self, layer: &str, operation: &str, given: &[TensorType]) -> Error {
        let given: Vec<String> = given.iter().map(TensorType::to_string).collect();
        Error::Shape {
            layer: layer.to_string(),
            operation: operation.to_string(),
            problem: self.problem,
            given: given.join(" and "),
            help: self.help,
        }
    }
}

/// A refusal because of two shapes that should be related.
pub(crate) fn mismatch(what: &str, a: &[usize], b: &[usize], help: &str) -> InvalidOp {
    InvalidOp::new(
        format!("{what}: {} against {}", ShapeText(a), ShapeText(b)),
        help,
    )
}
