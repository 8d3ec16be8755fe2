//! The validation split: which images it takes.

use crate::images::all_pixels;
use spikelet_data::{DType, Dataset, Error, Field, InMemory, Split, image_shape, synthetic};
use std::sync::Arc;

/// Training images whose one pixel is their number, up to 256.
fn numbered(len: usize) -> Split {
    let pixels = (0..len).map(|k| k as u8).collect();
    let labels = (0..len).map(|k| (k % 2) as u32).collect();
    let classes = vec!["even".into(), "odd".into()];
    let train = InMemory::images("numbers", pixels, labels, [1, 1, 1], classes).unwrap();
    Split::new(Arc::new(train.clone()), Arc::new(train))
}

/// The training and the validation images for a share of these.
fn parts(len: usize, share: f64) -> [Arc<dyn Dataset>; 2] {
    let (train, validation) = numbered(len).parts(share).unwrap();
    [train, validation.expect("a share is held out")]
}

#[test]
fn every_image_goes_to_one_part_with_its_label() {
    for (len, share, expected) in [(200, 0.1, 20), (3, 0.01, 1), (3, 0.99, 2), (2, 0.5, 1)] {
        let parts = parts(len, share);
        assert_eq!(parts[1].len(), expected);
        let mut all = parts.each_ref().map(|part| all_pixels(&**part)).concat();
        all.sort_unstable();
        assert_eq!(all, all_pixels(&*numbered(len).train));
        for part in parts {
            part.check().unwrap();
            let (pixels, labels) = (all_pixels(&*part), part.labels().unwrap());
            assert!(pixels.is_sorted());
            let mut pairs = pixels.iter().zip(labels);
            assert!(pairs.all(|(k, label)| i64::from(k % 2) == label));
        }
    }
}

#[test]
fn the_choice_is_always_the_same_and_looks_random() {
    let [_, validation] = parts(40, 0.2);
    assert_eq!(all_pixels(&*validation), CHOSEN);
}

/// Written down so that another choice, which would make results incomparable, is noticed.
const CHOSEN: [u8; 8] = [7, 13, 14, 18, 24, 27, 35, 38];

#[test]
fn a_share_that_leaves_a_part_empty_is_refused() {
    for share in [1.0, -0.5, f64::NAN] {
        assert!(matches!(
            numbered(10).parts(share),
            Err(Error::ValidationShare { len: 10, .. })
        ));
    }
    assert!(numbered(1).parts(0.5).is_err());
}

#[test]
fn without_a_share_all_samples_are_trained_on_with_those_of_the_validation_set() {
    let (train, validation) = numbered(10).parts(0.0).unwrap();
    assert_eq!((train.len(), validation.is_some()), (10, false));
    let with_own = numbered(10).with_validation(Some(numbered(4).train));
    assert_eq!(with_own.sizes(), [14, 10]);
    let (train, validation) = with_own.parts(0.0).unwrap();
    assert_eq!((train.len(), validation.is_some()), (14, false));
    // The validation set of a data set has its own size.
    let (train, validation) = with_own.parts(0.3).unwrap();
    assert_eq!(
        (train.len(), validation.map(|part| part.len())),
        (10, Some(4))
    );
}

#[test]
fn a_digest_tells_any_two_data_sets_apart() {
    let digest = |split: &Split| split.digest().unwrap();
    let digits = synthetic::digits_of(0, 20, 10);
    assert_eq!(digest(&digits), digest(&synthetic::digits_of(0, 20, 10)));
    /// Name, pixels, labels, shape and classes of images.
    type Images = (String, Vec<u8>, Vec<u32>, [usize; 3], Vec<String>);
    let changed = |change: fn(&mut Images)| {
        let train = &*digits.train;
        let labels = train.labels().unwrap();
        let mut images = (
            train.name().to_string(),
            all_pixels(train),
            labels.into_iter().map(|label| label as u32).collect(),
            image_shape(train).unwrap(),
            train.class_names("labels").to_vec(),
        );
        change(&mut images);
        let (name, pixels, labels, shape, classes) = images;
        let train = InMemory::images(name, pixels, labels, shape, classes).unwrap();
        digest(&Split::new(Arc::new(train), digits.test.clone()))
    };
    assert_eq!(changed(|_| ()), digest(&digits));
    let others = [
        digest(&synthetic::digits_of(0, 19, 10)),
        digest(&synthetic::digits_of(0, 20, 9)),
        digest(&digits.clone().with_validation(Some(digits.test.clone()))),
        changed(|(_, pixels, ..)| pixels[100] ^= 1),
        changed(|(_, _, labels, ..)| labels[3] ^= 1),
        changed(|(name, ..)| name.push('x')),
        changed(|(.., shape, _)| *shape = [28, 28, 1]),
        changed(|(.., classes)| classes[0].push('x')),
    ];
    for (k, other) in others.iter().enumerate() {
        assert!(*other != digest(&digits), "{k}");
        assert!(!others[..k].contains(other), "{k}");
    }
}

#[test]
fn a_digest_is_that_of_the_data_however_often_they_were_asked_before() {
    let labels = || Field::new("labels", DType::I64, []);
    let bare = InMemory::new("two").with(labels(), vec![0_i64, 1]).unwrap();
    let before = bare.digest().unwrap();
    assert_eq!(bare.digest().unwrap(), before);
    let named = bare.clone().classes("labels", vec!["a".into(), "b".into()]);
    assert_ne!(named.digest().unwrap(), before);
    let more = Field::new("more", DType::I64, []);
    let wider = bare.clone().with(more, vec![5_i64, 6]).unwrap();
    assert_ne!(wider.digest().unwrap(), before);
    assert_eq!(bare.clone(), bare);
}
