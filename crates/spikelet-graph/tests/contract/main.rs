//! What the graph promises without any device: passes, plans, errors.

mod absorb;
mod all_reduce;
mod channel_sums;
mod checkpoint;
mod custom;
mod errors;
mod expressions;
mod graphs;
mod half;
mod halves;
mod image_errors;
mod layout;
mod local_exchange;
mod long_program;
mod parts;
mod passes;
mod planning_time;
mod plans;
mod precision;
mod sizes;
mod targets;
