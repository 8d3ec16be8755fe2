//! Digests of the identity of data.

use sha2::{Digest, Sha256};
use std::sync::OnceLock;

use crate::events::Events;

/// The digest of data that do not change, computed once. It is no part of their equality.
#[derive(Clone, Debug, Default)]
pub(crate) struct Once(OnceLock<[u8; 32]>);

impl Once {
    pub(crate) fn get_or(&self, digest: impl FnOnce() -> [u8; 32]) -> [u8; 32] {
        *self.0.get_or_init(digest)
    }
}

impl PartialEq for Once {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A SHA-256 digest of parts, each preceded by its length.
pub(crate) struct Parts(Sha256);

impl Parts {
    /// A digest of the data of one kind.
    pub(crate) fn of(kind: &str) -> Self {
        Self(Sha256::new()).part(kind.as_bytes())
    }

    pub(crate) fn part(mut self, bytes: &[u8]) -> Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(crate) fn number(self, value: usize) -> Self {
        self.part(&(value as u64).to_le_bytes())
    }

    /// Adds values as the bytes that `bytes` gives.
    pub(crate) fn values<T: Copy, const N: usize>(
        mut self,
        values: &[T],
        bytes: impl Fn(T) -> [u8; N],
    ) -> Self {
        self.0.update(((values.len() * N) as u64).to_le_bytes());
        // In blocks, since a digest of a few bytes at a time is slow.
        let mut block = Vec::with_capacity(4096 * N);
        for values in values.chunks(4096) {
            block.clear();
            block.extend(values.iter().flat_map(|&value| bytes(value)));
            self.0.update(&block);
        }
        self
    }

    /// Adds the columns of events.
    pub(crate) fn events(self, events: &Events<'_>) -> Self {
        self.values(&events.t, i64::to_le_bytes)
            .values(&events.x, u16::to_le_bytes)
            .values(&events.y, u16::to_le_bytes)
            .part(&events.p)
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}
