//! Bounds of what readers allocate.

/// The most bytes that a byte of Deflate data decompresses to.
///
/// Source: zlib, Technical Details, "Maximum Expansion Factor".
const MAX_EXPANSION: u64 = 1032;

/// The most memory that the content of a file may take.
///
/// Readers never allocate what a header merely claims: a size is compared with the bytes that the file has, and with
/// these limits, before memory is reserved.
///
/// ```
/// use spikelet_weights::Limits;
///
/// let limits = Limits { bytes: 8 << 30, ..Limits::default() };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The bytes of all tensors of a file together, decompressed and contiguous. Tensors that a file has
    /// uncompressed may always take as much memory as the file has bytes, and no file more than 1032 times as much: Deflate
    /// compresses no further.
    pub bytes: u64,
    /// The levels of graphs in graphs, and of metadata in metadata.
    pub depth: usize,
}

impl Default for Limits {
    /// 384 MiB, 64 levels.
    fn default() -> Self {
        Self {
            bytes: 384 << 20,
            depth: 64,
        }
    }
}

/// What is left of [`Limits::bytes`] while a file is read.
#[derive(Debug)]
pub struct Budget {
    left: u64,
    limit: u64,
}

impl Budget {
    /// The budget of a file of `len` bytes.
    #[must_use]
    pub fn new(limits: &Limits, len: u64) -> Self {
        let limit = limits.bytes.max(len).min(len.saturating_mul(MAX_EXPANSION));
        Self { left: limit, limit }
    }

    /// Takes the bytes of a tensor; `Err` is the limit that they exceed.
    ///
    /// # Errors
    /// The limit.
    pub fn take(&mut self, bytes: u64) -> Result<(), u64> {
        self.left = self.left.checked_sub(bytes).ok_or(self.limit)?;
        Ok(())
    }

    /// The limit of the file.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The bytes that are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left
    }
}
