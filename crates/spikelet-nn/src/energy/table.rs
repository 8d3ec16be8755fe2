//! Energies of operations.

use spikelet_schema::document::{Document, DocumentError};
use spikelet_schema::{Schema, UnknownName, named};
use std::path::Path;

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

/// A memory of a [`CostTable`].
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct Cache {
    /// Size.
    #[schema(required, default = 1, at_least = 1, unit = "bytes")]
    pub size: u64,
    /// Energy of an access to 64 bits.
    #[schema(required, at_least = 0, unit = "pJ")]
    pub energy: f64,
}

impl Cache {
    fn of_kib((size, energy): (u64, f64)) -> Self {
        let size = size << 10;
        Self { size, energy }
    }
}

/// The energy of memory accesses; by default the figures of `horowitz-45nm-memory`.
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct MemoryCosts {
    /// The caches.
    #[schema(required, default = [(8, 10.0), (32, 20.0), (1024, 100.0)].map(Cache::of_kib).to_vec())]
    pub caches: Vec<Cache>,
    /// The lowest and the highest energy of an access to 64 bits of DRAM.
    #[schema(required, default = [1300.0, 2600.0], at_least = 0, unit = "pJ")]
    pub dram: [f64; 2],
}

impl MemoryCosts {
    /// The smallest cache that holds `bytes`.
    fn cache(&self, bytes: u64) -> Option<&Cache> {
        let caches = self.caches.iter().filter(|cache| bytes <= cache.size);
        caches.min_by_key(|cache| cache.size)
    }

    /// The lowest and the highest energy of an access to one bit of data that take `bytes` together, in pJ: that
    /// of the smallest cache that holds them, or else of DRAM.
    pub fn per_bit(&self, bytes: u64) -> [f64; 2] {
        let of_word = self
            .cache(bytes)
            .map_or(self.dram, |cache| [cache.energy; 2]);
        of_word.map(|energy| energy / 64.0)
    }

    /// The memory that [`MemoryCosts::per_bit`] selects, in words.
    pub fn level(&self, bytes: u64) -> String {
        match self.cache(bytes) {
            Some(cache) => format!("a cache of {} KiB", cache.size / 1024),
            None => "DRAM".to_string(),
        }
    }
}

/// The names of the published tables.
const PUBLISHED: [&str; 2] = ["horowitz-45nm", "horowitz-45nm-memory"];

/// A table of the energy of operations. By default it is `horowitz-45nm`.
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
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct CostTable {
    /// Name.
    #[schema(required, default = PUBLISHED[0].to_string())]
    pub name: String,
    /// Publication, and the technology of the figures.
    #[schema(required, default = "M. Horowitz, Computing's energy problem, ISSCC 2014, 45 nm, 0.9 V".to_string())]
    pub source: String,
    /// An addition and a multiplication of 32-bit floating point.
    #[schema(required, default = [0.9, 3.7], at_least = 0, unit = "pJ")]
    pub f32: [f64; 2],
    /// An addition and a multiplication of 16-bit floating point.
    #[schema(required, default = [0.4, 1.1], at_least = 0, unit = "pJ")]
    pub f16: [f64; 2],
    /// An addition and a multiplication of 32-bit integers.
    #[schema(required, default = [0.1, 3.1], at_least = 0, unit = "pJ")]
    pub i32: [f64; 2],
    /// An addition and a multiplication of 8-bit integers.
    #[schema(required, default = [0.03, 0.2], at_least = 0, unit = "pJ")]
    pub i8: [f64; 2],
    /// Memory accesses. If they are left out, estimates leave them out.
    pub memory: Option<MemoryCosts>,
}

impl CostTable {
    /// The published tables: `horowitz-45nm`, which has arithmetic only, and `horowitz-45nm-memory`.
    pub fn published() -> [Self; 2] {
        let memory = Self {
            name: PUBLISHED[1].to_string(),
            memory: Some(MemoryCosts::default()),
            ..Self::default()
        };
        [Self::default(), memory]
    }

    /// The published table of this name.
    ///
    /// # Errors
    /// When no table has this name; the error names the closest one.
    pub fn find(name: &str) -> Result<Self, UnknownName> {
        let tables = PUBLISHED.into_iter().zip(Self::published());
        named("cost table", name, tables, |(name, _)| name).map(|(_, table)| table)
    }

    /// Reads a table from a TOML file.
    ///
    /// # Errors
    /// When the file cannot be read, or a key is unknown, missing or wrong.
    pub fn read(path: &Path) -> Result<Self, DocumentError> {
        let document = Document::read(path)?;
        spikelet_schema::read(document.root()).map_err(|error| document.error(error))
    }

    fn of(&self, format: NumberFormat) -> [f64; 2] {
        match format {
            NumberFormat::F32 => self.f32,
            NumberFormat::F16 => self.f16,
            NumberFormat::I32 => self.i32,
            NumberFormat::I8 => self.i8,
        }
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
    fn a_table_is_read_from_a_file() {
        let read = |text: &str| {
            let file = tempfile::NamedTempFile::new().expect("a file");
            std::fs::write(&file, text).expect("it is written");
            CostTable::read(file.path())
        };
        let arithmetic = "name = 'chip'\nsource = 'measured'\nf32 = [2, 5]\nf16 = [1, 2]\ni32 = [1, 4]\ni8 = [0.1, 0.4]\n";
        let memory = "[memory]\ncaches = [{ size = 1024, energy = 8 }]\ndram = [640, 1280]";
        let table = read(&[arithmetic, memory].concat()).expect("a table");
        assert_eq!(table.multiply_accumulate(NumberFormat::I8), 1.4);
        let memory = table.memory.expect("it has memory");
        assert_eq!(
            [1024, 1025].map(|bytes| memory.per_bit(bytes)),
            [[0.125; 2], [10.0, 20.0]]
        );
        // No figure of the published table fills a gap.
        for key in ["name", "source", "f32", "f16", "i32", "i8"] {
            let lines = arithmetic
                .lines()
                .filter(|line| !line.starts_with(&format!("{key} ")));
            let error = read(&lines.collect::<Vec<_>>().join("\n")).expect_err(key);
            assert!(error.to_string().contains(&format!("`{key}`")), "{error}");
        }
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
