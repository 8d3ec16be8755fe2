//! Published energies of operations.

use crate::DefinitionError;
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The format of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
pub enum NumberFormat {
    /// 32-bit floating point.
    #[default]
    F32,
    /// 16-bit floating point.
    ///
    /// IEEE half precision or bfloat16.
    F16,
    /// 32-bit integers.
    I32,
    /// 8-bit integers.
    ///
    /// Products are accumulated in 32-bit integers.
    I8,
}

impl NumberFormat {
    /// The number of bits of an element.
    pub fn bits(self) -> u64 {
        match self {
            Self::F32 | Self::I32 => 32,
            Self::F16 => 16,
            Self::I8 => 8,
        }
    }

    /// The format of sums and of potentials.
    pub fn accumulator(self) -> Self {
        match self {
            Self::I8 => Self::I32,
            other => other,
        }
    }
}

/// The energy of memory accesses.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryCosts {
    /// The size of each cache in bytes, ascending, and the energy of an access to 64 bits, in pJ.
    pub caches: Vec<(u64, f64)>,
    /// The lowest and the highest energy of an access to 64 bits of DRAM, in pJ.
    pub dram: [f64; 2],
}

impl MemoryCosts {
    /// The lowest and the highest energy of an access to one bit of data that take `bytes` together, in pJ: that
    /// of the smallest cache that holds them, or else of DRAM.
    pub fn per_bit(&self, bytes: u64) -> [f64; 2] {
        let cache = self.caches.iter().find(|(size, _)| bytes <= *size);
        let of_word = cache.map_or(self.dram, |(_, energy)| [*energy; 2]);
        of_word.map(|energy| energy / 64.0)
    }

    /// The memory that [`MemoryCosts::per_bit`] selects, in words.
    pub fn level(&self, bytes: u64) -> String {
        match self.caches.iter().find(|(size, _)| bytes <= *size) {
            Some((size, _)) => format!("a cache of {} KiB", size / 1024),
            None => "DRAM".to_string(),
        }
    }
}

/// A published table of the energy of operations.
///
/// | name | |
/// |---|---|
/// | `horowitz-45nm` | arithmetic only |
/// | `horowitz-45nm-memory` | arithmetic and memory accesses |
///
/// ```
/// use spikelet_nn::energy::{CostTable, NumberFormat};
/// let table = CostTable::find("horowitz-45nm")?;
/// assert_eq!(table.add(NumberFormat::F32), 0.9);
/// assert_eq!(table.multiply(NumberFormat::F32), 3.7);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
///
/// Source: M. Horowitz, *Computing's energy problem (and what we can do about it)*, ISSCC 2014: rough energies in
/// 45 nm at 0.9 V.
#[derive(Clone, Debug, PartialEq)]
pub struct CostTable {
    /// The name.
    pub name: &'static str,
    /// The publication, and the technology of the figures.
    pub source: &'static str,
    /// Energies of an addition and of a multiplication in pJ, for f32, f16, i32, i8.
    arithmetic: [[f64; 2]; 4],
    /// Energies of memory accesses, if they are in the table.
    pub memory: Option<MemoryCosts>,
}

const HOROWITZ: &str = "M. Horowitz, Computing's energy problem, ISSCC 2014, 45 nm, 0.9 V";

/// An addition and a multiplication of f32, f16, i32, i8.
const HOROWITZ_ARITHMETIC: [[f64; 2]; 4] = [[0.9, 3.7], [0.4, 1.1], [0.1, 3.1], [0.03, 0.2]];

impl CostTable {
    /// The names of all tables.
    pub const NAMES: [&str; 2] = ["horowitz-45nm", "horowitz-45nm-memory"];

    /// The table of this name.
    ///
    /// # Errors
    /// [`DefinitionError::UnknownName`].
    pub fn find(name: &str) -> Result<Self> {
        let memory = || MemoryCosts {
            caches: vec![(8 << 10, 10.0), (32 << 10, 20.0), (1 << 20, 100.0)],
            dram: [1300.0, 2600.0],
        };
        let (name, memory) = match name {
            "horowitz-45nm" => (Self::NAMES[0], None),
            "horowitz-45nm-memory" => (Self::NAMES[1], Some(memory())),
            _ => {
                return Err(DefinitionError::UnknownName {
                    family: "cost table",
                    name: name.to_string(),
                    known: Self::NAMES.to_vec(),
                }
                .into());
            }
        };
        Ok(Self {
            name,
            source: HOROWITZ,
            arithmetic: HOROWITZ_ARITHMETIC,
            memory,
        })
    }

    fn of(&self, format: NumberFormat) -> [f64; 2] {
        let at = match format {
            NumberFormat::F32 => 0,
            NumberFormat::F16 => 1,
            NumberFormat::I32 => 2,
            NumberFormat::I8 => 3,
        };
        self.arithmetic[at]
    }

    /// The energy of an addition, in pJ.
    pub fn add(&self, format: NumberFormat) -> f64 {
        self.of(format)[0]
    }

    /// The energy of a multiplication, in pJ.
    pub fn multiply(&self, format: NumberFormat) -> f64 {
        self.of(format)[1]
    }

    /// The energy of the synaptic operation of a spike, in pJ: an addition in the format of sums.
    pub fn accumulate(&self, format: NumberFormat) -> f64 {
        self.add(format.accumulator())
    }

    /// The energy of the synaptic operation of another input, in pJ: a multiplication, and an addition in the format
    /// of sums.
    pub fn multiply_accumulate(&self, format: NumberFormat) -> f64 {
        self.multiply(format) + self.add(format.accumulator())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_the_publication() {
        for name in CostTable::NAMES {
            let table = CostTable::find(name).expect("it is known");
            assert_eq!(table.name, name);
            let each = [
                (NumberFormat::F32, 0.9, 3.7),
                (NumberFormat::F16, 0.4, 1.1),
                (NumberFormat::I32, 0.1, 3.1),
                (NumberFormat::I8, 0.03, 0.2),
            ];
            for (format, add, multiply) in each {
                assert_eq!((table.add(format), table.multiply(format)), (add, multiply));
            }
            assert_eq!(table.memory.is_some(), name.ends_with("memory"));
        }
        assert!(CostTable::find("horowitz").is_err());
    }

    #[test]
    fn an_eight_bit_product_is_accumulated_in_32_bits() {
        let table = CostTable::find("horowitz-45nm").expect("it is known");
        assert_eq!(table.multiply_accumulate(NumberFormat::I8), 0.2 + 0.1);
        assert_eq!(table.accumulate(NumberFormat::I8), 0.1);
        assert_eq!(table.multiply_accumulate(NumberFormat::F32), 3.7 + 0.9);
    }

    #[test]
    fn data_are_in_the_smallest_memory_that_holds_them() {
        let table = CostTable::find("horowitz-45nm-memory").expect("it is known");
        let memory = table.memory.expect("it has memory");
        for (bytes, of_word, level) in [
            (1, [10.0, 10.0], "a cache of 8 KiB"),
            (8 << 10, [10.0, 10.0], "a cache of 8 KiB"),
            ((8 << 10) + 1, [20.0, 20.0], "a cache of 32 KiB"),
            (1 << 20, [100.0, 100.0], "a cache of 1024 KiB"),
            ((1 << 20) + 1, [1300.0, 2600.0], "DRAM"),
        ] {
            assert_eq!(memory.per_bit(bytes), of_word.map(|e| e / 64.0), "{bytes}");
            assert_eq!(memory.level(bytes), level);
        }
    }
}
