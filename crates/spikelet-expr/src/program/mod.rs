//! Expressions compiled for blocks of elements.
//!
//! A [`Program`] is a straight list of instructions over registers, each a block of elements
//! that stays in the first-level cache. An instruction runs over a whole block before the next
//! one starts, so every inner loop is a plain loop over slices that the compiler vectorizes.

mod compile;
mod interpret;
mod workspace;

pub use interpret::Evaluate;
pub use workspace::Workspace;

use crate::expr::{Binary, Expr, Unary};

/// Where an operand lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reg {
    /// Constants, held inputs and what follows from them alone: filled before the steps.
    Fixed(u16),
    /// Lives between two instructions of a step.
    Temp(u16),
    /// A step's input.
    In(u16),
    /// A step's output.
    Out(u16),
}

/// The arithmetic that several operations of one pass over a block are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    /// Operands exchanged: second − first.
    SubFrom,
    /// Operands exchanged: second / first.
    DivInto,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Code {
    Copy(Reg),
    Unary(Unary, Reg),
    Binary(Binary, Reg, Reg),
    /// `(a first b) second c`, each rounded: two operations, one pass.
    Fused2([Arith; 2], [Reg; 3]),
    /// `((a first b) second c) third d`, each rounded; no divisions.
    Fused3([Arith; 3], [Reg; 4]),
    Select([Reg; 3]),
    /// `left ? right` compared, then one of two chosen.
    CmpSelect(Binary, [Reg; 4]),
    /// The same, and the comparison itself as a second result: a spike and what it resets.
    CmpSelect2(Binary, [Reg; 4], Reg),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) code: Code,
    pub(crate) to: Reg,
}

/// An error of [`Program::compile`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// An expression names a symbol that is neither a held nor a step input.
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
    /// More registers than an instruction can name.
    #[error("the expression needs {needed} registers, at most 65535 can be named; split it")]
    TooLarge {
        /// How many it would take.
        needed: usize,
    },
}

/// Several expressions compiled together for a block evaluator.
///
/// Inputs are of two kinds: *held* ones keep their value while the steps run (learnable
/// parameters), *step* ones change from step to step. What depends on held inputs and constants
/// alone is computed once, in [`Program::hold`].
///
/// ```
/// use spikelet_expr::{Expr, Program};
/// let (v, x, w) = (Expr::symbol("v"), Expr::symbol("x"), Expr::symbol("w"));
/// let h = &v + (x - &v) * w.sigmoid();
/// let program = Program::compile(&[h.ge(1.0), h], &["w"], &["x", "v"])?;
/// let mut work = program.workspace::<f32>(64);
/// program.hold(&mut work, &[&[0.0]]); // σ(0) = ½
/// let (mut spike, mut charged) = ([0.0; 2], [0.0; 2]);
/// program.step(&mut work, &[&[1.0, 3.0], &[0.0, 0.0]], &mut [&mut spike, &mut charged]);
/// assert_eq!((spike, charged), ([0.0, 1.0], [0.5, 1.5]));
/// # Ok::<(), spikelet_expr::CompileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) constants: Vec<f64>,
    pub(crate) held: usize,
    pub(crate) fixed: usize,
    pub(crate) temps: usize,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) prelude: Vec<Instruction>,
    pub(crate) code: Vec<Instruction>,
    pub(crate) operations: usize,
}

impl Program {
    /// Compiles `outputs` over the named inputs.
    ///
    /// # Errors
    /// [`CompileError`] when an output uses another symbol, or is absurdly large.
    pub fn compile(
        outputs: &[Expr],
        held: &[&str],
        step: &[&str],
    ) -> Result<Program, CompileError> {
        compile::compile(outputs, held, step)
    }

    /// Scalar operations per element and step, as counted for FLOPs.
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// The number of step inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Registers for blocks of up to `block` elements, constants filled in.
    pub fn workspace<R: Evaluate>(&self, block: usize) -> Workspace<R> {
        Workspace::new(self, block)
    }

    /// Sets the held inputs: one value for all elements of the block, or one for each.
    ///
    /// # Panics
    /// When the number of slices is not that of the held inputs, or a slice is neither of
    /// length one nor at least as long as the blocks that follow.
    pub fn hold<R: Evaluate>(&self, work: &mut Workspace<R>, held: &[&[R]]) {
        assert_eq!(held.len(), self.held, "one slice for each held input");
        work.set_held(self.constants.len(), held);
        work.run_prelude(&self.prelude);
    }

    /// Runs the program over one block: `outputs[j][i]` from `inputs[..][i]`.
    ///
    /// # Panics
    /// When the slices are not all of one length, which is at most the workspace's block, or
    /// their numbers differ from the program's.
    #[inline]
    pub fn step<R: Evaluate>(
        &self,
        work: &mut Workspace<R>,
        inputs: &[&[R]],
        outputs: &mut [&mut [R]],
    ) {
        assert_eq!(inputs.len(), self.inputs, "one slice for each step input");
        assert_eq!(outputs.len(), self.outputs, "one slice for each output");
        work.run_step(&self.code, inputs, outputs);
    }
}
