//! The splits of event data sets by name.

use spikelet_events::pack::SampleInfo;
use spikelet_events::{ClassOrder, Split, split_classes};

use super::recordings::Recordings;
use crate::error::{Error, Result};

/// The parts that the files name.
const DEFAULT: &str = "default";
/// The first 90 % of each class train, in the order of the files' names: SpikingJelly's.
const LISTED: &str = "first-90";
/// 90 % of each class train, in a random order of this seed.
const RANDOM: &str = "random-90-seed-";
/// As the files say, but a speaker of the training part is for validation.
const VALIDATED_BY: &str = "validated-by-speaker-";

/// The share of the training part where samples are divided class by class.
const RATIO: f64 = 0.9;
/// The number of random splits.
const SEEDS: u64 = 10;

/// The indices of each part.
#[derive(Debug)]
pub(super) struct Parts {
    pub train: Vec<usize>,
    pub validation: Vec<usize>,
    pub test: Vec<usize>,
}

/// The names of the splits of a data set with these parts and with these speakers in training.
pub(super) fn names(parts: &[Split], speakers: &[i64]) -> Vec<String> {
    if parts.contains(&Split::Train) {
        let of = |speaker: &i64| format!("{VALIDATED_BY}{speaker}");
        return [DEFAULT.to_string()]
            .into_iter()
            .chain(speakers.iter().map(of))
            .collect();
    }
    [LISTED.to_string()].into_iter().chain(random()).collect()
}

/// The names of the splits of one's own recordings. The default is that of their folders, or else [`LISTED`].
pub(super) fn own_names() -> Vec<String> {
    [DEFAULT.to_string()].into_iter().chain(random()).collect()
}

fn random() -> impl Iterator<Item = String> {
    (0..SEEDS).map(|seed| format!("{RANDOM}{seed}"))
}

/// The parts of a split of this name, which is one of [`names`]. Own recordings without a folder for testing have those of
/// sets without parts.
pub(super) fn parts(recordings: &Recordings, split: &str) -> Result<Parts> {
    let samples = &recordings.samples;
    let having = |part: Split| -> Vec<usize> {
        let own = |index: &usize| samples[*index].split == part;
        (0..samples.len()).filter(own).collect()
    };
    let mut parts = Parts {
        train: having(Split::Train),
        validation: having(Split::Valid),
        test: having(Split::Test),
    };
    let by_class = |order| {
        let labels: Vec<_> = samples.iter().map(|sample| sample.label).collect();
        let (train, test) = split_classes(&labels, RATIO, order);
        Parts {
            train,
            validation: vec![],
            test,
        }
    };
    // ES-ImageNet, as ImageNet, is tested on its validation samples.
    if parts.test.is_empty() {
        parts.test = std::mem::take(&mut parts.validation);
    }
    if let Some(speaker) = split.strip_prefix(VALIDATED_BY) {
        let is_own = |info: &SampleInfo| info.speaker.is_some_and(|s| s.to_string() == speaker);
        let own = parts.train.iter().copied();
        (parts.validation, parts.train) = own.partition(|&index| is_own(&samples[index]));
        if parts.validation.is_empty() {
            let mut known: Vec<i64> = samples.iter().filter_map(|sample| sample.speaker).collect();
            known.sort_unstable();
            known.dedup();
            let known = known
                .iter()
                .map(|speaker| format!("{VALIDATED_BY}{speaker}"));
            return Err(Error::UnknownSplit {
                dataset: recordings.name.clone(),
                given: split.into(),
                known: known.collect(),
            });
        }
    } else if let Some(seed) = split.strip_prefix(RANDOM) {
        parts = by_class(ClassOrder::Random(seed.parse().unwrap_or(0)));
    } else if split == LISTED || parts.test.is_empty() && parts.train.is_empty() {
        parts = by_class(ClassOrder::Listed);
    }
    if parts.train.is_empty() || parts.test.is_empty() {
        return Err(Error::FewRecordings {
            dataset: recordings.name.clone(),
            len: samples.len(),
            classes: recordings.classes.len(),
            train: parts.train.len(),
            test: parts.test.len(),
        });
    }
    Ok(parts)
}
