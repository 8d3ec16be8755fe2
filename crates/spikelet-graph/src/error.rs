//! Errors of tracing and planning.

use crate::types::TensorType;

/// The errors of tracing, planning and running.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// An operation rejects its operands.
    #[error("{operation}{}: {problem}{}\n  help: {help}", place(.layer), given_types(.given))]
    Shape {
        /// The path of the layer, such as `fc.0`.
        layer: String,
        /// The operation, such as `matmul`.
        operation: String,
        /// The violated rule, with the sizes.
        problem: String,
        /// The operands' types.
        given: String,
        /// How to correct it.
        help: String,
    },
    /// A name is used twice, or not at all.
    #[error("{kind} `{name}`: {problem}")]
    Name {
        /// `input`, `parameter`, `output` or `state`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The violated rule.
        problem: String,
    },
    /// A tensor has another type than the plan expects.
    #[error("`{name}` is {given}, the plan expects {expected}; {}", other_type(.given, .expected))]
    Type {
        /// The input's name.
        name: String,
        /// The given type.
        given: TensorType,
        /// The type that the plan expects.
        expected: TensorType,
    },
    /// An expression of an operation does not compile.
    #[error("{operation}{}: {source}", place(.layer))]
    Expression {
        /// The path of the layer.
        layer: String,
        /// The operation.
        operation: String,
        /// The reason.
        source: spikelet_expr::CompileError,
    },
    /// A gradient does not exist or is not implemented.
    #[error("no gradient of `{what}`: {problem}")]
    Gradient {
        /// The value or operation.
        what: String,
        /// The reason.
        problem: String,
    },
    /// A text is no graph.
    #[error("line {line}, column {column}: {problem}")]
    Text {
        /// The line, from 1.
        line: usize,
        /// The character of the line, from 1.
        column: usize,
        /// What was expected there.
        problem: String,
    },
    /// A plan cannot run on this device, or with these buffers.
    #[error("the plan cannot be loaded: {problem}")]
    Plan {
        /// The violated rule, and how to correct it.
        problem: String,
    },
    /// A memory budget below the smallest peak that was found.
    #[error(
        "the memory budget is {} MiB, the smallest peak found is {} MiB ({} MiB of it are parameters, states and inputs)\n  help: raise the budget, use a smaller batch, fewer time steps or a 16-bit precision",
        mebibytes(*allowed), mebibytes(*least), mebibytes(*fixed)
    )]
    Budget {
        /// The budget in bytes.
        allowed: usize,
        /// The smallest peak that was found, in bytes.
        least: usize,
        /// The bytes of parameters, states and inputs, which every plan needs.
        fixed: usize,
    },
    /// A buffer was allocated by another backend instance, possibly of the same kind.
    #[error("{backend}: {buffer} belongs to another backend; allocate it from this one")]
    ForeignBuffer {
        /// The device that received it.
        backend: String,
        /// The role of the buffer, such as the buffer of an input.
        buffer: String,
    },
    /// The type of a buffer needs more memory than the buffer has.
    #[error("{backend}: a buffer of {bytes} bytes cannot hold {ty}; allocate one of that type")]
    Storage {
        /// The device.
        backend: String,
        /// The size of the memory.
        bytes: usize,
        /// The type of the buffer.
        ty: TensorType,
    },
    /// A custom operation called the backend that is running it: the call would wait for the run, and
    /// the run for the operation.
    #[error(
        "{backend}: called by an operation that it is running; pass what the operation needs as an \
         operand, or give it a backend of its own"
    )]
    Busy {
        /// The device.
        backend: String,
    },
    /// An error of a backend.
    #[error("{backend}: {problem}")]
    Backend {
        /// The device.
        backend: String,
        /// The cause, and how to correct it.
        problem: String,
    },
}

fn mebibytes(bytes: usize) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// The layer of an operation as part of a message; empty outside of all layers.
fn place(layer: &str) -> String {
    if layer.is_empty() {
        String::new()
    } else {
        format!(" in `{layer}`")
    }
}

/// The result of tracing, planning or running.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation rejects its operands; the graph adds the layer and the types.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{problem}; {help}")]
pub struct InvalidOp {
    pub(crate) problem: String,
    pub(crate) help: String,
}

impl InvalidOp {
    /// An error with the violated rule and how to correct it.
    pub fn new(problem: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            help: help.into(),
        }
    }

    /// An axis that a tensor does not have.
    pub(crate) fn no_axis(axis: usize, rank: usize) -> Self {
        Self::new(
            format!("axis {axis} of a tensor with {rank} axes"),
            "axes are counted from 0",
        )
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

/// The refusal of operands: the problem, formatted, and the help.
macro_rules! invalid {
    ($problem:literal $(, $given:expr)*; $help:expr) => {
        Err($crate::error::InvalidOp::new(format_args!($problem $(, $given)*).to_string(), $help))
    };
}
pub(crate) use invalid;

/// The line with the types of operands, if there are any.
fn given_types(given: &str) -> String {
    match given {
        "" => String::new(),
        given => format!("\n  given: {given}"),
    }
}

/// How to correct a tensor of another type.
fn other_type(given: &TensorType, expected: &TensorType) -> String {
    match given.shape == expected.shape {
        true => format!("convert its elements to {}", expected.dtype),
        false => "compile the network for this shape".to_string(),
    }
}
