//! Folders of data sets.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{EventSample, EventSet, Listing, Split};
use crate::error::{Error, ErrorKind, Result};

/// The most names of files in an error.
const MAX_NAMES: usize = 8;

/// A file or folder.
pub(super) struct Item {
    pub name: String,
    pub is_folder: bool,
}

/// The files and folders in a folder, sorted as text. Hidden ones and those that archivers of macOS add are left out.
pub(super) fn items(folder: &Path) -> std::io::Result<Vec<Item>> {
    let mut items = vec![];
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if name.starts_with('.') || name == "__MACOSX" {
            continue;
        }
        let mut kind = entry.file_type()?;
        if kind.is_symlink() {
            // A link that leads nowhere is left out.
            match std::fs::metadata(entry.path()) {
                Ok(target) => kind = target.file_type(),
                Err(_) => continue,
            }
        }
        let is_folder = kind.is_dir();
        items.push(Item { name, is_folder });
    }
    items.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(items)
}

/// The error of a folder that is not as expected.
pub(super) fn unexpected(
    set: &str,
    folder: &Path,
    found: &str,
    expected: &str,
    help: String,
) -> Error {
    let kind = ErrorKind::Layout {
        set: set.to_owned(),
        found: found.to_owned(),
        expected: expected.to_owned(),
        help,
    };
    Error::from(kind).in_file(folder)
}

/// The content of a folder, in words.
pub(super) fn describe(folder: &Path) -> String {
    match items(folder) {
        Err(error) => format!("no readable folder ({error})"),
        Ok(items) if items.is_empty() => "an empty folder".into(),
        Ok(items) => {
            let names = items.iter().take(MAX_NAMES).map(|item| item.name.as_str());
            let names: Vec<_> = names.collect();
            let more = match items.len().saturating_sub(MAX_NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{}{more}", names.join(", "))
        }
    }
}

/// A set in a folder.
pub(super) struct Walk<'a> {
    pub set: &'static EventSet,
    /// The folder that was given.
    folder: &'a Path,
    /// The folder with the files, relative to the given one.
    pub base: PathBuf,
}

impl<'a> Walk<'a> {
    /// Finds the files.
    pub fn new(set: &'static EventSet, folder: &'a Path) -> Result<Self> {
        let bases = [""].iter().chain(set.folders).map(Path::new);
        let has_files = |base: &&Path| {
            let base = folder.join(base);
            set.contains.iter().any(|name| base.join(name).exists())
        };
        let base = bases.into_iter().find(has_files);
        let walk = Self {
            set,
            folder,
            base: base.unwrap_or(Path::new("")).to_owned(),
        };
        match base {
            Some(_) => Ok(walk),
            None => Err(walk.unexpected(&walk.base, &describe(folder))),
        }
    }

    /// A path below the given folder.
    pub fn path(&self, relative: &Path) -> PathBuf {
        self.folder.join(relative)
    }

    /// The error of a folder that is not as expected.
    pub fn unexpected(&self, relative: &Path, found: &str) -> Error {
        let set = self.set;
        unexpected(
            set.name,
            &self.path(relative),
            found,
            set.layout,
            set.help(),
        )
    }

    /// The names of the folders in a folder.
    pub fn folders(&self, relative: &Path) -> Result<Vec<String>> {
        let items = self.items(relative)?.into_iter();
        let folders = items.filter(|item| item.is_folder);
        Ok(folders.map(|item| item.name).collect())
    }

    /// The files in a folder that have the extension.
    pub fn files(&self, relative: &Path, extension: &str) -> Result<Vec<PathBuf>> {
        let items = self.items(relative)?.into_iter();
        let paths = items.filter(|item| !item.is_folder).map(|item| item.name);
        let own = |name: &String| Path::new(name).extension() == Some(OsStr::new(extension));
        Ok(paths.filter(own).map(|name| relative.join(name)).collect())
    }

    fn items(&self, relative: &Path) -> Result<Vec<Item>> {
        let folder = self.path(relative);
        items(&folder).map_err(|error| Error::from(ErrorKind::Open(error)).in_file(&folder))
    }

    /// Appends the files of class folders. The label is the place of the folder's name in `classes`; other folders are
    /// errors.
    pub fn append_classes(
        &self,
        relative: &Path,
        split: Split,
        classes: &[String],
        extension: &str,
        samples: &mut Vec<EventSample>,
    ) -> Result<()> {
        for class in self.folders(relative)? {
            let folder = relative.join(&class);
            let Some(label) = classes.iter().position(|name| *name == class) else {
                return Err(self.unexpected(&folder, "a folder that is no class"));
            };
            let files = self.files(&folder, extension)?.into_iter();
            samples.extend(files.map(|file| EventSample::of_file(split, file, Some(label as u32))));
        }
        Ok(())
    }

    /// A set of splits, which are folders of class folders. Without classes of the set, the folders of all splits
    /// together name the classes.
    pub fn split_classes(&self, splits: &[(&str, Split)], extension: &str) -> Result<Listing> {
        let folders = splits
            .iter()
            .map(|&(name, split)| (self.base.join(name), split));
        let folders: Vec<_> = folders
            .filter(|(folder, _)| self.path(folder).is_dir())
            .collect();
        let mut classes = self.set.class_names();
        if classes.is_empty() {
            for (folder, _) in &folders {
                classes.extend(self.folders(folder)?);
            }
            classes.sort_unstable();
            classes.dedup();
        }
        let mut samples = vec![];
        for (folder, split) in &folders {
            self.append_classes(folder, *split, &classes, extension, &mut samples)?;
        }
        Ok(self.listing(classes, samples))
    }

    /// A listing whose files are read as the set says.
    pub fn listing(&self, classes: Vec<String>, samples: Vec<EventSample>) -> Listing {
        Listing {
            classes,
            samples,
            options: self.set.options.clone(),
        }
    }
}
