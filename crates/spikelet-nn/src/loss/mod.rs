//! Losses, each a mean over the batch.
//!
//! | file | losses |
//! |---|---|
//! | [`cross_entropy`](mod@cross_entropy) | cross entropy of labels, with label smoothing |
//! | [`tet`](mod@tet) | a cross entropy at each time step |
//! | [`regression`] | squared errors |

pub mod cross_entropy;
pub mod regression;
mod target;
pub mod tet;

pub use cross_entropy::{CrossEntropy, cross_entropy};
pub use regression::{mean_squared_error, mse};
pub use tet::tet;

use spikelet_graph::Var;

/// The number of rows of scores `[N, classes]` whose largest element is at the label.
pub fn correct(scores: &Var, labels: &Var) -> Var {
    scores.argmax().equals(labels).sum_all()
}
