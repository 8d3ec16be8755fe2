//! CIFAR-100: 60,000 photographs of 32 × 32 pixels in color, 100 classes in 20 superclasses.
//!
//! Source: A. Krizhevsky, *Learning multiple layers of features from tiny images*, University of
//! Toronto (2009).

use std::path::Path;
use std::sync::Arc;

use spikelet_expr::DType;

use crate::RemoteFile;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::field::Field;
#[cfg(feature = "download")]
use crate::progress::Progress;
use crate::sample::SampleTensor;
use crate::sets::Map;
use crate::source::{Files, ImageFiles, RecordFiles, Source};
use crate::split::Split;

pub(crate) const ENTRY: ImageFiles = ImageFiles {
    name: "cifar100",
    summary: "Photographs of 100 kinds of animals, plants and things",
    source,
};

/// The names of the classes (fine labels), in order.
const CLASSES: &str = "\
    apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly \
    camel can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup \
    dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower \
    leopard lion lizard lobster man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid \
    otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine possum rabbit raccoon ray \
    road rocket rose sea seal shark shrew skunk skyscraper snail snake spider squirrel streetcar \
    sunflower sweet_pepper table tank telephone television tiger tractor train trout tulip turtle \
    wardrobe whale willow_tree wolf woman worm";

/// The names of the superclasses (coarse labels), in order.
const SUPERCLASSES: &str = "\
    aquatic_mammals fish flowers food_containers fruit_and_vegetables household_electrical_devices \
    household_furniture insects large_carnivores large_man-made_outdoor_things \
    large_natural_outdoor_scenes large_omnivores_and_herbivores medium_mammals non-insect_invertebrates \
    people reptiles small_mammals trees vehicles_1 vehicles_2";

/// The superclass of each class.
const SUPERCLASS: [u8; 100] = [
    4, 1, 14, 8, 0, 6, 7, 7, 18, 3, 3, 14, 9, 18, 7, 11, 3, 9, 7, 11, 6, 11, 5, 10, 7, 6, 13, 15,
    3, 15, 0, 11, 1, 10, 12, 14, 16, 9, 11, 5, 5, 19, 8, 8, 15, 13, 14, 17, 18, 10, 16, 4, 17, 4,
    2, 0, 17, 4, 18, 17, 10, 3, 2, 12, 12, 16, 12, 1, 9, 19, 2, 10, 0, 1, 16, 12, 9, 13, 15, 13,
    16, 19, 2, 4, 6, 19, 5, 5, 8, 19, 18, 1, 2, 15, 6, 0, 17, 8, 14, 13,
];

/// The names of the 20 superclasses.
///
/// ```
/// use spikelet_data::cifar100;
///
/// assert_eq!(cifar100::superclasses()[14], "people");
/// ```
#[must_use]
pub fn superclasses() -> Vec<String> {
    SUPERCLASSES.split(' ').map(String::from).collect()
}

/// The superclass (coarse label) of a class (fine label); `None` past the 100th class.
///
/// ```
/// use spikelet_data::cifar100;
///
/// let classes = cifar100::source().classes;
/// let maple = classes.iter().position(|class| class == "maple_tree").expect("a class");
/// let superclass = cifar100::superclass_of(maple).expect("a class has a superclass");
/// assert_eq!(cifar100::superclasses()[superclass], "trees");
/// ```
#[must_use]
pub fn superclass_of(class: usize) -> Option<usize> {
    SUPERCLASS.get(class).copied().map(usize::from)
}

/// The source of CIFAR-100 in its binary version. Its labels are the 100 classes.
///
/// The files may be in the data folder itself or in `cifar-100-binary`.
#[must_use]
pub fn source() -> Source {
    Source {
        name: "CIFAR-100".into(),
        classes: CLASSES.split(' ').map(String::from).collect(),
        shape: [3, 32, 32],
        folders: ["cifar-100-binary", ""].map(String::from).into(),
        files: Files::Records(RecordFiles {
            archive: RemoteFile {
                name: "cifar-100-binary.tar.gz".into(),
                bytes: 168_513_733,
                sha256: "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec".into(),
            },
            train: vec!["train.bin".into()],
            test: "test.bin".into(),
            extra: ["coarse_label_names.txt", "fine_label_names.txt"]
                .map(String::from)
                .into(),
            records: 50_000,
            test_records: 10_000,
            label_bytes: 2,
        }),
        mirrors: vec!["https://www.cs.toronto.edu/~kriz/".into()],
    }
}

/// Reads CIFAR-100 from a subfolder of `dir`; see [`Source::load`].
///
/// # Errors
/// As [`Source::load`].
pub fn load(dir: impl AsRef<Path>) -> Result<Split> {
    source().load(dir.as_ref())
}

/// Reads CIFAR-100 from a subfolder of `dir` and downloads it to `dir/cifar-100-binary` if it is
/// missing; see [`Source::load_or_download`].
///
/// # Errors
/// As [`Source::load_or_download`].
#[cfg(feature = "download")]
pub fn load_or_download(dir: impl AsRef<Path>, progress: Progress) -> Result<Split> {
    source().load_or_download(dir.as_ref(), progress)
}

/// The images with both labels: `labels`, the class, and `coarse_labels`, the superclass.
///
/// ```no_run
/// use spikelet_data::cifar100;
///
/// let train = cifar100::with_superclasses(cifar100::load("data")?.train);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[must_use]
pub fn with_superclasses(images: Arc<dyn Dataset>) -> Map {
    Map::new(images, "with superclasses", |sample| {
        let class = sample.require("labels")?.as_i64();
        let class = class.and_then(|labels| usize::try_from(*labels.first()?).ok());
        // Another data set has other classes: its images have superclass -1.
        let superclass = class
            .and_then(superclass_of)
            .map_or(-1, |class| class as i64);
        sample.insert("coarse_labels", SampleTensor::i64(&[], vec![superclass]));
        Ok(())
    })
    .add_field(Field::new("coarse_labels", DType::I64, []))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_superclass_has_five_classes() {
        assert_eq!((source().classes.len(), superclasses().len()), (100, 20));
        assert!(source().classes.is_sorted() && superclasses().is_sorted());
        for superclass in 0..20 {
            let classes = (0..100).filter(|&class| superclass_of(class) == Some(superclass));
            assert_eq!(classes.count(), 5);
        }
        assert_eq!(superclass_of(100), None);
    }
}
