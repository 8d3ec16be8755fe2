//! N-MNIST: MNIST images before a moving ATIS.
//!
//! A recording has three saccades of about 100 ms, both polarities. The number of a file is that of the image.
//!
//! Source: G. Orchard et al., Converting Static Image Datasets to Spiking Neuromorphic Datasets Using Saccades, 2015.

use super::{Download, EventSet, Split};
use crate::{Format, Options, Sensor};

const SENSOR: Sensor = Sensor::new(34, 34);

pub(super) const SET: EventSet = EventSet {
    name: "n-mnist",
    title: "N-MNIST",
    sensor: SENSOR,
    classes: &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
    frames: "number=10",
    speakers: &[],
    has_labels: true,
    splits: &[Split::Train, Split::Test],
    layout: "Train/<digit>/<number>.bin and Test/<digit>/<number>.bin",
    page: "https://www.garrickorchard.com/datasets/n-mnist",
    licence: "CC BY-SA 4.0",
    downloads: &[
        Download::new("Train.zip", "20959b8e626244a1b502305a9e6e2031").at(
            "https://data.mendeley.com/public-files/datasets/468j46mzdv/files/39c25547-014b-4137-a934-9d29fa53c7a0/file_downloaded",
        ),
        Download::new("Test.zip", "69ca8762b2fe404d9b9bad1103e97832").at(
            "https://data.mendeley.com/public-files/datasets/468j46mzdv/files/05a4d654-7e03-4c15-bdfa-9bb2bcbea494/file_downloaded",
        ),
    ],
    folders: &[],
    contains: &["Train", "Test"],
    options: Options {
        format: Some(Format::Atis),
        sensor: Some(SENSOR),
        orientation: None,
    },
    list: |walk| walk.split_classes(&[("Train", Split::Train), ("Test", Split::Test)], "bin"),
};
