//! A constant rate.

use super::Schedule;
use spikelet_schema::Schema;

/// A constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Constant;

impl Schedule for Constant {
    fn factor(&self, _: f64, _: f64, _: &[f64]) -> f64 {
        1.0
    }
}
