//! A pipeline computes what one device computes.

mod forward;
mod recurrent;
mod refused;
mod support;
mod training;
mod tutorial;
