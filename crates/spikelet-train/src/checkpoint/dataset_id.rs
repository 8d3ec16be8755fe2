//! The identity of the data of a run.

use crate::hexadecimal::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use spikelet_core::Result;
use spikelet_data::{DataLoader, Split};

/// The identity of the data of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetId {
    /// The name of the training set.
    pub name: String,
    /// The number of training samples, without validation samples.
    pub train_samples: usize,
    /// The number of validation samples.
    pub validation_samples: usize,
    /// The number of test samples.
    pub test_samples: usize,
    /// A SHA-256 digest of the data, in hexadecimal digits.
    pub sha256: String,
    /// The names of the classes, if only the files of the data set have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
}

impl DatasetId {
    /// The identity of a data set of which `train_samples` are left after the validation images are held out.
    pub(crate) fn of_split(data: &Split, train_samples: usize) -> Self {
        Self {
            name: data.train.name.clone(),
            train_samples,
            validation_samples: data.train.len() - train_samples,
            test_samples: data.test.len(),
            sha256: hexadecimal(&data.digest()),
            classes: vec![],
        }
    }

    /// The identity of the data of loaders.
    pub(crate) fn of_loaders(
        train: &DataLoader,
        validation: Option<&DataLoader>,
        test: Option<&DataLoader>,
    ) -> Result<Self> {
        let mut digest = Sha256::new();
        for loader in [Some(train), validation, test] {
            match loader {
                Some(loader) => digest.update(loader.dataset().digest()?),
                None => digest.update([0; 32]),
            }
        }
        let samples = |loader: Option<&DataLoader>| loader.map_or(0, |l| l.dataset().len());
        Ok(Self {
            name: train.dataset().name().to_string(),
            train_samples: train.dataset().len(),
            validation_samples: samples(validation),
            test_samples: samples(test),
            sha256: hexadecimal(&digest.finalize()),
            classes: vec![],
        })
    }
}
