//! CIFAR10-DVS: CIFAR-10 images, moved before a DVS128.
//!
//! 1,000 recordings a class, AEDAT 2 from the authors or AEDAT 4 from tonic. AEDAT 2 is turned as SpikingJelly does, so
//! that images are upright; AEDAT 4 has its own coordinates. There is no official split: see
//! [`EventDataset::split_by_class`](crate::EventDataset::split_by_class). Files are sorted as text (0, 1, 10, 100, …).
//!
//! Source: H. Li et al., CIFAR10-DVS: An Event-Stream Dataset for Object Classification, 2017.

use super::{Download, EventSet, Split};
use crate::{Format, Options, Orientation, Sensor};

const SENSOR: Sensor = Sensor::new(128, 128);

const CLASSES: &[&str] = &[
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
];

pub(super) const SET: EventSet = EventSet {
    name: "cifar10-dvs",
    title: "CIFAR10-DVS",
    sensor: SENSOR,
    classes: CLASSES,
    frames: "number=10",
    speakers: &[],
    has_labels: true,
    splits: &[Split::All],
    layout: "<class>/cifar10_<class>_<number>.aedat, or .aedat4",
    page: "https://figshare.com/articles/dataset/CIFAR10-DVS_New/4724671",
    licence: "CC BY 4.0",
    downloads: &[
        Download::new("airplane.zip", "0afd5c4bf9ae06af762a77b180354fdd")
            .at("https://ndownloader.figshare.com/files/7712788"),
        Download::new("automobile.zip", "8438dfeba3bc970c94962d995b1b9bdd")
            .at("https://ndownloader.figshare.com/files/7712791"),
        Download::new("bird.zip", "a9c207c91c55b9dc2002dc21c684d785")
            .at("https://ndownloader.figshare.com/files/7712794"),
        Download::new("cat.zip", "52c63c677c2b15fa5146a8daf4d56687")
            .at("https://ndownloader.figshare.com/files/7712812"),
        Download::new("deer.zip", "b6bf21f6c04d21ba4e23fc3e36c8a4a3")
            .at("https://ndownloader.figshare.com/files/7712815"),
        Download::new("dog.zip", "f379ebdf6703d16e0a690782e62639c3")
            .at("https://ndownloader.figshare.com/files/7712818"),
        Download::new("frog.zip", "cad6ed91214b1c7388a5f6ee56d08803")
            .at("https://ndownloader.figshare.com/files/7712842"),
        Download::new("horse.zip", "e7cbbf77bec584ffbf913f00e682782a")
            .at("https://ndownloader.figshare.com/files/7712851"),
        Download::new("ship.zip", "41c7bd7d6b251be82557c6cce9a7d5c9")
            .at("https://ndownloader.figshare.com/files/7712836"),
        Download::new("truck.zip", "89f3922fd147d9aeff89e76a2b0b70a7")
            .at("https://ndownloader.figshare.com/files/7712839"),
        // The ten archives with AEDAT 4 files.
        Download::new("CIFAR10DVS.zip", "ce3a4a0682dc0943703bd8f749a7701c")
            .at("https://figshare.com/ndownloader/files/38023437")
            .optional(),
    ],
    folders: &["CIFAR10DVS", "extract"],
    contains: CLASSES,
    options: Options {
        format: Some(Format::Aedat2Dvs128),
        sensor: Some(SENSOR),
        orientation: Some(Orientation::SpikingJelly),
    },
    list: |walk| {
        let classes = walk.set.class_names();
        let mut samples = vec![];
        walk.append_classes(&walk.base, Split::All, &classes, "aedat", &mut samples)?;
        let is_aedat2 = !samples.is_empty();
        if !is_aedat2 {
            walk.append_classes(&walk.base, Split::All, &classes, "aedat4", &mut samples)?;
        }
        let mut listing = walk.listing(classes, samples);
        if !is_aedat2 {
            listing.options.format = Some(Format::Aedat4);
        }
        Ok(listing)
    },
};
