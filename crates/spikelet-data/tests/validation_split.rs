//! The validation split: which images it takes.

use spikelet_data::{Error, ImageDataset, Split, synthetic};
use std::sync::Arc;

/// Images whose one pixel is their number, up to 256.
fn numbered(len: usize) -> ImageDataset {
    let pixels = (0..len).map(|k| k as u8).collect();
    let labels = (0..len).map(|k| (k % 2) as u32).collect();
    let classes = vec!["even".into(), "odd".into()];
    ImageDataset::new("numbers", pixels, labels, [1, 1, 1], classes).unwrap()
}

#[test]
fn every_image_goes_to_one_part_with_its_label() {
    for (len, share, expected) in [(200, 0.1, 20), (3, 0.01, 1), (3, 0.99, 2), (2, 0.5, 1)] {
        let (train, validation) = numbered(len).split_off(share).unwrap();
        assert_eq!(validation.len(), expected);
        let mut all = [train.images.clone(), validation.images.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, numbered(len).images);
        for part in [train, validation] {
            part.check().unwrap();
            assert!(part.images.is_sorted());
            assert!(
                part.images
                    .iter()
                    .zip(&part.labels)
                    .all(|(k, l)| u32::from(k % 2) == *l)
            );
        }
    }
}

#[test]
fn the_choice_is_always_the_same_and_looks_random() {
    let (_, validation) = numbered(40).split_off(0.2).unwrap();
    assert_eq!(validation.images, CHOSEN);
}

/// Written down so that another choice, which would make results incomparable, is noticed.
const CHOSEN: [u8; 8] = [7, 13, 14, 18, 24, 27, 35, 38];

#[test]
fn a_share_that_leaves_a_part_empty_is_refused() {
    for share in [0.0, 1.0, -0.5, f64::NAN] {
        assert!(matches!(
            numbered(10).split_off(share),
            Err(Error::ValidationShare { len: 10, .. })
        ));
    }
    assert!(numbered(1).split_off(0.5).is_err());
}

#[test]
fn a_digest_tells_any_two_data_sets_apart() {
    let digits = synthetic::digits_of(0, 20, 10);
    let same = synthetic::digits_of(0, 20, 10);
    assert_eq!(digits.digest(), same.digest());
    let changed = |change: fn(&mut ImageDataset)| {
        let mut train = (*digits.train).clone();
        change(&mut train);
        let split = Split {
            train: Arc::new(train),
            test: digits.test.clone(),
        };
        split.digest()
    };
    let others = [
        synthetic::digits_of(0, 19, 10).digest(),
        synthetic::digits_of(0, 20, 9).digest(),
        changed(|d| d.images[100] ^= 1),
        changed(|d| d.labels[3] ^= 1),
        changed(|d| d.name.push('x')),
        changed(|d| d.shape = [28, 28, 1]),
        changed(|d| d.classes[0].push('x')),
    ];
    for (k, other) in others.iter().enumerate() {
        assert!(*other != digits.digest(), "{k}");
        assert!(!others[..k].contains(other), "{k}");
    }
}
