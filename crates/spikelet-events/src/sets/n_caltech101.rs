//! N-Caltech101: images of Caltech101 before a moving ATIS.
//!
//! Recordings have sizes of their own, up to 240 × 180. The folder `Faces` was left out by the authors; the classes are
//! the folders, sorted as text, so capitals come first. There is no official split.
//!
//! Source: G. Orchard et al., Converting Static Image Datasets to Spiking Neuromorphic Datasets Using Saccades, 2015.

use super::{Download, EventSet, Split};
use crate::{Format, Options, Sensor};

const SENSOR: Sensor = Sensor::new(240, 180);

pub(super) const SET: EventSet = EventSet {
    name: "n-caltech101",
    title: "N-Caltech101",
    sensor: SENSOR,
    classes: &[],
    frames: "number=10",
    speakers: &[],
    has_labels: true,
    splits: &[Split::All],
    layout: "Caltech101/<class>/image_<number>.bin",
    page: "https://www.garrickorchard.com/datasets/n-caltech101",
    licence: "CC BY 4.0",
    downloads: &[
        Download::new("Caltech101.zip", "66201824eabb0239c7ab992480b50ba3").at(
            "https://data.mendeley.com/public-files/datasets/cy6cvx3ryv/files/36b5c52a-b49d-4853-addb-a836a8883e49/file_downloaded",
        ),
        Download::new(
            "Caltech101_annotations.zip",
            "25e64cea645291e368db1e70f214988e",
        )
        .optional(),
    ],
    folders: &[],
    contains: &["Caltech101"],
    options: Options {
        format: Some(Format::Atis),
        sensor: Some(SENSOR),
        orientation: None,
    },
    list: |walk| walk.split_classes(&[("Caltech101", Split::All)], "bin"),
};
