//! Braille letters read by a fingertip: 256 steps of 5 ms and 12 channels, the numbers of events of its touch sensors.
//!
//! Seven classes: a blank and the letters A, E, I, O, U and Y. [`load`] reads the recordings;
//! [`synthetic_braille`](crate::synthetic_braille) generates sequences of the same shape.
//!
//! | field | type | shape | batch | |
//! |---|---|---|---|---|
//! | `x` | f32 | `[256, 12]` | `[256, N, 12]` | numbers of events |
//! | `labels` | i64 | `[]` | `[N]` | 0 … 6 |
//!
//! `braille/braille.safetensors` or `braille/braille.npz` in the data folder has the arrays `train.x`, `validation.x` and
//! `test.x`, f32 `[n, T, 12]`, and `train.labels`, `validation.labels` and `test.labels`, i64 `[n]`. The files as published
//! (`ds_train.pt`, `ds_val.pt`, `ds_test.pt`) hold a class of Python, which only Python reads:
//!
//! ```python
//! import torch
//! from safetensors.torch import save_file
//!
//! tensors = {}
//! for part, name in [("train", "train"), ("validation", "val"), ("test", "test")]:
//!     x, labels = torch.load(f"ds_{name}.pt", weights_only=False).tensors
//!     tensors[f"{part}.x"], tensors[f"{part}.labels"] = x.float().contiguous(), labels.long()
//! save_file(tensors, "braille.safetensors")
//! ```
//!
//! Source: S. F. Müller-Cleve et al., *Braille letter reading: A benchmark for spatio-temporal pattern recognition on
//! neuromorphic hardware*, Frontiers in Neuroscience 16:951164, 2022 (data: Zenodo 7050094); the seven letters and the
//! division into parts are those of J. E. Pedersen et al., *Neuromorphic intermediate representation*, Nature
//! Communications 15:8122, 2024.

use std::path::Path;
use std::sync::Arc;

use spikelet_expr::DType;

use crate::error::{Error, Result};
use crate::field::Field;
use crate::named::Origin;
use crate::sample::SampleTensor;
use crate::sequence_files::{SequenceFiles, find_file, folders, one_split, wrong_arrays};
use crate::sets::{InMemory, read_arrays};
use crate::split::Split;

pub(crate) const ENTRY: SequenceFiles = SequenceFiles {
    name: "braille",
    summary: "Braille letters read by a fingertip, as events of 12 touch sensors",
    title: NAME,
    origin: Origin::Files,
    dtype: DType::F32,
    shape: [STEPS, CHANNELS],
    unlabeled: None,
    classes: || CLASSES.map(String::from).into(),
    splits: one_split,
    writes_into: |_| false,
    sample_files: None,
    read: |options| load(&options.folder),
};

/// The classes, in the order of their labels.
pub const CLASSES: [&str; 7] = ["blank", "A", "E", "I", "O", "U", "Y"];

/// The number of touch sensors.
pub const CHANNELS: usize = 12;

/// The number of time steps.
pub const STEPS: usize = 256;

const NAME: &str = "Braille";
const FILES: [&str; 3] = [
    "braille.safetensors",
    "braille.safetensors.xz",
    "braille.npz",
];

/// The inputs and labels of a part.
pub(crate) struct Part {
    pub(crate) steps: usize,
    /// `[n, steps, CHANNELS]`.
    pub(crate) x: Vec<f32>,
    pub(crate) labels: Vec<i64>,
}

impl Part {
    pub(crate) fn dataset(self, name: &str) -> Result<Arc<InMemory>> {
        let x = Field::new("x", DType::F32, [self.steps, CHANNELS]).sequence();
        let data = InMemory::new(name)
            .with(x, self.x)?
            .with(Field::new("labels", DType::I64, []), self.labels)?
            .classes("labels", CLASSES.map(String::from).into());
        Ok(Arc::new(data))
    }
}

/// The parts as they are used for training.
pub(crate) fn split(name: &str, [train, validation, test]: [Part; 3]) -> Result<Split> {
    let parts = Split::new(train.dataset(name)?, test.dataset(name)?);
    Ok(parts.with_validation(Some(validation.dataset(name)?)))
}

/// Reads the recordings from the folder `braille` in `dir`, or from `dir` itself.
///
/// # Errors
/// [`Error::NoFiles`] if no folder has the file; [`Error::Open`], [`Error::Read`] or [`Error::Format`] if it cannot be read,
/// is damaged or has other shapes or values.
pub fn load(dir: impl AsRef<Path>) -> Result<Split> {
    let folders = folders(dir.as_ref(), &["braille", ""]);
    let Some(path) = find_file(&folders, &FILES) else {
        return Err(Error::NoFiles {
            dataset: NAME.into(),
            files: vec![FILES[0].into(), FILES[2].into()],
            searched: folders,
            help: "get the files of `paper/03_rnn/data` of https://github.com/neuromorphs/NIR and write their arrays to \
                   one file, as the documentation of the data set shows; `synthetic-braille` needs no files",
        });
    };
    let names = [
        "train.x",
        "train.labels",
        "validation.x",
        "validation.labels",
        "test.x",
        "test.labels",
    ];
    let [train_x, train, validation_x, validation, test_x, test] = read_arrays(&path, names)?;
    split(
        NAME,
        [
            part(&path, &train_x, &train)?,
            part(&path, &validation_x, &validation)?,
            part(&path, &test_x, &test)?,
        ],
    )
}

fn part(path: &Path, x: &SampleTensor<'_>, labels: &SampleTensor<'_>) -> Result<Part> {
    let (&[samples, steps, CHANNELS], &[count]) = (&*x.shape, &*labels.shape) else {
        let problem = format!(
            "inputs of shape {:?} and labels of shape {:?}; [n, T, {CHANNELS}] and [n] are expected",
            x.shape, labels.shape
        );
        return Err(wrong_arrays(path, problem));
    };
    if samples == 0 || samples != count || steps != STEPS {
        let problem = format!(
            "{samples} inputs of {steps} steps and {count} labels; as many inputs as labels, of {STEPS} steps, are expected"
        );
        return Err(wrong_arrays(path, problem));
    }
    let (Some(x), Some(labels)) = (x.as_f32(), labels.as_i64()) else {
        return Err(wrong_arrays(
            path,
            "the inputs are not f32, or the labels are not i64",
        ));
    };
    if let Some(at) = x.iter().position(|x| !x.is_finite()) {
        return Err(wrong_arrays(
            path,
            format!("the input {} at index {at} is not finite", x[at]),
        ));
    }
    if let Some(at) = labels
        .iter()
        .position(|&label| !(0..CLASSES.len() as i64).contains(&label))
    {
        let problem = format!(
            "the label {} at index {at}; classes are 0 to {}",
            labels[at],
            CLASSES.len() - 1
        );
        return Err(wrong_arrays(path, problem));
    }
    Ok(Part {
        steps,
        x: x.to_vec(),
        labels: labels.to_vec(),
    })
}
