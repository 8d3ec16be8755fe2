//! Data sets in files: their folders, formats and mirrors.

mod idx_files;
mod record_files;

use std::path::{Path, PathBuf};

use spikelet_expr::DType;

use crate::error::{Error, Result};
use crate::field::Field;
use crate::named::{DataOptions, NamedDataset};
#[cfg(feature = "download")]
use crate::progress::Progress;
use crate::remote_file::RemoteFile;
use crate::split::Split;

pub use record_files::RecordFiles;

/// A data set of images and labels in files.
///
/// [`mnist::source`](crate::mnist::source), [`fashion_mnist::source`](crate::fashion_mnist::source)
/// and [`cifar10::source`](crate::cifar10::source) are built in. A program can change the fields, for example to
/// add a mirror:
///
/// ```no_run
/// use spikelet_data::{Progress, mnist};
///
/// let mut source = mnist::source();
/// source.mirrors.insert(0, "http://files.example.org/mnist".into());
/// let split = source.load_or_download("data", Progress::Bar)?;
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name of the data set.
    pub name: String,
    /// The name of each class.
    pub classes: Vec<String>,
    /// The channels, height and width of an image.
    pub shape: [usize; 3],
    /// The subfolders of the data folder that are searched, in this order; `""` is the data folder itself.
    /// Downloads are written to the first.
    pub folders: Vec<String>,
    /// The files and their format.
    pub files: Files,
    /// The URLs of folders with the downloads, in the order of the attempts.
    pub mirrors: Vec<String>,
}

/// The files of a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Files {
    /// IDX files of gray images: training images, training labels, test images, test labels. Each is a
    /// compressed file on the mirrors.
    Idx([RemoteFile; 4]),
    /// Files of labeled images. They are in one archive on the mirrors.
    Records(RecordFiles),
}

/// A data set of images in files, by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageFiles {
    pub name: &'static str,
    pub summary: &'static str,
    pub source: fn() -> Source,
}

impl NamedDataset for ImageFiles {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn title(&self) -> String {
        (self.source)().name
    }

    fn fields(&self, _: &DataOptions) -> Result<Vec<Field>> {
        Ok(vec![
            Field::image("images", (self.source)().shape),
            Field::new("labels", DType::I64, []),
        ])
    }

    fn classes(&self, _: &DataOptions) -> Result<Vec<String>> {
        Ok((self.source)().classes)
    }

    fn is_in(&self, folder: &Path) -> bool {
        (self.source)().is_in(folder)
    }

    fn read(&self, options: &DataOptions) -> Result<Split> {
        let source = (self.source)();
        #[cfg(feature = "download")]
        if options.download {
            return source.load_or_download(&options.folder, options.progress);
        }
        source.load(&options.folder)
    }
}

/// A folder with the paths of the files in it.
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
    /// The names of the required files.
    fn names(&self) -> Vec<&str> {
        match self {
            Self::Idx(files) => files.iter().map(|file| file.name.as_str()).collect(),
            Self::Records(files) => files.names().collect(),
        }
    }

    /// The accepted names of a file, the preferred one first.
    fn spellings(&self, name: &str) -> Vec<String> {
        match self {
            Self::Idx(_) => idx_files::spellings(name).into(),
            Self::Records(_) => vec![name.to_owned()],
        }
    }
}

impl Source {
    /// Reads the data set from the first of [`Self::folders`] in `dir` that has all files. IDX files may be
    /// raw or compressed (`.gz`) and named `…-idx3-ubyte` or `….idx3-ubyte`.
    ///
    /// The checksums are not compared: a modified copy is accepted if it is consistent. Modified IDX files may
    /// have fewer images.
    ///
    /// # Errors
    /// [`Error::MissingFiles`] if no folder has all files. For IDX files: [`Error::OtherDataset`] if they are
    /// those of another known data set with the same file names; the errors of [`idx::read`](crate::idx::read)
    /// and [`idx::read_labels`](crate::idx::read_labels); [`Error::CountMismatch`], [`Error::ImageSize`] and
    /// [`Error::TooMany`] if the files do not match, which is checked before the contents are read. For
    /// [`RecordFiles`]: [`Error::Open`], [`Error::Read`], [`Error::RecordBytes`] and [`Error::FileLabel`].
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

    /// Whether all files are in one of [`Self::folders`] in `dir`, and are not known to be those of another data set.
    #[must_use]
    pub fn is_in(&self, dir: impl AsRef<Path>) -> bool {
        let found = self.find(dir.as_ref());
        let paths: Option<Vec<&Path>> = found.files.iter().map(|path| path.as_deref()).collect();
        paths.is_some_and(|paths| match &self.files {
            Files::Idx(_) => !idx_files::is_of_another(self, &paths),
            Files::Records(_) => true,
        })
    }

    /// As [`Self::load`], but missing files are first downloaded from [`Self::mirrors`] to the first of
    /// [`Self::folders`] in `dir`, and their lengths and checksums are checked.
    ///
    /// Only missing IDX files are downloaded. [`RecordFiles`] are in one archive: all files in the folder are
    /// replaced, since files of different copies of a data set may have the same images in the training and
    /// test parts.
    ///
    /// # Errors
    /// As [`Self::load`], and [`Error::Download`] with the failure of each mirror and the files to get by other
    /// means.
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

    /// The folder with the fewest missing files; the target if no file is found.
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

/// `dir/folder`, or `dir` without a trailing slash if `folder` is empty.
fn below(dir: &Path, folder: &str) -> PathBuf {
    if folder.is_empty() {
        dir.to_owned()
    } else {
        dir.join(folder)
    }
}
