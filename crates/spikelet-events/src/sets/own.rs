//! One's own recordings: a folder for each class, or a list of files.

use std::path::{Path, PathBuf};

use super::walk::{self, describe, items};
use super::{EventDataset, EventSample, Split};
use crate::Options;
use crate::error::{Error, ErrorKind, Result};

const FOLDER: &str = "a folder of recordings";
const FOLDER_LAYOUT: &str =
    "<class>/<name> with files of events, or train/<class>/<name> and test/<class>/<name>";
/// The extensions of files of events. Most formats are told from others by content, not by their extension.
const EXTENSIONS: [&str; 10] = [
    "aedat", "aedat4", "bin", "csv", "dat", "es", "mat", "npy", "npz", "raw",
];

const LIST: &str = "a list of recordings";
const LIST_LAYOUT: &str =
    "lines `file,class` or `file,class,split`, with the splits train, valid and test";

/// Lists recordings in class folders. The classes are the names of the folders, sorted as text; folders `train`,
/// `valid` or `val`, and `test` may be above them. Files of any [`Format`](crate::Format) are taken by their extension, and all if
/// [`Options::format`] is given. Reads no events.
///
/// # Errors
/// [`ErrorKind::Layout`] without class folders and files in them; [`ErrorKind::Open`].
pub fn recording_folder(folder: impl AsRef<Path>, options: &Options) -> Result<EventDataset> {
    let folder = folder.as_ref();
    let unexpected = |found: &str| {
        let help = "move the recordings of each class into a folder with its name";
        walk::unexpected(FOLDER, folder, found, FOLDER_LAYOUT, help.into())
    };
    let top = folders(folder, Path::new(""))?;
    let splits: Option<Vec<_>> = top.iter().map(|name| split(name)).collect();
    let roots = match splits {
        Some(splits) if !splits.is_empty() => top.iter().map(PathBuf::from).zip(splits).collect(),
        _ => vec![(PathBuf::new(), Split::All)],
    };
    let (mut classes, mut files) = (vec![], vec![]);
    for (root, split) in roots {
        for class in folders(folder, &root)? {
            let inside = root.join(&class);
            for item in open(folder, &inside)? {
                let file = inside.join(item.name);
                if !item.is_folder && (options.format.is_some() || is_readable(&file)) {
                    files.push((split, file, class.clone()));
                }
            }
            classes.push(class);
        }
    }
    if files.is_empty() {
        return Err(unexpected(&describe(folder)));
    }
    classes.sort_unstable();
    classes.dedup();
    Ok(dataset(folder, classes, files, options))
}

/// Lists the recordings of a text file: a line `file,class` or `file,class,split` for each, relative to the folder of
/// the list; empty lines and those that begin with `#` are skipped. The classes are sorted as text. Reads no events.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("one.bin"), [3, 7, 0x80, 0, 40])?;
/// let list = folder.path().join("list.csv");
/// std::fs::write(&list, "one.bin,wave,train\n")?;
/// let data = spikelet_events::recording_list(&list, &Default::default())?;
/// assert_eq!((data.classes()[0].as_str(), data.read(0)?.len()), ("wave", 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Layout`] for other lines and files that do not exist; [`ErrorKind::Open`].
pub fn recording_list(list: impl AsRef<Path>, options: &Options) -> Result<EventDataset> {
    let list = list.as_ref();
    let folder = list.parent().unwrap_or(Path::new(""));
    let text = std::fs::read_to_string(list);
    let text = text.map_err(|error| Error::from(ErrorKind::Open(error)).in_file(list))?;
    let unexpected = |found: String| {
        walk::unexpected(LIST, list, &found, LIST_LAYOUT, "correct the list".into())
    };
    let mut files = vec![];
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        let parsed = match words[..] {
            [file, class] => Some((Split::All, file, class)),
            [file, class, name] => split(name).map(|split| (split, file, class)),
            _ => None,
        };
        let Some((split, file, class)) = parsed else {
            return Err(unexpected(format!("line {}: `{line}`", number + 1)));
        };
        if !folder.join(file).is_file() {
            let found = format!(
                "line {}: the file `{file}`, which does not exist",
                number + 1
            );
            return Err(unexpected(found));
        }
        files.push((split, PathBuf::from(file), class.to_owned()));
    }
    if files.is_empty() {
        return Err(unexpected("no lines".into()));
    }
    let mut classes: Vec<String> = files.iter().map(|(_, _, class)| class.clone()).collect();
    classes.sort_unstable();
    classes.dedup();
    Ok(dataset(folder, classes, files, options))
}

fn dataset(
    folder: &Path,
    classes: Vec<String>,
    files: Vec<(Split, PathBuf, String)>,
    options: &Options,
) -> EventDataset {
    let label = |class| classes.binary_search(&class).ok().map(|label| label as u32);
    let samples = files.into_iter();
    let samples =
        samples.map(|(split, file, class)| EventSample::of_file(split, file, label(class)));
    let samples = samples.collect();
    let name = folder
        .file_name()
        .map_or("recordings".into(), |name| name.to_string_lossy());
    EventDataset::new(
        &name,
        folder,
        options.sensor,
        classes,
        samples,
        options.clone(),
    )
}

fn open(folder: &Path, relative: &Path) -> Result<Vec<walk::Item>> {
    let path = folder.join(relative);
    items(&path).map_err(|error| Error::from(ErrorKind::Open(error)).in_file(&path))
}

fn folders(folder: &Path, relative: &Path) -> Result<Vec<String>> {
    let items = open(folder, relative)?.into_iter();
    Ok(items
        .filter(|item| item.is_folder)
        .map(|item| item.name)
        .collect())
}

fn split(name: &str) -> Option<Split> {
    match name {
        "train" => Some(Split::Train),
        "valid" | "val" => Some(Split::Valid),
        "test" => Some(Split::Test),
        _ => None,
    }
}

fn is_readable(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|own| {
        EXTENSIONS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(own))
    })
}
