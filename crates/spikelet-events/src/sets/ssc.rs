//! Spiking Speech Commands: Google's Speech Commands through a model of the cochlea.
//!
//! Source: B. Cramer et al., The Heidelberg spiking data sets for the systematic evaluation of spiking neural networks,
//! 2020.

use super::{Download, EventSet, Split, shd};
use crate::Options;

const FILES: [(&str, Split); 3] = [
    ("ssc_train.h5", Split::Train),
    ("ssc_valid.h5", Split::Valid),
    ("ssc_test.h5", Split::Test),
];

pub(super) const SET: EventSet = EventSet {
    name: "ssc",
    title: "Spiking Speech Commands",
    sensor: shd::SENSOR,
    // The 35 words are in the files; labels name them here.
    classes: &[
        "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
        "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31",
        "32", "33", "34",
    ],
    frames: "sound",
    speakers: &[],
    has_labels: true,
    splits: &[Split::Train, Split::Valid, Split::Test],
    layout: "ssc_train.h5, ssc_valid.h5 and ssc_test.h5",
    page: "https://zenkelab.org/datasets/",
    licence: "CC BY 4.0",
    downloads: &[
        Download::new("ssc_train.h5.zip", "d102be95e7144fcc0553d1f45ba94170")
            .at("https://zenkelab.org/datasets/ssc_train.h5.zip"),
        Download::new("ssc_valid.h5.zip", "b4eee3516a4a90dd0c71a6ac23a8ae43")
            .at("https://zenkelab.org/datasets/ssc_valid.h5.zip"),
        Download::new("ssc_test.h5.zip", "a35ff1e9cffdd02a20eb850c17c37748")
            .at("https://zenkelab.org/datasets/ssc_test.h5.zip"),
    ],
    folders: &["SSC", "extract"],
    contains: &[FILES[0].0, FILES[1].0, FILES[2].0],
    options: Options {
        format: None,
        sensor: None,
        orientation: None,
    },
    list: |walk| shd::list(walk, walk.set.class_names(), &FILES),
};
