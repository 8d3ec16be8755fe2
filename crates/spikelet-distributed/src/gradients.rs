//! The mean of gradients over ranks.

use spikelet_graph::{Buckets, Var};

/// The mean over all ranks of gradients, each of which is a mean over the images of its rank: the
/// gradients of the mean over all images of a step. Must be called directly after
/// [`spikelet_graph::Tracer::gradients`].
///
/// The sums run concurrently with the rest of the backward pass.
pub fn average_over_ranks(grads: Vec<Var>, ranks: usize) -> Vec<Var> {
    let Some(first) = grads.first().filter(|_| ranks > 1) else {
        return grads;
    };
    let tracer = first.tracer().clone();
    let sums = tracer.all_reduce_gradients(&grads, ranks, Buckets::default());
    sums.iter().map(|sum| sum / ranks as f64).collect()
}
