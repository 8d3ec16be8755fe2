//! What the graph promises without any device: passes, plans, errors.

mod errors;
mod half;
mod passes;
mod plans;
mod targets;
