//! Images changed by chance: the same ones for any number of threads, and within bounds.

use std::sync::Arc;

use proptest::prelude::*;
use spikelet_data::{
    AlternatingFlip, Augment, AutoAugment, Batch, ColorJitter, DataLoader, Error, ImageError,
    InMemory, LoaderConfig, Normalize, RandAugment, RandomErasing, TrivialAugment, synthetic,
};

/// `len` colored images of 9 × 12 pixels, no two alike.
fn pictures(len: usize) -> Arc<InMemory> {
    let pixel = |index: usize| (index * 7 + index / 324 * 31) as u8;
    let images = (0..len * 324).map(pixel).collect();
    let labels = (0..len).map(|index| (index % 2) as u32).collect();
    let classes = ["a", "b"].map(String::from).into();
    Arc::new(InMemory::images("pictures", images, labels, [3, 9, 12], classes).unwrap())
}

/// A bit of everything.
fn everything() -> Augment {
    Augment {
        crop_padding: 2,
        flip: true,
        shift: 0.1,
        rotate: 15.0,
        scale: 0.1,
        shear: 5.0,
        noise: 0.05,
        cutout: 3,
        ..Augment::default()
    }
}

/// All transforms that have a name, and a crop before and noise after them.
fn policies() -> Augment {
    Augment {
        crop_padding: 2,
        flip: true,
        noise: 0.05,
        transforms: vec![
            AutoAugment::default().into(),
            RandAugment::default().into(),
            TrivialAugment::default().into(),
            ColorJitter::default().into(),
            RandomErasing::default().into(),
            AlternatingFlip::default().into(),
        ],
        ..Augment::default()
    }
}

fn loader(augment: Augment, normalize: Option<Normalize>) -> DataLoader {
    let config = LoaderConfig {
        batch_size: 7,
        seed: 5,
        augment,
        normalize,
        threads: 1,
        ..LoaderConfig::default()
    };
    DataLoader::new(pictures(40), config).unwrap()
}

fn changed(loader: &DataLoader, change: impl FnOnce(&mut LoaderConfig)) -> DataLoader {
    let mut config = loader.config().clone();
    change(&mut config);
    DataLoader::new(loader.dataset().clone(), config).unwrap()
}

fn epoch(loader: &DataLoader, epoch: u64) -> Vec<Batch> {
    loader.epoch(epoch, 0).map(Result::unwrap).collect()
}

/// The pixels of every image, by its number in the data set.
fn by_number(loader: &DataLoader, number: u64) -> Vec<Vec<f32>> {
    let mut images = vec![Vec::new(); loader.dataset().len()];
    for batch in epoch(loader, number) {
        let pixels = batch.f32("images").unwrap();
        let len = pixels.len() / batch.len();
        for (&index, image) in batch.indices.iter().zip(pixels.chunks_exact(len)) {
            images[index as usize] = image.to_vec();
        }
    }
    images
}

fn colors() -> Normalize {
    Normalize {
        mean: vec![0.4, 0.5, 0.6],
        std: vec![0.2, 0.25, 0.3],
    }
}

#[test]
fn batches_are_bitwise_the_same_for_any_number_of_threads() {
    for augment in [Augment::default(), everything(), policies()] {
        let loader = loader(augment, Some(colors()));
        let expected = epoch(&loader, 3);
        for threads in [0, 2, 3, 100] {
            let threaded = changed(&loader, |config| config.threads = threads);
            assert_eq!(epoch(&threaded, 3), expected);
        }
    }
}

#[test]
fn an_image_depends_on_the_seed_the_epoch_and_its_number_alone() {
    for augment in [everything(), policies()] {
        depends_on_seed_epoch_and_number(&loader(augment, None));
    }
}

fn depends_on_seed_epoch_and_number(loader: &DataLoader) {
    let expected = by_number(loader, 3);
    let other_batches = changed(loader, |config| config.batch_size = 3);
    assert_eq!(by_number(&other_batches, 3), expected);
    let in_order = changed(loader, |config| config.shuffle = false);
    assert_eq!(by_number(&in_order, 3), expected);

    let other_seed = changed(loader, |config| config.seed = 6);
    for others in [
        by_number(loader, 4),
        by_number(loader, 3 | 1 << 32),
        by_number(&other_seed, 3),
    ] {
        let same = others.iter().zip(&expected).filter(|(a, b)| a == b);
        assert_eq!(same.count(), 0);
    }
}

#[test]
fn the_changes_are_the_same_on_every_machine_and_in_every_version() {
    for (augment, expected) in [
        (everything(), 0x6458_ae65_6c38_1398),
        (policies(), 0x0786_bfb8_1eed_7a3b),
    ] {
        let images = by_number(&loader(augment, None), 1);
        let bits = images.iter().flatten().map(|pixel| pixel.to_bits());
        // FNV-1a, a word at a time.
        let digest = bits.fold(0xcbf2_9ce4_8422_2325_u64, |digest, bits| {
            (digest ^ u64::from(bits)).wrapping_mul(0x0100_0000_01b3)
        });
        assert_eq!(digest, expected, "{digest:#x}");
    }
}

#[test]
fn transforms_come_after_crop_and_flip_in_their_order() {
    let flip = Augment {
        crop_padding: 2,
        flip: true,
        ..Augment::default()
    };
    let alternating = Augment {
        transforms: vec![AlternatingFlip::default().into()],
        ..flip.clone()
    };
    let twice = Augment {
        transforms: vec![AlternatingFlip::default().into(); 2],
        ..flip.clone()
    };
    let mirrored = |image: &[f32]| -> Vec<f32> {
        let rows = image.chunks_exact(12);
        rows.flat_map(|row| row.iter().rev().copied()).collect()
    };
    let plain = by_number(&loader(flip, None), 1);
    let once = by_number(&loader(alternating, None), 1);
    let mut counts = [0; 2];
    for (plain, once) in plain.iter().zip(&once) {
        assert!(once == plain || *once == mirrored(plain));
        counts[usize::from(once == plain)] += 1;
    }
    assert!(counts.iter().all(|&count| count > 8), "{counts:?}");
    // The two have random numbers of their own.
    let twice = by_number(&loader(twice, None), 1);
    assert!(twice != plain && twice != once);
}

#[test]
fn nothing_changes_nothing() {
    assert!(Augment::default().is_empty());
    assert!(!everything().is_empty());
    let loader = loader(Augment::default(), None);
    for (index, image) in by_number(&loader, 0).iter().enumerate() {
        let sample = loader.dataset().sample(index).unwrap();
        let bytes = sample.get("images").unwrap().as_u8().unwrap();
        let expected: Vec<f32> = bytes.iter().map(|&byte| f32::from(byte) / 255.0).collect();
        assert_eq!(*image, expected);
    }
}

#[test]
fn half_of_the_images_are_mirrored_and_the_others_left_alone() {
    let flip = Augment {
        flip: true,
        ..Augment::default()
    };
    let plain = by_number(&loader(Augment::default(), None), 2);
    let flipped = by_number(&loader(flip, None), 2);
    let mut count = 0;
    for (plain, flipped) in plain.iter().zip(&flipped) {
        if flipped != plain {
            let mirrored = plain.chunks(12).flat_map(|row| row.iter().rev());
            assert!(flipped.iter().eq(mirrored));
            count += 1;
        }
    }
    assert!((10..=30).contains(&count), "{count}");
}

#[test]
fn a_change_does_not_depend_on_which_others_there_are() {
    let crop = Augment {
        crop_padding: 2,
        ..Augment::default()
    };
    let cut = Augment {
        cutout: 3,
        ..crop.clone()
    };
    let cropped = by_number(&loader(crop, None), 0);
    let cut = by_number(&loader(cut, None), 0);
    for (cropped, cut) in cropped.iter().zip(&cut) {
        let mut pairs = cropped.iter().zip(cut);
        assert!(pairs.all(|(&cropped, &cut)| cut == cropped || cut == 0.0));
    }
}

#[test]
fn normalized_pixels_are_the_pixels_less_the_mean_by_the_deviation() {
    let plain = loader(everything(), None);
    for augment in [
        Augment::default(),
        Augment {
            crop_padding: 1,
            flip: true,
            ..Augment::default()
        },
        Augment {
            rotate: 20.0,
            ..Augment::default()
        },
    ] {
        let plain = changed(&plain, |config| config.augment = augment);
        let normalized = changed(&plain, |config| config.normalize = Some(colors()));
        let Normalize { mean, std } = colors();
        for (plain, normalized) in by_number(&plain, 0).iter().zip(by_number(&normalized, 0)) {
            let expected = plain
                .iter()
                .enumerate()
                .map(|(index, pixel)| (pixel - mean[index / 108]) / std[index / 108]);
            assert!(normalized.into_iter().eq(expected));
        }
    }
}

#[test]
fn one_value_normalizes_every_channel() {
    let one = |mean, std| Some(Normalize { mean, std });
    let single = loader(everything(), one(vec![0.5], vec![0.25]));
    let three = loader(everything(), one(vec![0.5; 3], vec![0.25; 3]));
    assert_eq!(epoch(&single, 0), epoch(&three, 0));
}

#[test]
fn noise_stays_between_black_and_white_unless_it_is_normalized() {
    let noise = Augment {
        noise: 0.5,
        ..Augment::default()
    };
    let clamped = by_number(&loader(noise.clone(), None), 0);
    let mut pixels = clamped.iter().flatten();
    assert!(pixels.clone().all(|pixel| (0.0..=1.0).contains(pixel)));
    assert!(pixels.any(|&pixel| pixel == 1.0));
    let same = Normalize {
        mean: vec![0.0],
        std: vec![1.0],
    };
    let free = by_number(&loader(noise, Some(same)), 0);
    assert!(free.iter().flatten().any(|&pixel| pixel > 1.0));
    for (free, clamped) in free.iter().flatten().zip(clamped.iter().flatten()) {
        assert_eq!(free.clamp(0.0, 1.0), *clamped);
    }
}

#[test]
fn a_small_turn_leaves_a_digit_much_as_it_was() {
    let digits = synthetic::digits_of(3, 50, 10).train;
    let config = LoaderConfig {
        shuffle: false,
        augment: Augment {
            shift: 0.02,
            rotate: 3.0,
            scale: 0.02,
            shear: 2.0,
            ..Augment::default()
        },
        ..LoaderConfig::default()
    };
    let loader = DataLoader::new(digits, config).unwrap();
    let plain = changed(&loader, |config| config.augment = Augment::default());
    for (changed, plain) in by_number(&loader, 0).iter().zip(by_number(&plain, 0)) {
        let difference: f32 = changed.iter().zip(&plain).map(|(a, b)| (a - b).abs()).sum();
        let ink: f32 = plain.iter().sum();
        assert!(
            difference > 0.0 && difference < 0.5 * ink,
            "{difference} of {ink}"
        );
        assert!(changed.iter().all(|pixel| (0.0..=1.0).contains(pixel)));
    }
}

#[test]
fn values_out_of_bounds_are_refused_by_name() {
    let refused = |augment: Augment| {
        let config = LoaderConfig {
            augment,
            ..LoaderConfig::default()
        };
        DataLoader::new(pictures(3), config).unwrap_err()
    };
    let none = Augment::default;
    for value in [-0.1, f32::NAN, f32::INFINITY] {
        for (augment, name) in [
            (
                Augment {
                    shift: value,
                    ..none()
                },
                "shift",
            ),
            (
                Augment {
                    rotate: value,
                    ..none()
                },
                "rotate",
            ),
            (
                Augment {
                    scale: value,
                    ..none()
                },
                "scale",
            ),
            (
                Augment {
                    shear: value,
                    ..none()
                },
                "shear",
            ),
            (
                Augment {
                    noise: value,
                    ..none()
                },
                "noise",
            ),
        ] {
            let error = refused(augment);
            assert!(
                matches!(error, Error::Augment { field, .. } if field == name),
                "{error}"
            );
        }
    }
    for augment in [
        Augment {
            scale: 1.0,
            ..none()
        },
        Augment {
            shear: 90.0,
            ..none()
        },
        Augment {
            crop_padding: usize::MAX,
            ..none()
        },
    ] {
        let error = refused(augment);
        assert!(error.to_string().contains("help: it must be a "), "{error}");
    }
}

#[test]
fn normalizations_that_do_not_fit_are_refused() {
    let refused = |mean: &[f32], std: &[f32]| {
        let normalize = Normalize {
            mean: mean.into(),
            std: std.into(),
        };
        let config = LoaderConfig {
            normalize: Some(normalize),
            ..LoaderConfig::default()
        };
        DataLoader::new(pictures(3), config).unwrap_err()
    };
    for (mean, std, name) in [
        (&[0.5; 2][..], &[1.0; 3][..], "mean"),
        (&[0.5; 3], &[1.0; 4], "std"),
        (&[], &[1.0], "mean"),
    ] {
        let error = refused(mean, std);
        assert!(
            matches!(error, Error::NormalizeLength { field, channels: 3, .. } if field == name),
            "{error}"
        );
    }
    for (mean, std, name) in [
        (f32::NAN, 1.0, "mean"),
        (0.5, 0.0, "std"),
        (0.5, -1.0, "std"),
        (0.5, f32::INFINITY, "std"),
    ] {
        let error = refused(&[mean], &[std]);
        assert!(
            matches!(error, Error::NormalizeValue { field, .. } if field == name),
            "{error}"
        );
    }
}

#[test]
fn a_transform_out_of_range_is_refused_with_its_field() {
    let bad = RandAugment {
        magnitude: 31,
        ..RandAugment::default()
    };
    let config = LoaderConfig {
        augment: Augment {
            transforms: vec![AutoAugment::default().into(), bad.into()],
            ..Augment::default()
        },
        ..LoaderConfig::default()
    };
    let error = DataLoader::new(pictures(4), config).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Image(ImageError::Range {
                field: "magnitude",
                ..
            })
        ),
        "{error}"
    );
}

#[test]
fn settings_are_written_and_read_and_strange_ones_refused() {
    let text = serde_json::to_string(&everything()).unwrap();
    assert_eq!(
        serde_json::from_str::<Augment>(&text).unwrap(),
        everything()
    );
    let text = serde_json::to_string(&policies()).unwrap();
    assert_eq!(serde_json::from_str::<Augment>(&text).unwrap(), policies());
    let before = r#"{"transforms": [{"rand-augment": {"ops": 3}}]}"#;
    assert_eq!(
        serde_json::from_str::<Augment>(before)
            .unwrap()
            .transforms
            .len(),
        1
    );
    serde_json::from_str::<Augment>(r#"{"transforms": [{"rand-augmnt": {}}]}"#).unwrap_err();
    let some: Augment = serde_json::from_str(r#"{"crop_padding": 4, "flip": true}"#).unwrap();
    let expected = Augment {
        crop_padding: 4,
        flip: true,
        ..Augment::default()
    };
    assert_eq!(some, expected);
    serde_json::from_str::<Augment>(r#"{"flop": true}"#).unwrap_err();
    let text = serde_json::to_string(&colors()).unwrap();
    assert_eq!(serde_json::from_str::<Normalize>(&text).unwrap(), colors());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn resuming_gives_the_changed_batches_that_were_left(
        batch_size in 1usize..12,
        first in 0usize..12,
        threads in 1usize..5,
        number: u64,
    ) {
        let whole = changed(&loader(everything(), None), |config| config.batch_size = batch_size);
        let left: Vec<Batch> = whole.epoch(number, 0).skip(first).map(Result::unwrap).collect();
        let threaded = changed(&whole, |config| config.threads = threads);
        let resumed: Vec<Batch> = threaded.epoch(number, first).map(Result::unwrap).collect();
        prop_assert_eq!(resumed, left);
    }

    #[test]
    fn pixels_stay_between_black_and_white(
        crop_padding in 0usize..30,
        flip: bool,
        shift in 0.0f32..=1.0,
        rotate in 0.0f32..=180.0,
        scale in 0.0f32..1.0,
        shear in 0.0f32..90.0,
        noise in 0.0f32..3.0,
        cutout in 0usize..30,
    ) {
        let augment = Augment { crop_padding, flip, shift, rotate, scale, shear, noise, cutout, ..Augment::default() };
        for image in by_number(&loader(augment, None), 0) {
            prop_assert!(image.iter().all(|pixel| (0.0..=1.0).contains(pixel)));
        }
    }
}
