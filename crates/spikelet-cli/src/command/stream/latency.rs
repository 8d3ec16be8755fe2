//! Latencies in constant memory.

use std::time::Duration;

/// Buckets for each doubling of the latency: a percentile is exact to 3 %.
const BUCKETS: usize = 32;
/// The doublings from 1 ns on.
const DOUBLINGS: usize = 48;

/// A histogram of latencies, with buckets of equal ratio.
#[derive(Debug)]
pub struct Latencies {
    counts: Vec<u64>,
    total: u64,
}

impl Latencies {
    pub fn new() -> Self {
        Self {
            counts: vec![0; BUCKETS * DOUBLINGS],
            total: 0,
        }
    }

    /// Counts one.
    pub fn add(&mut self, latency: Duration) {
        let nanoseconds = latency.as_nanos().max(1) as f64;
        let bucket = (nanoseconds.log2() * BUCKETS as f64) as usize;
        self.counts[bucket.min(BUCKETS * DOUBLINGS - 1)] += 1;
        self.total += 1;
    }

    /// The latency in microseconds below which this share of all is; `None` without any.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let rank = (self.total as f64 * share).ceil().max(1.0) as u64;
        let mut before = 0;
        let bucket = self.counts.iter().position(|count| {
            before += count;
            before >= rank
        })?;
        // The middle of the bucket.
        let nanoseconds = ((bucket as f64 + 0.5) / BUCKETS as f64).exp2();
        Some(nanoseconds / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_exact_to_three_percent() {
        let mut latencies = Latencies::new();
        assert_eq!(latencies.percentile(0.5), None);
        for microseconds in 1..=1000 {
            latencies.add(Duration::from_micros(microseconds));
        }
        for (share, expected) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = latencies.percentile(share).expect("there are some");
            assert!((found / expected - 1.0_f64).abs() < 0.03, "{found}");
        }
    }
}
