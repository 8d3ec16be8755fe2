//! Spiking Heidelberg Digits: spoken digits in English and German, through a model of the cochlea.
//!
//! There is no validation set: see [`EventDataset::leave_speakers_out`](crate::EventDataset::leave_speakers_out).
//! Speakers 4 and 5 are in the test set only.
//!
//! Source: B. Cramer et al., The Heidelberg spiking data sets for the systematic evaluation of spiking neural networks,
//! 2020.

use super::{Download, EventSet, Listing, Split, Walk};
#[cfg(feature = "hdf5")]
use super::{EventSample, SamplePart};
use crate::error::Result;
#[cfg(feature = "hdf5")]
use crate::spiking_audio::SpikingAudioFile;
use crate::{Options, Sensor};

/// The channels of the cochlea.
pub(super) const SENSOR: Sensor = Sensor::new(700, 1);

pub(super) const SET: EventSet = EventSet {
    name: "shd",
    title: "Spiking Heidelberg Digits",
    sensor: SENSOR,
    classes: &[
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "null",
        "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun",
    ],
    frames: "sound",
    speakers: &[0, 1, 2, 3, 6, 7, 8, 9, 10, 11],
    has_labels: true,
    splits: &[Split::Train, Split::Test],
    layout: "shd_train.h5 and shd_test.h5",
    page: "https://zenkelab.org/datasets/",
    licence: "CC BY 4.0",
    downloads: &[
        Download::new("shd_train.h5.zip", "f3252aeb598ac776c1b526422d90eecb")
            .at("https://zenkelab.org/datasets/shd_train.h5.zip"),
        Download::new("shd_test.h5.zip", "1503a5064faa34311c398fb0a1ed0a6f")
            .at("https://zenkelab.org/datasets/shd_test.h5.zip"),
    ],
    folders: &["SHD", "extract"],
    contains: &["shd_train.h5", "shd_test.h5"],
    options: Options {
        format: None,
        sensor: None,
        orientation: None,
    },
    list: |walk| {
        let files = [("shd_train.h5", Split::Train), ("shd_test.h5", Split::Test)];
        list(walk, walk.set.class_names(), &files)
    },
};

/// Lists the recordings of files of many.
#[cfg(not(feature = "hdf5"))]
pub(super) fn list(_: &Walk<'_>, _: Vec<String>, _: &[(&str, Split)]) -> Result<Listing> {
    let problem = "the crate was built without the feature hdf5".into();
    Err(crate::ErrorKind::UnknownFormat { problem }.into())
}

/// Lists the recordings of files of many.
#[cfg(feature = "hdf5")]
pub(super) fn list(
    walk: &Walk<'_>,
    classes: Vec<String>,
    files: &[(&str, Split)],
) -> Result<Listing> {
    let mut samples = vec![];
    for &(file, split) in files {
        let file = walk.base.join(file);
        let path = walk.path(&file);
        if !path.exists() {
            continue;
        }
        let audio = SpikingAudioFile::open(&path, classes.len() as i64)?;
        let speakers = audio.speakers.as_deref();
        samples.extend(
            audio
                .labels
                .iter()
                .enumerate()
                .map(|(at, &label)| EventSample {
                    part: SamplePart::Index(at),
                    speaker: speakers.map(|speakers| speakers[at]),
                    ..EventSample::of_file(split, file.clone(), Some(label as u32))
                }),
        );
    }
    Ok(walk.listing(classes, samples))
}
