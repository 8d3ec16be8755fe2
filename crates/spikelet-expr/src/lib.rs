//! Scalar expressions for spiking neurons.
//!
//! An equation is written once, as an [`Expr`]. From it come its derivative ([`vjp`]), its
//! printed form (`Display`), its text for NVIDIA GPUs ([`cuda`]), and a block evaluator for f32 and
//! f64 ([`Program`]) whose inner loops vectorize. Selection is a true selection, and the elementary functions ([`math`]) give the
//! same bits on every machine.

mod block;
pub mod cuda;
mod derive;
mod expr;
mod interner;
pub mod math;
mod print;
mod program;
mod rebuild;
mod simd;
mod simplify;

mod walk;

pub use block::Block;
pub use derive::vjp;
pub use expr::{Binary, Expr, Node, Unary};
pub use program::{CompileError, Evaluate, Program, Workspace};
pub use simd::vectorized;
