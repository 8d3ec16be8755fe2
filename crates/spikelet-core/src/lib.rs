//! Shared foundations of the spikelet crates: the error type, documents that people write, atomic file writes,
//! signal handlers, text for a terminal, and human-readable sizes and durations.

mod error;
pub mod files;
mod memory_budget;
pub mod signals;
pub mod terminal;

pub use error::{Error, OtherError, Result};
pub use memory_budget::{MemoryBudget, ParseMemoryBudgetError};
pub use spikelet_schema::{document, human, problem_and_help, suggest};
