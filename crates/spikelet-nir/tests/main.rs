//! The tests of graphs and weights of other frameworks.

mod checks;
mod common;
mod graphs;
mod mutations;
mod weights;
