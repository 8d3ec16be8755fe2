//! Gen1: 39 hours of driving before an ATIS, with boxes around cars and pedestrians.
//!
//! Files of 60 s, 750 GB in all. The boxes are beside them, in `<name>_bbox.npy`: samples have no label.
//!
//! Source: P. de Tournemire et al., A Large Scale Event-based Detection Dataset for Automotive, 2020.

use super::{Download, EventSample, EventSet, Split};
use crate::{Format, Options, Sensor};

const SENSOR: Sensor = Sensor::new(304, 240);

const SPLITS: [(&str, Split); 3] = [
    ("train", Split::Train),
    ("val", Split::Valid),
    ("test", Split::Test),
];

pub(super) const SET: EventSet = EventSet {
    name: "gen1",
    title: "Gen1",
    sensor: SENSOR,
    classes: &[],
    frames: "time-windows window=50000",
    speakers: &[],
    has_labels: false,
    splits: &[Split::Train, Split::Valid, Split::Test],
    layout: "train/<name>_td.dat, val/<name>_td.dat and test/<name>_td.dat, each with <name>_bbox.npy",
    page: "https://www.prophesee.ai/2020/01/24/prophesee-gen1-automotive-detection-dataset/",
    licence: "Prophesee's, for research",
    downloads: &[Download::without_checksum(
        "detection_dataset_duration_60s_ratio_1.0",
    )],
    folders: &["detection_dataset_duration_60s_ratio_1.0"],
    contains: &[SPLITS[0].0, SPLITS[1].0, SPLITS[2].0],
    options: Options {
        format: Some(Format::Dat),
        sensor: Some(SENSOR),
        orientation: None,
    },
    list: |walk| {
        let mut samples = vec![];
        for (name, split) in SPLITS {
            let folder = walk.base.join(name);
            if walk.path(&folder).is_dir() {
                let files = walk.files(&folder, "dat")?.into_iter();
                samples.extend(files.map(|file| EventSample::of_file(split, file, None)));
            }
        }
        Ok(walk.listing(vec![], samples))
    },
};
