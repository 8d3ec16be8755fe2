//! Temporary files of killed processes beside outputs that users name.

use super::SUFFIX;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The beginnings of the names of temporary files of events and packs, of graphs and weights, and of downloads.
const PREFIXES: [&str; 3] = [".events.", ".nir.", ".download-"];

/// The ends of their names.
const SUFFIXES: [&str; 2] = [SUFFIX, ".part"];

/// The random characters in their names.
const RANDOM: usize = 6;

/// The age from which a file without a lock is abandoned: a writer locks its file at once.
const AGE: Duration = Duration::from_secs(1);

/// Removes the temporary files that killed processes left in the folder of an output: those of
/// [`AtomicFile`](super::AtomicFile) for this output, and those of events, graphs and downloads. Files that a process is
/// still writing are locked, and stay. What cannot be removed stays as well.
pub fn remove_abandoned(output: &Path) {
    let own = format!(
        ".{}.",
        output.file_name().unwrap_or_default().to_string_lossy()
    );
    let Ok(entries) = super::atomic::folder_of(output).read_dir() else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_temporary = name.to_str().is_some_and(|name| {
            let prefixes = PREFIXES.iter().copied().chain([own.as_str()]);
            prefixes.into_iter().any(|prefix| is_of(name, prefix))
        });
        if is_temporary && is_abandoned(&entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether a name is a prefix, random characters and a suffix.
fn is_of(name: &str, prefix: &str) -> bool {
    let Some(rest) = name.strip_prefix(prefix) else {
        return false;
    };
    let mut ends = SUFFIXES.iter();
    let random = ends.find_map(|suffix| rest.strip_suffix(suffix));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

fn is_abandoned(path: &Path) -> bool {
    let Ok(found) = path.symlink_metadata() else {
        return false;
    };
    let written = found.modified();
    let age = written
        .ok()
        .and_then(|at| SystemTime::now().duration_since(at).ok());
    found.is_file()
        && age.is_some_and(|age| age > AGE)
        && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::AtomicFile;

    #[test]
    fn what_killed_writers_left_beside_an_output_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let abandoned = [
            ".events.Ab12Cd.tmp",
            ".download-000000.part",
            ".out.npz.xyzXYZ.tmp",
        ];
        let others = [
            ".other.npz.xyzXYZ.tmp",
            ".events.tmp",
            ".events.long-name.tmp",
            "out.npz",
            ".out.npz.abc.def.part",
        ];
        for name in abandoned.iter().chain(&others) {
            let file = File::create(path(name)).expect("created");
            let old = SystemTime::now() - Duration::from_secs(9);
            file.set_modified(old).expect("a time");
        }
        // Those of living processes: one that writes for long, and one that has just begun.
        let mut living = AtomicFile::create(path("out.npz")).expect("created");
        let old = SystemTime::now() - Duration::from_secs(9);
        living.file_mut().set_modified(old).expect("a time");
        std::fs::write(path(".nir.Ab12Cd.tmp"), b"").expect("written");
        remove_abandoned(&path("out.npz"));
        for name in abandoned {
            assert!(!path(name).exists(), "{name}");
        }
        for name in others.iter().chain(&[".nir.Ab12Cd.tmp"]) {
            assert!(path(name).exists(), "{name}");
        }
        living.commit().expect("it is there");
    }
}
