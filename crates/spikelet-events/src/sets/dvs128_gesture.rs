//! DVS128 Gesture: hand and arm gestures of 29 people in three kinds of light.
//!
//! A recording has the gestures of one person one after the other; a `_labels.csv` says the windows, of which each is
//! a sample. A class may occur twice in a recording, windows may be short, and they do not cover the recording. Times
//! stay those of the recording.
//!
//! Source: A. Amir et al., A Low Power, Fully Event-Based Gesture Recognition System, 2017.

use std::path::Path;

use super::{Download, EventSample, EventSet, Listing, SamplePart, Split, Walk};
use crate::error::{Error, ErrorKind, Result};
use crate::{Format, Options, Sensor, gesture_windows};

const SENSOR: Sensor = Sensor::new(128, 128);

const LISTS: [(&str, Split); 2] = [
    ("trials_to_train.txt", Split::Train),
    ("trials_to_test.txt", Split::Test),
];

pub(super) const SET: EventSet = EventSet {
    name: "dvs128-gesture",
    title: "DVS128 Gesture",
    sensor: SENSOR,
    classes: &[
        "hand clapping",
        "right hand wave",
        "left hand wave",
        "right arm clockwise",
        "right arm counter-clockwise",
        "left arm clockwise",
        "left arm counter-clockwise",
        "arm roll",
        "air drums",
        "air guitar",
        "other gestures",
    ],
    frames: "number=16",
    speakers: &[],
    has_labels: true,
    splits: &[Split::Train, Split::Test],
    layout: "DvsGesture/trials_to_train.txt, DvsGesture/trials_to_test.txt, and for each recording that they name \
             DvsGesture/user<number>_<light>.aedat and DvsGesture/user<number>_<light>_labels.csv",
    page: "https://research.ibm.com/interactive/dvsgesture",
    licence: "CC BY 4.0",
    // IBM's page needs a browser; the address is that of snnTorch.
    downloads: &[
        Download::new("DvsGesture.tar.gz", "8a5c71fb11e24e5ca5b11866ca6c00a1")
            .at("https://www.dropbox.com/s/cct5kyilhtsliup/DvsGesture.tar.gz?dl=1"),
    ],
    folders: &["DvsGesture", "extract/DvsGesture"],
    contains: &[LISTS[0].0, LISTS[1].0],
    options: Options {
        format: Some(Format::Aedat3),
        sensor: Some(SENSOR),
        orientation: None,
    },
    list,
};

fn list(walk: &Walk<'_>) -> Result<Listing> {
    let mut samples = vec![];
    for (list, split) in LISTS {
        let path = walk.path(&walk.base.join(list));
        if !path.exists() {
            continue;
        }
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| Error::from(ErrorKind::Open(error)).in_file(&path))?;
        for trial in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            append_trial(walk, split, trial, &mut samples)?;
        }
    }
    Ok(walk.listing(walk.set.class_names(), samples))
}

/// Appends the windows of a recording.
fn append_trial(
    walk: &Walk<'_>,
    split: Split,
    trial: &str,
    samples: &mut Vec<EventSample>,
) -> Result<()> {
    let file = walk.base.join(trial);
    let Some(stem) = trial.strip_suffix(".aedat").filter(|stem| is_name(stem)) else {
        return Err(walk.unexpected(&file, "a line that does not name an .aedat file"));
    };
    let labels = walk.base.join(format!("{stem}_labels.csv"));
    for needed in [&file, &labels] {
        if !walk.path(needed).exists() {
            return Err(walk.unexpected(needed, "a list that names it, and no such file"));
        }
    }
    let windows = gesture_windows(walk.path(&labels))?;
    samples.extend(windows.into_iter().map(|window| EventSample {
        part: SamplePart::Window {
            start: window.start,
            end: window.end,
        },
        ..EventSample::of_file(split, file.clone(), Some(window.label.into()))
    }));
    Ok(())
}

/// Whether a path has one component, so that it stays in its folder.
fn is_name(path: &str) -> bool {
    Path::new(path).file_name().is_some_and(|name| name == path)
}
