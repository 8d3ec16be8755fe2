//! The largest of several differences.

/// The larger of two differences. One that is no number stays, so that no bound holds for it.
pub fn larger(most: f64, difference: f64) -> f64 {
    if difference > most || difference.is_nan() {
        difference
    } else {
        most
    }
}
