//! N-CARS: cars and background of 100 ms each, before an ATIS.
//!
//! Recordings are sections of about 120 × 100 pixels, whose size the header says.
//!
//! Source: A. Sironi et al., HATS: Histograms of Averaged Time Surfaces for Robust Event-Based Object Classification,
//! 2018.

use super::{Download, EventSet, Split};
use crate::{Format, Options, Sensor};

pub(super) const SET: EventSet = EventSet {
    name: "n-cars",
    title: "N-CARS",
    sensor: Sensor::new(120, 100),
    classes: &["background", "cars"],
    frames: "time=5",
    speakers: &[],
    has_labels: true,
    splits: &[Split::Train, Split::Test],
    layout: "n-cars_train/<cars or background>/obj_<number>_td.dat and n-cars_test/…",
    page: "https://www.prophesee.ai/2018/03/13/dataset-n-cars/",
    licence: "Prophesee's, for research",
    downloads: &[Download::new(
        "Prophesee_Dataset_n_cars.zip",
        "553ce464d6e5e617b3c21ce27c19368e",
    )],
    folders: &["Prophesee_Dataset_n_cars"],
    contains: &["n-cars_train", "n-cars_test", "train", "test"],
    options: Options {
        format: Some(Format::Dat),
        sensor: None,
        orientation: None,
    },
    list: |walk| {
        // The archives in the archive have the names without `n-cars_`.
        let splits = [
            ("n-cars_train", Split::Train),
            ("train", Split::Train),
            ("n-cars_test", Split::Test),
            ("test", Split::Test),
        ];
        walk.split_classes(&splits, "dat")
    },
};
