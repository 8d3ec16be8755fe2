//! Shared foundations of the spikelet crates: the error type, documents that people write, atomic file writes,
//! signal handlers, text for a terminal, and human-readable sizes and durations.

pub mod document;
mod error;
pub mod files;
pub mod human;
mod memory_budget;
pub mod signals;
pub mod suggest;
pub mod terminal;

pub use error::{Error, Result, problem_and_help};
pub use memory_budget::{MemoryBudget, ParseMemoryBudgetError};
