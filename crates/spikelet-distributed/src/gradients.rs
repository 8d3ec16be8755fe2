//! The mean of gradients over ranks.

use spikelet_graph::{Buckets, Var};

/// The mean over all ranks of gradients, each a mean over its rank's images: the gradients of the
/// mean over all images of a step. To be taken right behind [`spikelet_graph::Tracer::gradients`].
///
/// Sums are under way while the backward pass goes on.
pub fn average_over_ranks(grads: Vec<Var>, ranks: usize) -> Vec<Var> {
    let Some(first) = grads.first().filter(|_| ranks > 1) else {
        return grads;
    };
    let tracer = first.tracer().clone();
    let sums = tracer.all_reduce_gradients(&grads, ranks, Buckets::default());
    sums.iter().map(|sum| sum / ranks as f64).collect()
}
