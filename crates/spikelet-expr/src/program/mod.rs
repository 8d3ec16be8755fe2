//! Expressions compiled for blocks of elements.
//!
//! A [`Program`] is a linear list of instructions over registers. A register is a block of elements
//! that stays in the L1 cache. Each instruction runs over a block before the next one starts, so
//! every inner loop is a plain loop over slices, which the compiler vectorizes.

mod compile;
mod interpret;
mod workspace;

pub use interpret::Evaluate;
pub use workspace::Workspace;

use crate::expr::{Binary, Expr};
use crate::unary::Unary;

/// A storage location of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reg {
    /// Constants, uniform inputs and values computed from these alone: set before the blocks run.
    Fixed(u16),
    /// A temporary value of the current block.
    Temp(u16),
    /// A varying input.
    In(u16),
    /// An output.
    Out(u16),
}

/// The arithmetic operations that one instruction can fuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    /// Operands swapped: second − first.
    SubFrom,
    /// Operands swapped: second / first.
    DivInto,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Code {
    Copy(Reg),
    Unary(Unary, Reg),
    Binary(Binary, Reg, Reg),
    /// `(a first b) second c` in one pass, each operation rounded.
    Fused2([Arith; 2], [Reg; 3]),
    /// `((a first b) second c) third d` in one pass, each operation rounded; no divisions.
    Fused3([Arith; 3], [Reg; 4]),
    Select([Reg; 3]),
    /// `left op right ? then : otherwise`.
    CmpSelect(Binary, [Reg; 4]),
    /// [`CmpSelect`](Self::CmpSelect) with the comparison as a second result: a spike and the reset
    /// potential.
    CmpSelect2(Binary, [Reg; 4], Reg),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) code: Code,
    pub(crate) to: Reg,
}

/// An error of [`Program::compile`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// An expression uses a symbol that is neither a uniform nor a varying input.
    #[error(
        "the expression uses `{symbol}`, which is not among its inputs ({}); name it as an input or replace it",
        .inputs.join(", ")
    )]
    UnknownSymbol {
        /// The symbol.
        symbol: String,
        /// The inputs that were declared.
        inputs: Vec<String>,
    },
    /// More inputs or outputs than a program can address.
    #[error(
        "the program has {given} {operands}, at most {limit} are supported; pass fewer or split the expressions over several programs"
    )]
    TooManyOperands {
        /// `uniform inputs`, `varying inputs` or `outputs`.
        operands: &'static str,
        /// The number passed.
        given: usize,
        /// The largest number supported.
        limit: usize,
    },
    /// More constants and intermediate values than a program has registers for.
    #[error(
        "the expressions need {needed} registers for constants and intermediate values, at most {limit} are supported; split the expressions over several programs"
    )]
    TooManyRegisters {
        /// The number of registers required.
        needed: usize,
        /// The largest number supported.
        limit: usize,
    },
}

/// Several expressions compiled together for a block evaluator.
///
/// *Uniform* inputs keep their value over many blocks (learned parameters); *varying* inputs are
/// passed with every block. Values that depend on uniform inputs and constants alone are computed
/// once, in [`Program::set_uniform`].
///
/// ```
/// use spikelet_expr::{Expr, Program};
/// let (v, x, w) = (Expr::symbol("v"), Expr::symbol("x"), Expr::symbol("w"));
/// let h = &v + (x - &v) * w.sigmoid();
/// let program = Program::compile(&[h.ge(1.0), h], &["w"], &["x", "v"])?;
/// let mut work = program.workspace::<f32>(64);
/// program.set_uniform(&mut work, &[&[0.0]]); // σ(0) = ½
/// let (mut spike, mut charged) = ([0.0; 2], [0.0; 2]);
/// program.step(&mut work, &[&[1.0, 3.0], &[0.0, 0.0]], &mut [&mut spike, &mut charged]);
/// assert_eq!((spike, charged), ([0.0, 1.0], [0.5, 1.5]));
/// # Ok::<(), spikelet_expr::CompileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) constants: Vec<f64>,
    pub(crate) uniform: usize,
    pub(crate) fixed: usize,
    pub(crate) temps: usize,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) prelude: Vec<Instruction>,
    pub(crate) code: Vec<Instruction>,
    pub(crate) operations: usize,
}

impl Program {
    /// Compiles `outputs` as functions of the named inputs.
    ///
    /// # Errors
    /// [`CompileError::UnknownSymbol`] if an output uses any other symbol,
    /// [`CompileError::TooManyOperands`] and [`CompileError::TooManyRegisters`] beyond 65,536 of
    /// each.
    pub fn compile(
        outputs: &[Expr],
        uniform: &[&str],
        varying: &[&str],
    ) -> Result<Program, CompileError> {
        compile::compile(outputs, uniform, varying)
    }

    /// Scalar operations per element and call of [`step`](Self::step), for FLOP counts.
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// The number of varying inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Registers for blocks of up to `block` elements, with the constants set.
    pub fn workspace<R: Evaluate>(&self, block: usize) -> Workspace<R> {
        Workspace::new(self, block)
    }

    /// Sets the uniform inputs. A slice of length one holds the value of all elements of a block,
    /// a longer one a value for each element.
    ///
    /// # Panics
    /// If `values` does not have one slice for each uniform input.
    pub fn set_uniform<R: Evaluate>(&self, work: &mut Workspace<R>, values: &[&[R]]) {
        assert_eq!(
            values.len(),
            self.uniform,
            "one slice for each uniform input"
        );
        work.set_uniform(self.constants.len(), values);
        work.run_prelude(&self.prelude);
    }

    /// Runs the program over one block: computes `outputs[j][i]` from `inputs[..][i]`.
    ///
    /// # Panics
    /// If the number of slices differs from that of the inputs or outputs, or if the slices differ
    /// in length or are longer than the workspace's block.
    #[inline]
    pub fn step<R: Evaluate>(
        &self,
        work: &mut Workspace<R>,
        inputs: &[&[R]],
        outputs: &mut [&mut [R]],
    ) {
        assert_eq!(
            inputs.len(),
            self.inputs,
            "one slice for each varying input"
        );
        assert_eq!(outputs.len(), self.outputs, "one slice for each output");
        work.run_step(&self.code, inputs, outputs);
    }
}
