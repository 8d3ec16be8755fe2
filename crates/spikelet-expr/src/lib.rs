//! Scalar expressions for spiking neurons.
//!
//! An equation is written once, as an [`Expr`]. An expression is differentiated ([`vjp`]), printed
//! as an equation (`Display`), printed as kernel text for NVIDIA GPUs ([`cuda`]) and other languages
//! ([`text`]), and compiled to a block evaluator for f32 and f64 ([`Program`]), whose inner loops
//! vectorize. A selection evaluates to one of its branches, so a NaN in the other one is ignored.
//! The elementary functions ([`math`]) give the same bits on every machine. The types of elements ([`DType`]) are here because
//! data sets and graphs have the same ones.
//!
//! To add an elementary function, see `elementary_functions!` in `src/math/mod.rs`; to add a kernel
//! language, implement [`text::Dialect`].

mod block;
mod construct;
mod derive;
mod dtype;
mod expr;
mod interner;
pub mod math;
mod parse;
mod print;
mod program;
mod rebuild;
mod simd;
mod simplify;
pub mod text;
mod unary;
mod walk;

pub use block::Block;
pub use derive::vjp;
pub use dtype::DType;
pub use expr::{Binary, Expr, Node};
pub use parse::{ExprReader, ParseError};
pub use print::Listing;
pub use program::{CompileError, Evaluate, Program, Workspace};
pub use simd::vectorized;
pub use text::cuda;
pub use unary::Unary;
