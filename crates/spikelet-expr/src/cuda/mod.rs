//! Expressions and elementary functions as CUDA C++ text.
//!
//! [`statements`] prints expressions as straight-line code, [`library`] the functions that the
//! code calls. Compiled with `--fmad=false --ftz=false --prec-div=true --prec-sqrt=true`
//! (`--std=c++17`, no headers), the code gives the bits that [`Program`](crate::Program) gives in
//! f32; only the sign and payload of a NaN are left open.
//!
//! ```
//! use spikelet_expr::{Expr, cuda};
//! let (v, x) = (Expr::symbol("v"), Expr::symbol("x"));
//! let h = &v + (x - &v).tanh() / 3.0;
//! let printed = cuda::statements(&[h], &|name| Some(name.to_string()), "t", 4)?;
//! assert!(printed.code.starts_with("    const float t0 = x - v;\n    const float t1 = spk_tanh(t0);"));
//! assert_eq!(printed.results, ["t3"]);
//! assert!(cuda::library(&printed.functions).contains("float spk_tanh(float x)"));
//! # Ok::<(), spikelet_expr::CompileError>(())
//! ```

#[doc(hidden)]
pub mod cases;
mod division;
mod functions;
mod literal;
mod statements;

pub use functions::{Function, called, library};
pub use literal::literal;
pub use statements::{Statements, statements, statements_approx};
