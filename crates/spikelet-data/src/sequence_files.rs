//! Data sets of sequences in files, by name.

use std::path::{Path, PathBuf};

use spikelet_expr::DType;

use crate::error::{Error, Result};
use crate::field::{Field, Unlabeled};
use crate::named::{DataOptions, NamedDataset, Origin, no_sample_files};
use crate::sample::{Sample, SampleTensor};
use crate::split::Split;

/// A data set of sequences of one length. Every sample has the field `x`, `[T, C]`, and the field `labels`. A batch has them as
/// `[T, N, C]` and `[N]`, or `[T, N]` where each time step has a label.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SequenceFiles {
    pub name: &'static str,
    pub summary: &'static str,
    pub title: &'static str,
    pub origin: Origin,
    pub dtype: DType,
    /// The number of time steps T and of features C.
    pub shape: [usize; 2],
    /// Set where each time step has a label.
    pub unlabeled: Option<Unlabeled>,
    pub classes: fn() -> Vec<String>,
    pub splits: fn() -> Vec<String>,
    pub writes_into: fn(&Path) -> bool,
    /// The files with one sample each, if there are such files.
    pub sample_files: Option<SampleFiles>,
    pub read: fn(&DataOptions) -> Result<Split>,
}

/// Files with one sample each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleFiles {
    /// The endings of their names.
    pub endings: &'static [&'static str],
    /// Reads the elements of `x`.
    pub read: fn(&Path) -> Result<Vec<u8>>,
}

/// The splits of a data set with one.
pub(crate) fn one_split() -> Vec<String> {
    vec!["default".into()]
}

impl NamedDataset for SequenceFiles {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn title(&self) -> String {
        self.title.into()
    }

    fn origin(&self) -> Origin {
        self.origin
    }

    fn fields(&self, _: &DataOptions) -> Result<Vec<Field>> {
        let labels = match self.unlabeled {
            Some(unlabeled) => Field::step_labels(self.shape[0], unlabeled),
            None => Field::new("labels", DType::I64, []),
        };
        Ok(vec![
            Field::new("x", self.dtype, self.shape).sequence(),
            labels,
        ])
    }

    fn classes(&self, _: &DataOptions) -> Result<Vec<String>> {
        Ok((self.classes)())
    }

    fn splits(&self) -> Vec<String> {
        (self.splits)()
    }

    /// The files are read to tell.
    fn is_in(&self, folder: &Path) -> bool {
        // Files that are damaged are there, and their error is to be seen.
        let is_absent = |error: &Error| {
            matches!(
                error,
                Error::NoFiles { .. } | Error::MissingFiles { .. } | Error::OtherDataset { .. }
            )
        };
        let options = DataOptions {
            folder: folder.into(),
            ..DataOptions::default()
        };
        self.origin == Origin::Files && !(self.read)(&options).is_err_and(|error| is_absent(&error))
    }

    fn writes_into(&self, folder: &Path) -> bool {
        (self.writes_into)(folder)
    }

    fn sample_endings(&self) -> &'static [&'static str] {
        self.sample_files.map_or(&[], |files| files.endings)
    }

    fn read_sample(&self, path: &Path) -> Result<Sample<'static>> {
        let Some(SampleFiles { read, .. }) = self.sample_files else {
            return Err(no_sample_files(self, path));
        };
        Ok(Sample::new().with("x", SampleTensor::u8(&self.shape, read(path)?)))
    }

    fn read(&self, options: &DataOptions) -> Result<Split> {
        (self.read)(options)
    }
}

/// `dir` and its subfolders `folders`; `""` is `dir` itself.
pub(crate) fn folders(dir: &Path, folders: &[&str]) -> Vec<PathBuf> {
    let below = |folder: &&str| match folder.is_empty() {
        true => dir.to_owned(),
        false => dir.join(folder),
    };
    folders.iter().map(below).collect()
}

/// The first of `names` that is a file in one of these folders.
pub(crate) fn find_file(folders: &[PathBuf], names: &[&str]) -> Option<PathBuf> {
    let paths = |folder: &PathBuf| {
        names
            .iter()
            .map(|name| folder.join(name))
            .collect::<Vec<_>>()
    };
    folders.iter().flat_map(paths).find(|path| path.is_file())
}

/// An error in the arrays of a file.
pub(crate) fn wrong_arrays(path: &Path, problem: impl Into<String>) -> Error {
    Error::Format {
        path: path.to_owned(),
        offset: 0,
        problem: problem.into(),
        help: "this is another data set's file, or it is damaged; get it again",
    }
}
