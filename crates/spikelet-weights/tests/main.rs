//! The tests of weights of other frameworks.

mod common;
mod mutations;
mod weights;
