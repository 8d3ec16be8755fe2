//! The identity of the data of a run.

use crate::hexadecimal::hexadecimal;
use crate::step::LABELS;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use spikelet_core::Result;
use spikelet_data::{DataLoader, Split};
use std::path::Path;

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
    /// The names of the classes, if they have names. Checkpoints of before may not have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// The absolute path of the data folder that was read, so that a resumed run and evaluations find it: see
    /// [`Self::usable_folder`]. It is no part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

impl DatasetId {
    /// The same with the absolute path of the data folder that was read.
    #[must_use]
    pub fn in_folder(self, folder: &Path) -> Self {
        let folder = std::path::absolute(folder).ok();
        Self {
            folder: folder.and_then(|folder| folder.into_os_string().into_string().ok()),
            ..self
        }
    }

    /// The data folder, if it exists. It is the word of a file that may be someone else's: it is read from only, and a path
    /// that is not absolute or cannot be printed as it is does not count.
    pub fn usable_folder(&self) -> Option<&Path> {
        let text = self.folder.as_deref()?;
        let is_plain = |c: char| !c.is_control() && !('\u{200b}'..='\u{2069}').contains(&c);
        let path = Path::new(text);
        (text.chars().all(is_plain) && path.is_absolute() && path.is_dir()).then_some(path)
    }

    /// The identity in a checkpoint beside that of the data of a run: without the folder, which may be another one, and with these
    /// names of classes where the checkpoint does not have them.
    pub(crate) fn beside(&self, run: &Self) -> Self {
        let classes = match self.classes.is_empty() {
            true => &run.classes,
            false => &self.classes,
        };
        Self {
            folder: None,
            classes: classes.clone(),
            ..self.clone()
        }
    }

    /// The identity of a data set, for a network that was not trained here.
    ///
    /// # Errors
    /// When samples cannot be read.
    pub fn of_split(data: &Split) -> Result<Self> {
        let [train_samples, test_samples] = data.sizes();
        Ok(Self {
            name: data.name().to_string(),
            train_samples,
            validation_samples: 0,
            test_samples,
            sha256: hexadecimal(&data.digest()?),
            classes: data.class_names().to_vec(),
            folder: None,
        })
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
            classes: train.dataset().class_names(LABELS).to_vec(),
            folder: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_used_if_it_is_plain_absolute_and_exists() {
        let folder = tempfile::tempdir().expect("a folder");
        let given = |text: &str| DatasetId {
            name: "MNIST".to_string(),
            train_samples: 1,
            validation_samples: 0,
            test_samples: 1,
            sha256: String::new(),
            classes: vec![],
            folder: Some(text.to_string()),
        };
        let text = folder.path().to_str().expect("UTF-8");
        assert_eq!(given(text).usable_folder(), Some(folder.path()));
        let odd = folder.path().join("a\u{1b}[2J\u{202e}");
        std::fs::create_dir(&odd).expect("a folder");
        for text in [odd.to_str().expect("UTF-8"), ".", "", "/nonexistent/data"] {
            assert_eq!(given(text).usable_folder(), None, "{text:?}");
        }
    }
}
