//! DVS-Lip: lips that speak 100 words. Other people speak in the test set.
//!
//! The classes are the folders, sorted as text.
//!
//! Source: G. Tan et al., Multi-Grained Spatio-Temporal Features Perceived Network for Event-Based Lip-Reading, 2022.

use super::{Download, EventSet, Split};
use crate::{Format, Options, Sensor};

const SENSOR: Sensor = Sensor::new(128, 128);

pub(super) const SET: EventSet = EventSet {
    name: "dvs-lip",
    title: "DVS-Lip",
    sensor: SENSOR,
    classes: &[],
    frames: "time=30",
    speakers: &[],
    has_labels: true,
    splits: &[Split::Train, Split::Test],
    layout: "DVS-Lip/train/<word>/<number>.npy and DVS-Lip/test/<word>/<number>.npy",
    page: "https://sites.google.com/view/event-based-lipreading",
    licence: "not stated",
    downloads: &[Download::new(
        "DVS-Lip.zip",
        "2dcb959255122d4cdeb6094ca282494b",
    )],
    folders: &["DVS-Lip"],
    contains: &["train", "test"],
    options: Options {
        format: Some(Format::NpyStructured),
        sensor: Some(SENSOR),
        orientation: None,
    },
    list: |walk| walk.split_classes(&[("train", Split::Train), ("test", Split::Test)], "npy"),
};
