//! Data sets that lie in files: where to find them, what must be in them, where to get them.

mod idx_files;
mod record_files;
mod remote_file;

use std::path::{Path, PathBuf};

use crate::dataset::Split;
#[cfg(feature = "download")]
use crate::download::Progress;
use crate::error::{Error, Result};

pub use record_files::RecordFiles;
pub use remote_file::RemoteFile;
#[cfg(feature = "download")]
pub(crate) use remote_file::hex;
use remote_file::sha256;

/// A data set of images and labels in files.
///
/// [`mnist::source`](crate::mnist::source), [`fashion_mnist::source`](crate::fashion_mnist::source)
/// and [`cifar10::source`](crate::cifar10::source) are the known ones. The fields are public, so
/// that a program may add a mirror of its own:
///
/// ```no_run
/// use spikelet_data::{Progress, mnist};
///
/// let mut source = mnist::source();
/// source.mirrors.insert(0, "http://files.example.org/mnist".into());
/// let split = source.load_or_download("data".as_ref(), Progress::Bar)?;
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What to call it.
    pub name: String,
    /// Name of each class.
    pub classes: Vec<String>,
    /// Channels, height, width of an image.
    pub shape: [usize; 3],
    /// Folders below the data folder in which to look, the most particular first; `""` is the data
    /// folder itself. Downloads go to the first.
    pub folders: Vec<String>,
    /// The files and their format.
    pub files: Files,
    /// URLs of folders that have what is to be fetched, in the order in which to try them.
    pub mirrors: Vec<String>,
}

/// The files of a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Files {
    /// IDX files of grey images: training images, training labels, test images, test labels. The
    /// mirrors have them one by one, compressed.
    Idx([RemoteFile; 4]),
    /// Files of labelled images one after another. The mirrors have them in an archive.
    Records(RecordFiles),
}

/// A folder with what it has and lacks of the files.
struct Found {
    folder: PathBuf,
    /// In the order of [`Files::names`].
    files: Vec<Option<PathBuf>>,
}

impl Found {
    fn missing(&self) -> usize {
        self.files.iter().filter(|path| path.is_none()).count()
    }
}

impl Files {
    /// The names of the files that must be there.
    fn names(&self) -> Vec<&str> {
        match self {
            Self::Idx(files) => files.iter().map(|file| file.name.as_str()).collect(),
            Self::Records(files) => files.names().collect(),
        }
    }

    /// The names under which a file may lie, the preferred first.
    fn spellings(&self, name: &str) -> Vec<String> {
        match self {
            Self::Idx(_) => idx_files::spellings(name).into(),
            Self::Records(_) => vec![name.to_owned()],
        }
    }
}

impl Source {
    /// Reads the data set from below `dir`, from whichever of [`Self::folders`] has all of its
    /// files. IDX files may be raw or compressed (`.gz`), and be spelt `…-idx3-ubyte` or
    /// `….idx3-ubyte`.
    ///
    /// The checksums are not asked for here: a changed copy is welcome as long as it is
    /// consistent, and one in IDX files may be shorter, too.
    ///
    /// # Errors
    /// [`Error::MissingFiles`] if no folder has all of them. Of IDX files: [`Error::OtherDataset`]
    /// if they are those of another known data set with the same names; whatever
    /// [`idx::read`](crate::idx::read) and [`idx::read_labels`](crate::idx::read_labels) find wrong
    /// in a file; [`Error::CountMismatch`], [`Error::ImageSize`] and [`Error::TooMany`] if they do
    /// not fit, which is found before their contents are read. Of
    /// [`RecordFiles`]: [`Error::Open`], [`Error::Read`], [`Error::RecordBytes`] and
    /// [`Error::FileLabel`].
    pub fn load(&self, dir: impl AsRef<Path>) -> Result<Split> {
        let dir = dir.as_ref();
        let found = self.find(dir);
        let paths: Option<Vec<&Path>> = found.files.iter().map(|path| path.as_deref()).collect();
        let Some(paths) = paths else {
            return Err(self.incomplete(dir, &found));
        };
        match &self.files {
            Files::Idx(files) => {
                let target = self.target(dir);
                idx_files::load(self, files, &paths, &found.folder, &target)
            }
            Files::Records(files) => record_files::load(self, files, &paths),
        }
    }

    /// As [`Self::load`]; if files are not there, they are first fetched from [`Self::mirrors`]
    /// into the first of [`Self::folders`] below `dir`, and their length and checksum checked.
    ///
    /// Of IDX files only those are fetched that are missing. [`RecordFiles`] come from one archive
    /// and all together: they replace those in that folder, since files from different copies of
    /// a data set may have the same images in both of its parts.
    ///
    /// # Errors
    /// As [`Self::load`], and [`Error::Download`] with each mirror's failure and a list of the
    /// files to get by hand.
    #[cfg(feature = "download")]
    pub fn load_or_download(&self, dir: impl AsRef<Path>, progress: Progress) -> Result<Split> {
        let dir = dir.as_ref();
        match self.load(dir) {
            Err(Error::MissingFiles { .. } | Error::OtherDataset { .. }) => {}
            loaded => return loaded,
        }
        let target = self.look_in(&self.target(dir));
        match &self.files {
            Files::Idx(files) => idx_files::fetch(files, &target, &self.mirrors, progress)?,
            Files::Records(files) => files.fetch(&self.mirrors, &target.folder, progress)?,
        }
        self.load(dir)
    }

    fn incomplete(&self, dir: &Path, found: &Found) -> Error {
        let names = self.files.names().into_iter().zip(&found.files);
        Error::MissingFiles {
            dataset: self.name.clone(),
            searched: self.searched(dir),
            missing: names
                .filter(|(_, path)| path.is_none())
                .map(|(name, _)| format!("`{name}`"))
                .collect(),
            folder: found.folder.clone(),
            archive: match &self.files {
                Files::Idx(_) => None,
                Files::Records(files) => Some(files.archive.name.clone()),
            },
        }
    }

    fn target(&self, dir: &Path) -> PathBuf {
        below(dir, self.folders.first().map_or("", String::as_str))
    }

    fn searched(&self, dir: &Path) -> Vec<PathBuf> {
        self.folders
            .iter()
            .map(|folder| below(dir, folder))
            .collect()
    }

    /// The first folder with all files, or else the one that lacks fewest, or else the target.
    fn find(&self, dir: &Path) -> Found {
        let mut best = self.look_in(&self.target(dir));
        for folder in self.searched(dir) {
            let found = self.look_in(&folder);
            if found.missing() < best.missing() {
                best = found;
            }
        }
        best
    }

    fn look_in(&self, folder: &Path) -> Found {
        let path_of = |name: &str| {
            self.files
                .spellings(name)
                .into_iter()
                .map(|name| folder.join(name))
                .find(|path| path.is_file())
        };
        Found {
            folder: folder.to_owned(),
            files: self.files.names().into_iter().map(path_of).collect(),
        }
    }
}

/// `dir/folder`; `dir` itself, without a slash behind, if `folder` is empty.
fn below(dir: &Path, folder: &str) -> PathBuf {
    if folder.is_empty() {
        dir.to_owned()
    } else {
        dir.join(folder)
    }
}
