//! The types of elements.

use std::fmt;

/// The type of the elements of a tensor: of a field of a data set, an input, a parameter, a buffer, a value of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// 32-bit floating point.
    #[default]
    F32,
    /// 64-bit floating point: references and gradient checks.
    F64,
    /// 16-bit floating point, IEEE 754: 5 bits of exponent. A storage type: arithmetic
    /// on it is done in f32.
    F16,
    /// 16-bit floating point with the exponent of f32. A storage type as [`DType::F16`].
    BF16,
    /// 64-bit integers: labels, counters.
    I64,
    /// Binary values, one bit each: spikes, rasters of events. The last axis is padded to 64-bit words.
    Bits,
    /// Bytes: pixels, tokens. A storage type of data sets: programs have inputs of f32 for them.
    U8,
}

impl DType {
    /// All types.
    pub const ALL: [Self; 7] = [
        Self::F32,
        Self::F64,
        Self::F16,
        Self::BF16,
        Self::I64,
        Self::Bits,
        Self::U8,
    ];

    /// The name, as in `f32`.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::I64 => "i64",
            Self::Bits => "bits",
            Self::U8 => "u8",
        }
    }

    /// Whether it is one of the floating-point types.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::F16 | Self::BF16)
    }

    /// Whether it is one of the 16-bit floating-point types.
    pub fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::BF16)
    }

    /// The bytes of one element; 0 for [`DType::Bits`], eight of which share a byte.
    ///
    /// ```
    /// use spikelet_expr::DType;
    /// assert_eq!(DType::BF16.size_in_bytes(), 2);
    /// ```
    pub fn size_in_bytes(self) -> usize {
        match self {
            Self::F16 | Self::BF16 => 2,
            Self::F32 => 4,
            Self::F64 | Self::I64 => 8,
            Self::Bits => 0,
            Self::U8 => 1,
        }
    }

    /// The type of arithmetic on elements of this type, and of neurons' states: f32 for the 16-bit
    /// types, otherwise the type itself.
    pub fn arithmetic(self) -> Self {
        if self.is_half() { Self::F32 } else { self }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
