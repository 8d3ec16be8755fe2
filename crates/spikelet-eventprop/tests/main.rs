//! The tests of exact gradients by events.

mod contract;
mod finite_differences;
mod golden;
