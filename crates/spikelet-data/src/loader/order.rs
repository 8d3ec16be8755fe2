//! The order of the samples of an epoch.

use spikelet_random::{Generator, Stream};

use super::WeightedSampling;

/// The random stream of the order of the samples; its step is the epoch.
const ORDER_STREAM: u32 = 0xda7a_0001;

/// The random stream of weighted sampling, with the same indices.
const WEIGHTED_STREAM: u32 = 0xda7d_0001;

fn generator(seed: u64, epoch: u64, stream: u32) -> Generator {
    let (high, low) = ((epoch >> 32) as u32, epoch as u32);
    Generator::new(Stream {
        seed,
        id: stream.wrapping_add(high),
        step: low,
    })
}

/// Every sample once.
pub(super) fn once_each(seed: u64, epoch: u64, len: u32, shuffle: bool) -> Vec<u32> {
    let mut order: Vec<u32> = (0..len).collect();
    if shuffle {
        generator(seed, epoch, ORDER_STREAM).shuffle(&mut order);
    }
    order
}

/// Samples drawn by their weights, with replacement: sample i is the first with Σ_{j ≤ i} w_j > u · Σ w_j.
pub(super) fn weighted(seed: u64, epoch: u64, sampling: &WeightedSampling) -> Vec<u32> {
    let mut total = 0.0;
    let sums = sampling.weights.iter().map(|weight| {
        total += weight;
        total
    });
    let sums: Vec<f64> = sums.collect();
    // Rounding must not select a sample of weight 0 at the end.
    let last = sampling.weights.iter().rposition(|&weight| weight > 0.0);
    let last = last.unwrap_or(0);
    let mut random = generator(seed, epoch, WEIGHTED_STREAM);
    let draw = |_| {
        let unit = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let at = sums.partition_point(|&sum| sum <= unit * total);
        at.min(last) as u32
    };
    (0..sampling.samples).map(draw).collect()
}
