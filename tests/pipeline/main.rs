//! A pipeline computes what one device computes.

mod forward;
mod refused;
mod support;
mod training;
