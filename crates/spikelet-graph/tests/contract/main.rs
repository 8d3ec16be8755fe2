//! What the graph promises without any device: passes, plans, errors.

mod checkpoint;
mod errors;
mod half;
mod passes;
mod plans;
mod precision;
mod targets;
