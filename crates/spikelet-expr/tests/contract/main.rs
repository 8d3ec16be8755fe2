//! The contract of the crate, on random and on typical expressions.

mod dag;
mod deep;
mod derivatives;
mod errors;
mod naive;
mod printing;
mod programs;
mod selection;
mod simplification;
