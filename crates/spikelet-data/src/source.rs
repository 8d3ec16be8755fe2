//! A data set that lives in four IDX files: where to find them, what must be in them, where to
//! get them.

use std::path::{Path, PathBuf};

use crate::dataset::{Dataset, Split};
use crate::download::{self, Progress, RemoteFile};
use crate::error::{Error, Result};
use crate::{fashion_mnist, idx, mnist};

/// A data set of images and labels in four IDX files.
///
/// [`mnist::source`] and [`fashion_mnist::source`] are the known ones. The fields are public, so
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
    /// Height and width of an image.
    pub size: [usize; 2],
    /// Folders below the data folder in which to look, the most particular first; `""` is the data
    /// folder itself. Downloads go to the first.
    pub folders: Vec<String>,
    /// Training images, training labels, test images, test labels.
    pub files: [RemoteFile; 4],
    /// URLs of folders that have the files, compressed, in the order in which to try them.
    pub mirrors: Vec<String>,
}

/// A folder with what it has and lacks of the four files.
struct Found {
    folder: PathBuf,
    files: [Option<PathBuf>; 4],
}

impl Found {
    fn missing<'a>(&'a self, source: &'a Source) -> impl Iterator<Item = &'a RemoteFile> {
        self.files
            .iter()
            .zip(&source.files)
            .filter(|(path, _)| path.is_none())
            .map(|(_, file)| file)
    }
}

impl Source {
    /// Reads the data set from below `dir`, from whichever of [`Self::folders`] has all four
    /// files. Each may be raw or compressed (`.gz`), and be spelt `…-idx3-ubyte` or `….idx3-ubyte`.
    ///
    /// The checksums are not asked for here: a shortened or changed copy is welcome as long as it
    /// is consistent.
    ///
    /// # Errors
    /// [`Error::MissingFiles`] if no folder has all of them; [`Error::OtherDataset`] if it has
    /// those of another known data set with the same names; whatever [`idx::read`] and
    /// [`idx::read_labels`] find wrong in a file; [`Error::CountMismatch`] and
    /// [`Error::ImageSize`] if the files do not fit.
    pub fn load(&self, dir: &Path) -> Result<Split> {
        let found = self.find(dir);
        let [
            Some(train_images),
            Some(train_labels),
            Some(test_images),
            Some(test_labels),
        ] = &found.files
        else {
            return Err(Error::MissingFiles {
                dataset: self.name.clone(),
                searched: self.searched(dir),
                missing: found
                    .missing(self)
                    .map(|file| format!("`{}`", file.name))
                    .collect(),
                folder: found.folder,
            });
        };
        let test = self.read(test_images, test_labels)?;
        if let Some(other) = self.other_with_labels(&test.labels) {
            return Err(Error::OtherDataset {
                folder: found.folder,
                found: other.name,
                expected: self.name.clone(),
                target: self.target(dir),
            });
        }
        Split::new(self.read(train_images, train_labels)?, test)
    }

    /// As [`Self::load`]; files that are not there are first fetched from [`Self::mirrors`] into
    /// the first of [`Self::folders`] below `dir`, and their length and checksum checked.
    ///
    /// # Errors
    /// As [`Self::load`], and [`Error::Download`] with each mirror's failure and a list of the
    /// files to get by hand.
    pub fn load_or_download(&self, dir: &Path, progress: Progress) -> Result<Split> {
        match self.load(dir) {
            Err(Error::MissingFiles { .. } | Error::OtherDataset { .. }) => {}
            loaded => return loaded,
        }
        let target = self.look_in(&self.target(dir));
        let missing: Vec<_> = target.missing(self).collect();
        for (done, file) in missing.iter().enumerate() {
            download::fetch(file, &self.mirrors, &target.folder, progress).map_err(
                |mut error| {
                    error.wanted = missing[done..]
                        .iter()
                        .map(|file| file.name.clone())
                        .collect();
                    error
                },
            )?;
        }
        self.load(dir)
    }

    /// The known data set, not this one, whose test labels these are. Several data sets name their
    /// files as MNIST does, so that a folder easily passes for the wrong one.
    fn other_with_labels(&self, test_labels: &[u8]) -> Option<Self> {
        let count = u32::try_from(test_labels.len()).ok()?;
        let mut file = vec![0, 0, 8, 1];
        file.extend(count.to_be_bytes());
        file.extend(test_labels);
        let digest = download::sha256(&file);
        [mnist::source(), fashion_mnist::source()]
            .into_iter()
            .find(|other| other.name != self.name && other.files[3].sha256 == digest)
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
            if found.missing(self).count() < best.missing(self).count() {
                best = found;
            }
        }
        best
    }

    fn look_in(&self, folder: &Path) -> Found {
        let path_of = |file: &RemoteFile| {
            spellings(&file.name)
                .into_iter()
                .map(|name| folder.join(name))
                .find(|path| path.is_file())
        };
        let files = self.files.each_ref().map(path_of);
        Found {
            folder: folder.to_owned(),
            files,
        }
    }

    fn read(&self, images_path: &Path, labels_path: &Path) -> Result<Dataset> {
        let images = idx::read_images(images_path)?;
        let labels = idx::read_labels(labels_path, self.classes.len())?;
        let [count, height, width] = images.dims;
        if [height, width] != self.size {
            return Err(Error::ImageSize {
                path: images_path.to_owned(),
                dataset: self.name.clone(),
                found: [height, width],
                expected: self.size,
            });
        }
        if count != labels.len() {
            return Err(Error::CountMismatch {
                images_path: images_path.to_owned(),
                images: count,
                labels_path: labels_path.to_owned(),
                labels: labels.len(),
            });
        }
        let shape = [1, height, width];
        Dataset::new(&self.name, images.data, labels, shape, self.classes.clone())
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

/// A file's names, the preferred first: raw before compressed, which is slower to read.
fn spellings(name: &str) -> [String; 4] {
    let dotted = name.replacen("-idx", ".idx", 1);
    [
        name.to_owned(),
        dotted.clone(),
        format!("{name}.gz"),
        format!("{dotted}.gz"),
    ]
}
