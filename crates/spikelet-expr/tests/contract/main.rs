//! What the crate promises, on random expressions and on typical ones.

mod dag;
mod deep;
mod derivatives;
mod errors;
mod naive;
mod printing;
mod programs;
mod selection;
mod simplification;
