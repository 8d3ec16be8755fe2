//! Logs, reports and figures of a run: the terminal, JSON lines, TensorBoard's event files; with the feature `plots`
//! pages and pictures.

pub mod log;
#[cfg(feature = "plots")]
pub mod report;

/// Whether larger or smaller values of a metric are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Smaller values are better, as of a loss.
    Minimize,
    /// Larger values are better, as of an accuracy.
    Maximize,
}
