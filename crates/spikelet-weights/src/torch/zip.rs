//! `torch.save` since PyTorch 1.6: a zip archive with a folder that has the pickle, and a record for each storage.
//!
//! ```text
//! archive/data.pkl     the pickle
//! archive/data/0 …     elements of storages
//! archive/byteorder    `little` or `big`; older files lack it
//! archive/version      `3`
//! ```

use std::collections::HashMap;

use crate::arrays::zip::{self, Entry};

use super::pickle::{PersistentIds, Unpickler};
use super::storages::Storages;
use super::{Checkpoint, Reading};
use crate::error::{ErrorKind, Result};
use crate::record::record;
use crate::source::FileSource;

/// The largest pickle.
const MAX_PICKLE: u64 = 128 << 20;

pub(super) fn read(source: &FileSource, reading: &mut Reading<'_>) -> Result<Checkpoint> {
    let mut entries: HashMap<String, Entry> = HashMap::new();
    for entry in zip::entries(source)? {
        let name = entry.name.clone();
        if entries.insert(name.clone(), entry).is_some() {
            return Err(damaged(&name, "the archive has two records of this name"));
        }
    }
    let is_pickle = |name: &&String| {
        let folder = name.strip_suffix("/data.pkl");
        folder.is_some_and(|folder| !folder.contains('/'))
    };
    let mut pickles = entries.keys().filter(is_pickle);
    let name = match (pickles.next(), pickles.next()) {
        (Some(name), None) => name.clone(),
        (None, _) => {
            let mut names: Vec<&str> = entries.keys().map(String::as_str).collect();
            names.sort_unstable();
            names.truncate(8);
            let has = format!("it is missing; the archive has: {}", names.join(", "));
            return Err(damaged("data.pkl", &has));
        }
        (Some(a), Some(b)) => {
            let problem = format!("the archive has `{}` and `{}`", a.min(b), a.max(b));
            return Err(damaged("data.pkl", &problem));
        }
    };
    let folder = name.trim_end_matches("data.pkl");
    let big_endian = match entries.get(&format!("{folder}byteorder")) {
        None => false,
        Some(entry) if entry.uncompressed > 16 => {
            return Err(damaged(&entry.name, "it is too long"));
        }
        Some(entry) => match record(source, entry)?.as_slice() {
            b"little" => false,
            b"big" => true,
            _ => return Err(damaged(&entry.name, "the byte order is unknown")),
        },
    };
    let entry = &entries[&name];
    if entry.uncompressed > MAX_PICKLE {
        let (of, bytes, limit) = (
            format!("the record `{name}`"),
            entry.uncompressed,
            MAX_PICKLE,
        );
        return Err(ErrorKind::TooLarge { of, bytes, limit }.into());
    }
    let pickle = record(source, entry)?;
    let mut input = pickle.as_slice();
    let mut unpickler = Unpickler::new(
        &mut input,
        pickle.len() as u64,
        &name,
        PersistentIds::Storages,
    );
    let root = unpickler.load()?;
    let storages = Storages::Records {
        source,
        entries: &entries,
        prefix: format!("{folder}data/"),
        big_endian,
    };
    reading.finish(&unpickler.heap, root, &storages)
}

fn damaged(record: &str, problem: &str) -> crate::Error {
    ErrorKind::Damaged {
        format: "PyTorch checkpoint",
        place: format!("record `{}`", record.chars().take(80).collect::<String>()),
        problem: problem.into(),
        help: "save the state_dict() again with torch.save",
    }
    .into()
}
