//! A file as a tree. Sizes are compared with the file and the limits before anything is read.

use hdf5_pure::{
    AttrValue, ChunkCacheConfig, Dataset, FileAccessProperties, Group, Layout, MetadataCacheConfig,
    VlenStringReadOptions,
};

use super::datatype::{Elements, elements};
use super::source::BoundedSource;
use super::{Item, Members, Text};
use spikelet_weights::FileSource;
use spikelet_weights::{Budget, Limits};
use spikelet_weights::{ErrorKind, Result};
use spikelet_weights::{Tensor, swap_bytes};

const FORMAT: &str = "HDF5";
const HELP: &str = "the file was not copied to its end, or is damaged; get it again";

const NEWER_HELP: &str = "structures of HDF5 2.0 are not read; write the file with nir.write, or with libver=\"earliest\"";

/// The filters that files of h5py have: deflate, shuffle, checksum, LZF.
const FILTERS: [u16; 4] = [1, 2, 3, 32000];

/// The bytes of a file that an object takes at least.
const OBJECT_BYTES: u64 = 16;

/// The most groups in groups: the stack is not for the file to decide.
const MAX_LEVELS: usize = 512;

/// The bytes of metadata that are kept in memory.
const METADATA_CACHE: usize = 4 << 20;

/// What NIR has at the top of a file.
#[derive(Debug)]
pub(crate) struct Root {
    /// The names of the members.
    pub names: Vec<String>,
    /// The attribute `__type__`, which files of recorded data have.
    pub kind: Option<String>,
    /// `/version`.
    pub version: Option<Item>,
    /// `/node`.
    pub node: Option<Item>,
}

/// Reads `/version` and `/node`.
pub(crate) fn read_root(source: FileSource, limits: &Limits) -> Result<Root> {
    let len = source.len();
    let properties = FileAccessProperties::new()
        .with_metadata_cache(MetadataCacheConfig::new(METADATA_CACHE))
        .with_chunk_cache(ChunkCacheConfig::disabled());
    let source = BoundedSource::new(source);
    let file = hdf5_pure::File::from_source_with_options(source, properties)
        .map_err(|error| damaged("/", format!("not a complete HDF5 file: {error}")))?;
    let mut reader = Reader {
        budget: Budget::new(limits, len),
        objects: len / OBJECT_BYTES,
        levels: (2 * limits.depth + 8).min(MAX_LEVELS),
    };
    let root = file.root();
    let kind = match root.attrs() {
        Ok(attributes) => attributes
            .get("__type__")
            .and_then(AttrValue::as_str)
            .map(str::to_owned),
        Err(_) => None,
    };
    let mut found = Root {
        names: vec![],
        kind,
        version: None,
        node: None,
    };
    for (name, dataset) in root.iter_datasets().map_err(|error| damaged("/", error))? {
        if name == "version" {
            found.version = Some(reader.dataset("/version", &dataset)?);
        }
        found.names.push(name);
    }
    for (name, group) in root.iter_groups().map_err(|error| damaged("/", error))? {
        if name == "node" {
            found.node = Some(Item::Group(reader.group("/node", &group, 1)?));
        }
        found.names.push(name);
    }
    Ok(found)
}

fn damaged(place: &str, problem: impl ToString) -> spikelet_weights::Error {
    let problem = problem.to_string();
    let help = match problem.contains("layout version") {
        true => NEWER_HELP,
        false => HELP,
    };
    ErrorKind::Damaged {
        format: FORMAT,
        place: shortened(place).into(),
        problem,
        help,
    }
    .into()
}

struct Reader {
    budget: Budget,
    /// The objects that the file may still have: links that lead back to a group around them end.
    objects: u64,
    levels: usize,
}

impl Reader {
    fn count(&mut self, place: &str) -> Result<()> {
        let Some(left) = self.objects.checked_sub(1) else {
            let problem =
                "there are more objects than the file has bytes for: groups contain themselves";
            return Err(damaged(place, problem));
        };
        self.objects = left;
        Ok(())
    }

    fn group(&mut self, path: &str, group: &Group, level: usize) -> Result<Members> {
        if level > self.levels {
            let problem = format!("groups are nested more than {} deep", self.levels);
            return Err(damaged(path, problem));
        }
        let mut members = Members::new();
        let mut insert = |name: String, item: Item| match members.insert(name.clone(), item) {
            None => Ok(()),
            Some(_) => Err(damaged(path, format!("the name `{name}` occurs twice"))),
        };
        for (name, dataset) in group
            .iter_datasets()
            .map_err(|error| damaged(path, error))?
        {
            let place = format!("{path}/{name}");
            self.count(&place)?;
            insert(name, self.dataset(&place, &dataset)?)?;
        }
        for (name, group) in group.iter_groups().map_err(|error| damaged(path, error))? {
            let place = format!("{path}/{name}");
            self.count(&place)?;
            insert(name, Item::Group(self.group(&place, &group, level + 1)?))?;
        }
        Ok(members)
    }

    fn dataset(&mut self, place: &str, dataset: &Dataset) -> Result<Item> {
        let error = |error: hdf5_pure::Error| damaged(place, error);
        let datatype = dataset.datatype().map_err(error)?;
        let (dtype, big_endian) = match elements(&datatype) {
            Elements::Numbers { dtype, big_endian } => (Some(dtype), big_endian),
            Elements::Text => (None, false),
            Elements::Unsupported(what) => return Ok(Item::Unsupported(what)),
        };
        let shape = dataset.shape().map_err(error)?;
        let size = u64::from(datatype.type_size());
        let product = |n: u64, &size: &u64| n.checked_mul(size);
        let (Some(len), Some(bytes)) = (
            shape.iter().try_fold(1, product),
            shape.iter().try_fold(size, product),
        ) else {
            return Err(damaged(
                place,
                format!("the shape {shape:?} has too many elements"),
            ));
        };
        let too_large = |bytes: u64, limit: u64| ErrorKind::TooLarge {
            of: format!("the dataset {place}"),
            bytes,
            limit,
        };
        self.budget
            .take(bytes)
            .map_err(|limit| too_large(bytes, limit))?;
        self.check_layout(place, dataset, &shape, size)?;
        let shape: Vec<usize> = shape.into_iter().map(|size| size as usize).collect();
        let Some(dtype) = dtype else {
            let left = usize::try_from(self.budget.left()).unwrap_or(usize::MAX);
            let options = VlenStringReadOptions::new().with_max_payload_bytes(left);
            let values = match datatype {
                hdf5_pure::Datatype::String { .. } => dataset.read_string(),
                _ => dataset.read_vlen_strings(options),
            };
            let values = values.map_err(error)?;
            let payload = values
                .iter()
                .map(|value| (size_of::<String>() + value.len()) as u64)
                .sum();
            self.budget
                .take(payload)
                .map_err(|limit| too_large(payload, limit))?;
            if values.len() as u64 != len {
                return Ok(Item::Unsupported("an empty dataset".into()));
            }
            return Ok(Item::Text(Text { shape, values }));
        };
        let mut values = dataset.read_raw().map_err(error)?;
        if values.is_empty() && len == 1 {
            return Ok(Item::Unsupported("an empty dataset".into()));
        }
        if big_endian {
            swap_bytes(&mut values, dtype.bytes());
        }
        match Tensor::new(dtype, shape, values) {
            Ok(tensor) => Ok(Item::Tensor(tensor)),
            Err(error) => Err(damaged(place, error.kind)),
        }
    }

    /// Checks the size and the number of chunks, and how they are compressed.
    fn check_layout(&self, place: &str, dataset: &Dataset, shape: &[u64], size: u64) -> Result<()> {
        if let Some(filter) = dataset
            .filters()
            .iter()
            .find(|filter| !FILTERS.contains(filter))
        {
            let problem = format!(
                "it is compressed with filter {filter}; deflate (1), shuffle (2), Fletcher32 (3) and LZF (32000) are read"
            );
            return Err(damaged(place, problem));
        }
        let layout = dataset.layout().map_err(|error| damaged(place, error))?;
        let Layout::Chunked { chunk_shape, .. } = layout else {
            return Ok(());
        };
        let chunk = chunk_shape
            .iter()
            .try_fold(size, |n, &size| n.checked_mul(size));
        let axes = shape.iter().zip(&chunk_shape);
        let count = axes.map(|(&size, &chunk)| size.div_ceil(chunk.max(1)));
        let count = count.fold(1, u64::saturating_mul);
        let limit = self.budget.limit();
        let all = chunk.and_then(|chunk| chunk.checked_mul(count.max(1)));
        if chunk.is_none_or(|chunk| chunk > limit)
            || all.is_none_or(|all| all > limit.saturating_mul(4))
        {
            return Err(ErrorKind::TooLarge {
                of: format!("the chunks {chunk_shape:?} of the dataset {place}"),
                bytes: all.unwrap_or(u64::MAX),
                limit,
            }
            .into());
        }
        let chunks = dataset.chunks().map_err(|error| damaged(place, error))?;
        if chunks.len() as u64 > count {
            let problem = format!(
                "{} chunks are stored where {count} are enough",
                chunks.len()
            );
            return Err(damaged(place, problem));
        }
        Ok(())
    }
}

/// The start of a path that may be very long.
fn shortened(path: &str) -> &str {
    let end = path
        .char_indices()
        .nth(120)
        .map_or(path.len(), |(at, _)| at);
    &path[..end]
}
