//! The memory limit of a program.

use crate::OtherError;
use serde_json::{Value, json};
use spikelet_schema::document::{Located, Node};
use spikelet_schema::{Field, FieldValue, Kind};
use std::fmt;
use std::str::FromStr;

/// The limit of the peak memory of a compiled program, including its buffers.
///
/// ```
/// use spikelet_core::MemoryBudget;
/// assert_eq!("400MiB".parse(), Ok(MemoryBudget::Bytes(400 << 20)));
/// assert_eq!("1.5GB".parse(), Ok(MemoryBudget::Bytes(1_500_000_000)));
/// assert_eq!("0.5".parse(), Ok(MemoryBudget::Fraction(0.5)));
/// assert!("much".parse::<MemoryBudget>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemoryBudget {
    /// In bytes.
    Bytes(u64),
    /// As a fraction of the peak without a budget.
    Fraction(f64),
}

impl MemoryBudget {
    /// The budget in bytes of a program that needs `natural` bytes without a budget.
    pub fn bytes(self, natural: usize) -> usize {
        match self {
            Self::Bytes(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
            Self::Fraction(share) => (share * natural as f64) as usize,
        }
    }
}

/// The units of sizes with their numbers of bytes.
const UNITS: [(&str, u64); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

/// A text that is not an amount of memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an amount of memory; give 400MiB, 2GB, or a share such as 0.5")]
#[non_exhaustive]
pub struct ParseMemoryBudgetError {
    /// The text.
    pub text: String,
}

impl OtherError for ParseMemoryBudgetError {}

impl FromStr for MemoryBudget {
    type Err = ParseMemoryBudgetError;

    fn from_str(text: &str) -> Result<Self, ParseMemoryBudgetError> {
        let wrong = || ParseMemoryBudgetError {
            text: text.to_string(),
        };
        let number = |text: &str| -> Result<f64, ParseMemoryBudgetError> {
            let number: f64 = text.trim().parse().map_err(|_| wrong())?;
            let positive = number > 0.0 && number.is_finite();
            if positive { Ok(number) } else { Err(wrong()) }
        };
        for (name, bytes) in UNITS {
            if let Some(amount) = text.strip_suffix(name) {
                return Ok(Self::Bytes((number(amount)? * bytes as f64) as u64));
            }
        }
        match number(text)? {
            share if share <= 1.0 => Ok(Self::Fraction(share)),
            _ => Err(wrong()),
        }
    }
}

/// A text, whose amounts are not rounded.
impl FieldValue for MemoryBudget {
    fn kind() -> Kind {
        Kind::Other(
            "an amount, such as 400MiB, or a fraction, such as 0.5",
            || json!({"type": "string"}),
        )
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        *self = spikelet_schema::parsed(field, node)?;
        Ok(())
    }

    fn write(&self) -> Value {
        match self {
            Self::Bytes(bytes) => format!("{bytes}B").into(),
            Self::Fraction(share) => share.to_string().into(),
        }
    }
}

/// All memory.
impl Default for MemoryBudget {
    fn default() -> Self {
        Self::Fraction(1.0)
    }
}

impl fmt::Display for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{:.1}MiB", *bytes as f64 / f64::from(1 << 20)),
            Self::Fraction(share) => write!(f, "{share}"),
        }
    }
}
