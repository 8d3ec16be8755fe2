//! Arrays in files of NumPy and MATLAB, and the ZIP archives around them.

pub mod archive;
pub mod mat5;
pub mod npy;
pub mod zip;

/// Bytes that are read at any position.
pub trait Source {
    /// The error of the reader.
    type Error;

    /// The number of bytes.
    fn len(&self) -> u64;

    /// Whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `len` bytes at `offset`. The range is compared with the length before memory is allocated.
    ///
    /// # Errors
    /// If there are fewer bytes, or reading fails.
    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, Self::Error>;

    /// An error in the bytes.
    fn invalid(&self, offset: u64, problem: impl Into<String>, help: &'static str) -> Self::Error;
}

/// The type of the numbers in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the types")]
pub enum Number {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    BF16,
    F32,
    F64,
}

impl Number {
    /// The bytes of a number.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::BF16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
}
