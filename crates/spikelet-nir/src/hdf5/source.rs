//! A file for `hdf5-pure`, with a bound on how much is read: structures that refer to themselves end.

use std::sync::atomic::{AtomicU64, Ordering};

use hdf5_pure::{FormatError, Source};

use spikelet_weights::FileSource;

/// The bytes that may be read for each byte of the file, and beyond that.
const READS_PER_BYTE: u64 = 256;
const READS: u64 = 256 << 20;

/// The bytes that the smallest read counts as.
const READ_COST: u64 = 64;

/// A source that ends after a number of reads.
pub(super) struct BoundedSource {
    source: FileSource,
    left: AtomicU64,
}

impl BoundedSource {
    pub fn new(source: FileSource) -> Self {
        let reads = source.len().saturating_mul(READS_PER_BYTE);
        let left = AtomicU64::new(reads.saturating_add(READS));
        Self { source, left }
    }
}

impl Source for BoundedSource {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), FormatError> {
        let cost = READ_COST.max(buffer.len() as u64);
        let take = |left: u64| left.checked_sub(cost);
        let order = Ordering::Relaxed;
        if self.left.fetch_update(order, order, take).is_err() {
            let problem = "the structures of the file refer to each other without end";
            return Err(FormatError::Source(problem.into()));
        }
        let read = self.source.fill(offset, buffer);
        read.map_err(|error| FormatError::Source(error.to_string()))
    }
}
