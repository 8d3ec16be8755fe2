//! Sums over the ranks of a group.

use super::{Tracer, Var};
use crate::error::Result;
use crate::graph::ValueId;
use crate::op::{AllReduceDone, AllReduceStart};
use std::collections::HashSet;
use std::sync::Arc;

/// The sizes of gradient buckets in bytes.
///
/// An all-reduce has a fixed cost, so small gradients share one. The gradients of the last layers are
/// computed first; a small first bucket starts their sum early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buckets {
    /// The size of the first bucket.
    pub first: usize,
    /// The size of the other buckets.
    pub others: usize,
}

impl Default for Buckets {
    /// 1 MiB, then 25 MiB.
    fn default() -> Self {
        Self {
            first: 1 << 20,
            others: 25 << 20,
        }
    }
}

impl Var {
    /// The sums of f32 tensors over all ranks of the group, one for each tensor, of its shape. The
    /// program waits for them here. The gradient of an operand is the sum of all ranks' gradients.
    ///
    /// Every rank must run the same program, on a backend that is in a group of `ranks`.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer, Var};
    /// let tracer = Tracer::new(DType::F32);
    /// let loss = tracer.input("loss", DType::F32, []);
    /// let mean = &Var::all_reduce(&[&loss], 4)[0] / 4.0;
    /// tracer.output("mean loss", &mean);
    /// assert!(tracer.finish()?.to_string().contains("all_reduce_start[4 ranks]"));
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    pub fn all_reduce(tensors: &[&Var], ranks: usize) -> Vec<Var> {
        let Some(first) = tensors.first() else {
            return vec![];
        };
        let started = first.tracer.apply(AllReduceStart { ranks }, tensors);
        first
            .tracer
            .apply(AllReduceDone, &started.iter().collect::<Vec<_>>())
    }
}

/// Gradients that are summed together, and the node after which all are computed.
#[derive(Default)]
struct Bucket {
    values: Vec<ValueId>,
    bytes: usize,
    ready: usize,
}

impl Tracer {
    /// The sums of gradients over all ranks, in the order of the gradients. Call it directly after
    /// [`Tracer::gradients`], before other operations read the gradients.
    ///
    /// Gradients are assigned to buckets in the order in which the backward pass computes them. The sum
    /// of a bucket starts after its last gradient and overlaps with the rest of the backward pass; all
    /// sums are completed here, in the same order.
    ///
    /// ```
    /// use spikelet_graph::{Buckets, DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 3]);
    /// let w = tracer.parameter("w", [2, 3]);
    /// let loss = x.linear(&w).square().mean_all();
    /// let local = tracer.gradients(&loss, &[&w]);
    /// let sums = tracer.all_reduce_gradients(&local, 2, Buckets::default());
    /// tracer.update(&w, &(&w - &sums[0] * (0.1 / 2.0)));
    /// # tracer.finish()?;
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    pub fn all_reduce_gradients(
        &self,
        gradients: &[Var],
        ranks: usize,
        buckets: Buckets,
    ) -> Vec<Var> {
        let ids: Option<Vec<ValueId>> = gradients.iter().map(|g| g.id).collect();
        let Some(ids) = ids else {
            return gradients.to_vec();
        };
        match self.append_sums(&ids, ranks, buckets) {
            Ok(sums) => {
                let sum = |id: &ValueId| {
                    let known = sums.iter().find(|(from, _)| from == id);
                    self.var(known.map_or(*id, |(_, to)| *to))
                };
                ids.iter().map(sum).collect()
            }
            Err(error) => {
                self.fail(error);
                gradients
                    .iter()
                    .map(|g| self.ignored(g.ty.clone()))
                    .collect()
            }
        }
    }

    /// Starts and completes the sums; returns pairs of a gradient and its sum.
    fn append_sums(
        &self,
        gradients: &[ValueId],
        ranks: usize,
        buckets: Buckets,
    ) -> Result<Vec<(ValueId, ValueId)>> {
        let mut state = self.state.borrow_mut();
        let layer: Arc<str> = Arc::from(state.path.join("."));
        let graph = &mut state.graph;
        let producers = graph.producers();
        let mut seen = HashSet::new();
        let mut values: Vec<ValueId> = gradients.to_vec();
        values.retain(|v| seen.insert(*v));
        // The number of nodes after which each is computed.
        let ready = |v: &ValueId| producers[v.index()].map_or(0, |k| k + 1);
        values.sort_by_key(ready);
        let mut full: Vec<Bucket> = vec![];
        for value in values {
            let size = match full.len() {
                0 | 1 => buckets.first,
                _ => buckets.others,
            };
            let open = full.last_mut().filter(|bucket| bucket.bytes < size);
            let bucket = match open {
                Some(bucket) => bucket,
                None => {
                    full.push(Bucket::default());
                    full.last_mut().expect("pushed above")
                }
            };
            bucket.bytes += graph.ty(value).bytes();
            bucket.ready = ready(&value);
            bucket.values.push(value);
        }
        let op = AllReduceStart { ranks };
        let mut starts = vec![];
        for bucket in &full {
            starts.push(graph.make_node(op.into(), &bucket.values, &layer, true)?);
        }
        let mut sums = vec![];
        for (bucket, start) in full.iter().zip(&starts) {
            let wait = graph.make_node(AllReduceDone.into(), &start.outputs, &layer, true)?;
            let pairs = bucket.values.iter().zip(&wait.outputs);
            sums.extend(pairs.map(|(gradient, sum)| (*gradient, *sum)));
            graph.nodes.push(wait);
        }
        // The last first, so that the indices of the others do not change.
        for (bucket, start) in full.iter().zip(starts).rev() {
            graph.nodes.insert(bucket.ready, start);
        }
        Ok(sums)
    }
}
