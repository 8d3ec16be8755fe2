//! QTDB: electrocardiograms as events, with a class for each time step.
//!
//! 618 training and 141 test sequences of 1,301 steps and 4 channels: ON and OFF events of two leads, level-crossing
//! encoded by Yin, Corradi and Bohté from the recordings of PhysioNet's QT Database.
//!
//! | field | type | shape | batch | |
//! |---|---|---|---|---|
//! | `x` | u8 | `[1301, 4]` | `[1301, N, 4]` | 0 or 1 |
//! | `labels` | i64 | `[1301]` | `[1301, N]` | 0 … 5, or [`UNLABELED`] |
//!
//! One of these is read, from `qtdb` in the data folder or from the data folder itself:
//!
//! | files | arrays |
//! |---|---|
//! | `QTDB_train.mat` and `QTDB_test.mat`, as published | `x` `[n, T, 4]`, `y` `[n, T, 6]`, one-hot |
//! | `qtdb.safetensors`, `qtdb.safetensors.xz` | `train.x`, `test.x` i8 `[n, T, 4]`, `train.label`, `test.label` u8 `[n, T]` |
//!
//! The published files have −1 in channel 0 of the last step of every sample, which marks its end. It is read as 0.
//! Steps whose one-hot row is all zero (8.2 % of training, 10.4 % of test) are unlabeled; the published accuracies
//! count them as class 0, which is the `argmax` of such a row.
//!
//! Source: B. Yin, F. Corradi, S. M. Bohté, *Accurate and efficient time-domain classification with adaptive spiking
//! recurrent neural networks*, Nature Machine Intelligence 3 (2021), files in
//! <https://github.com/byin-cwi/Efficient-spiking-networks> (MIT license); P. Laguna et al., *A database for evaluation of
//! algorithms for measurement of QT and other waveform intervals in the ECG*, Computers in Cardiology 24 (1997), PhysioNet
//! (ODC-By 1.0).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use spikelet_expr::DType;

use crate::error::{Error, Result};
use crate::field::{Field, Unlabeled};
use crate::mat5;
use crate::named::Origin;
use crate::sequence_files::{SequenceFiles, find_file, folders, one_split, wrong_arrays};
use crate::sets::{InMemory, read_arrays};
use crate::split::Split;

pub(crate) const ENTRY: SequenceFiles = SequenceFiles {
    name: "qtdb",
    summary: "Electrocardiograms as events, with a class for each time step",
    title: NAME,
    origin: Origin::Files,
    dtype: DType::U8,
    shape: [1301, CHANNELS],
    unlabeled: Some(LABELS),
    classes: || CLASSES.map(String::from).into(),
    splits: one_split,
    writes_into: |_| false,
    sample_files: None,
    read: |options| load(&options.folder),
};

/// The label of time steps without a class.
pub const UNLABELED: i64 = 255;

/// Published accuracies count unlabeled steps as class 0.
const LABELS: Unlabeled = Unlabeled {
    label: UNLABELED,
    counted_as: Some(0),
};

const NAME: &str = "QTDB";
const CLASSES: [&str; 6] = ["P", "PQ", "QR", "RS", "ST", "TP"];
const CHANNELS: usize = 4;

const PACKED: [&str; 2] = ["qtdb.safetensors", "qtdb.safetensors.xz"];
const MAT: [&str; 2] = ["QTDB_train.mat", "QTDB_test.mat"];

/// The sequences of one part.
struct Part {
    steps: usize,
    x: Vec<u8>,
    labels: Vec<i64>,
}

/// Reads QTDB from a subfolder of `dir`. It has no validation part; see [`Split::parts`].
///
/// # Errors
/// [`Error::NoFiles`] if no folder has the files; [`Error::Open`], [`Error::Read`] or [`Error::Format`] if they cannot be
/// read, are damaged or have other shapes or values.
pub fn load(dir: impl AsRef<Path>) -> Result<Split> {
    let folders = folders(dir.as_ref(), &["qtdb", ""]);
    let pair = |folder: &PathBuf| {
        let paths = MAT.map(|name| folder.join(name));
        paths.iter().all(|path| path.is_file()).then_some(paths)
    };
    let [train, test] = if let Some(paths) = folders.iter().find_map(pair) {
        let [train, test] = paths.map(|path| read_mat(&path));
        [train?, test?]
    } else if let Some(path) = find_file(&folders, &PACKED) {
        read_packed(&path)?
    } else {
        return Err(Error::NoFiles {
            dataset: NAME.into(),
            files: vec![
                MAT.map(|name| format!("`{name}`")).join(" and "),
                PACKED[0].into(),
            ],
            searched: folders,
            help: "get `data/QTDB_train.mat` and `data/QTDB_test.mat` of \
                   https://github.com/byin-cwi/Efficient-spiking-networks",
        });
    };
    Ok(Split::new(train.dataset()?, test.dataset()?))
}

/// The numbers of samples and of time steps of inputs and labels of these shapes; `classes` is the axis of one-hot
/// labels.
fn sizes(
    path: &Path,
    x: &[usize],
    labels: &[usize],
    classes: Option<usize>,
) -> Result<(usize, usize)> {
    if let &[n, steps, CHANNELS] = x
        && n > 0
        && steps > 0
        && [&[n, steps][..], classes.as_slice()].concat() == labels
    {
        return Ok((n, steps));
    }
    let classes = classes.map_or(String::new(), |classes| format!(", {classes}"));
    let problem = format!(
        "inputs of shape {x:?} and labels of shape {labels:?}; [n, T, 4] and [n, T{classes}] are expected"
    );
    Err(wrong_arrays(path, problem))
}

impl Part {
    /// The inputs, −1 only as the mark of the end, and the labels of a part.
    fn new(
        path: &Path,
        (samples, steps): (usize, usize),
        inputs: impl Iterator<Item = i64>,
        labels: Vec<i64>,
    ) -> Result<Self> {
        let mut x = Vec::with_capacity(samples * steps * CHANNELS);
        for (at, input) in inputs.enumerate() {
            let is_end = at % (steps * CHANNELS) == (steps - 1) * CHANNELS;
            match input {
                0 | 1 => x.push(input as u8),
                -1 if is_end => x.push(0),
                _ => {
                    let problem = format!("the input {input} at index {at}; events are 0 or 1");
                    return Err(wrong_arrays(path, problem));
                }
            }
        }
        let known = |label: &i64| *label == UNLABELED || (0..CLASSES.len() as i64).contains(label);
        if let Some(at) = labels.iter().position(|label| !known(label)) {
            let problem = format!("the label {} at index {at}; classes are 0 to 5", labels[at]);
            return Err(wrong_arrays(path, problem));
        }
        Ok(Self { steps, x, labels })
    }

    fn dataset(self) -> Result<Arc<InMemory>> {
        let data = InMemory::new(NAME)
            .with(
                Field::new("x", DType::U8, [self.steps, CHANNELS]).sequence(),
                self.x,
            )?
            .with(Field::step_labels(self.steps, LABELS), self.labels)?
            .classes("labels", CLASSES.map(String::from).into());
        Ok(Arc::new(data))
    }
}

fn read_packed(path: &Path) -> Result<[Part; 2]> {
    let names = ["train.x", "train.label", "test.x", "test.label"];
    let [train_x, train_labels, test_x, test_labels] = read_arrays(path, names)?;
    let part = |x: crate::SampleTensor<'_>, labels: crate::SampleTensor<'_>| {
        let sizes = sizes(path, &x.shape, &labels.shape, None)?;
        let (Some(x), Some(labels)) = (x.as_i64(), labels.as_u8()) else {
            return Err(wrong_arrays(
                path,
                "the inputs are not i8, or the labels are not u8",
            ));
        };
        let labels = labels.iter().map(|&label| i64::from(label)).collect();
        Part::new(path, sizes, x.iter().copied(), labels)
    };
    Ok([part(train_x, train_labels)?, part(test_x, test_labels)?])
}

fn read_mat(path: &Path) -> Result<Part> {
    let [x, y] = mat5::read(path, ["x", "y"])?;
    let sizes = sizes(path, &x.shape, &y.shape, Some(CLASSES.len()))?;
    let mut labels = Vec::with_capacity(sizes.0 * sizes.1);
    for (at, row) in y.values.chunks(CLASSES.len()).enumerate() {
        let ones = row.iter().filter(|&&value| value == 1.0).count();
        if ones > 1 || row.iter().any(|&value| value != 0.0 && value != 1.0) {
            return Err(wrong_arrays(
                path,
                format!("row {at} of the labels is {row:?}, not one-hot"),
            ));
        }
        let class = row.iter().position(|&value| value == 1.0);
        labels.push(class.map_or(UNLABELED, |class| class as i64));
    }
    // Other values than integers become one that is no event.
    let input = |value: f64| {
        if value.fract() == 0.0 {
            value as i64
        } else {
            i64::MAX
        }
    };
    Part::new(path, sizes, x.values.into_iter().map(input), labels)
}
