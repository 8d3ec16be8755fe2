//! Shared foundations of the spikelet crates: the error type, atomic file writes, signal handlers, and
//! human-readable sizes and durations.

mod error;
pub mod files;
pub mod human;
mod memory_budget;
pub mod signals;

pub use error::{Error, Result};
pub use memory_budget::{MemoryBudget, ParseMemoryBudgetError};
