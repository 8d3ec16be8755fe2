//! What the graph promises without any device: passes, plans, errors.

mod errors;
mod passes;
mod plans;
mod targets;
