//! ASL-DVS: 24 letters of American Sign Language before a DAVIS240C, without the moving j and z.
//!
//! 4,200 recordings of about 100 ms a letter. Coordinates are those of the files; SpikingJelly turns both axes, tonic
//! the rows. There is no official split.
//!
//! Source: Y. Bi et al., Graph-Based Object Classification for Neuromorphic Vision Sensing, 2019.

use super::{Download, EventSet, Split};
use crate::{Format, Options, Sensor};

const SENSOR: Sensor = Sensor::new(240, 180);

const LETTERS: &[&str] = &[
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t",
    "u", "v", "w", "x", "y",
];

pub(super) const SET: EventSet = EventSet {
    name: "asl-dvs",
    title: "ASL-DVS",
    sensor: SENSOR,
    classes: LETTERS,
    frames: "number=10",
    speakers: &[],
    has_labels: true,
    splits: &[Split::All],
    layout: "<letter>/<name>.mat, with the archives inside the archive unpacked as well",
    page: "https://github.com/PIX2NVS/NVS2Graph",
    licence: "not stated",
    // Packed anew for each download: its checksum varies.
    downloads: &[Download::without_checksum("ICCV2019_DVS_dataset.zip")],
    folders: &["ASLDVS", "ICCV2019_DVS_dataset", "extract"],
    contains: LETTERS,
    options: Options {
        format: Some(Format::Mat5),
        sensor: Some(SENSOR),
        orientation: None,
    },
    list: |walk| {
        let classes = walk.set.class_names();
        let mut samples = vec![];
        walk.append_classes(&walk.base, Split::All, &classes, "mat", &mut samples)?;
        Ok(walk.listing(classes, samples))
    },
};
