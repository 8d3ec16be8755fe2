//! Batches: their order, their content, and the threads that make them.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use spikelet_data::{Augment, Batch, DataLoader, Error, InMemory, LoaderConfig, Result, Shard};

/// `len` images of two pixels, by which each is known.
fn numbered(len: usize) -> Arc<InMemory> {
    let pixels = (0..len).flat_map(|index| [index as u8, 255]).collect();
    let labels = (0..len).map(|index| (index % 3) as u32).collect();
    Arc::new(images(pixels, labels, [1, 1, 2]).unwrap())
}

/// Images of three classes.
fn images(pixels: Vec<u8>, labels: Vec<u32>, shape: [usize; 3]) -> Result<InMemory> {
    let classes = ["a", "b", "c"].map(String::from).into();
    InMemory::images("numbered", pixels, labels, shape, classes)
}

fn loader(len: usize, batch_size: usize, shuffle: bool, drop_last: bool) -> DataLoader {
    let config = LoaderConfig {
        batch_size,
        shuffle,
        drop_last,
        seed: 11,
        ..LoaderConfig::default()
    };
    DataLoader::new(numbered(len), config).unwrap()
}

/// The same with so many threads.
fn threaded(loader: &DataLoader, threads: usize) -> DataLoader {
    let config = LoaderConfig {
        threads,
        ..loader.config().clone()
    };
    DataLoader::new(loader.dataset().clone(), config).unwrap()
}

fn order(loader: &DataLoader, epoch: u64) -> Vec<u32> {
    loader
        .epoch(epoch, 0)
        .flat_map(|batch| batch.unwrap().indices)
        .collect()
}

#[test]
fn without_shuffling_the_order_is_the_data_sets() {
    let loader = loader(10, 4, false, false);
    assert_eq!(order(&loader, 5), (0..10).collect::<Vec<_>>());
}

#[test]
fn a_batch_holds_the_pixels_and_labels_of_its_indices() {
    for batch in loader(100, 7, true, false).epoch(3, 0) {
        let batch = batch.unwrap();
        let (images, labels) = (batch.f32("images").unwrap(), batch.i64("labels").unwrap());
        for (place, &index) in batch.indices.iter().enumerate() {
            assert_eq!(images[2 * place], index as f32 / 255.0);
            assert_eq!(images[2 * place + 1], 1.0);
            assert_eq!(labels[place], i64::from(index % 3));
        }
    }
}

#[test]
fn an_epoch_has_every_image_once_and_each_epoch_its_own_order() {
    let loader = loader(101, 10, true, false);
    let epochs: Vec<_> = [0, 1, 2, 1 << 32, u64::MAX]
        .map(|epoch| order(&loader, epoch))
        .into();
    for order in &epochs {
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 101);
    }
    assert_eq!(epochs.iter().collect::<BTreeSet<_>>().len(), epochs.len());
}

#[test]
fn the_order_depends_on_the_seed_and_the_epoch_alone() {
    let first = loader(50, 8, true, false);
    let _ = order(&first, 0);
    assert_eq!(order(&first, 4), order(&loader(50, 8, true, false), 4));
    // Another batch size cuts the same order.
    assert_eq!(order(&first, 4), order(&loader(50, 13, true, false), 4));
    let other = LoaderConfig {
        seed: 12,
        ..first.config().clone()
    };
    let other = DataLoader::new(numbered(50), other).unwrap();
    assert_ne!(order(&first, 4), order(&other, 4));
}

#[test]
fn the_order_is_the_same_on_every_machine_and_in_every_version() {
    assert_eq!(
        order(&loader(10, 4, true, false), 3),
        [1, 4, 3, 7, 5, 9, 0, 2, 8, 6]
    );
}

#[test]
fn an_incomplete_batch_comes_last_or_not_at_all() {
    let sizes = |loader: &DataLoader| -> Vec<usize> {
        assert_eq!(loader.epoch(0, 0).len(), loader.len());
        loader
            .epoch(0, 0)
            .map(|batch| batch.unwrap().len())
            .collect()
    };
    assert_eq!(sizes(&loader(10, 4, true, false)), [4, 4, 2]);
    assert_eq!(sizes(&loader(10, 4, true, true)), [4, 4]);
    assert_eq!(sizes(&loader(8, 4, true, true)), [4, 4]);
    assert_eq!(sizes(&loader(8, 100, true, false)), [8]);
}

#[test]
fn an_epoch_may_be_dropped_anywhere() {
    for threads in [1, 3] {
        let loader = threaded(&loader(250, 1, true, false), threads);
        for taken in [0, 1, 5, 249, 250] {
            let mut batches = loader.epoch(0, 0);
            assert_eq!(batches.by_ref().take(taken).count(), taken);
            assert_eq!(batches.len(), 250 - taken);
            drop(batches);
        }
        // The threads have ended and let go of the data set: the loader's hold is the only one
        // left.
        assert_eq!(Arc::strong_count(loader.dataset()), 1);
    }
}

#[test]
fn recycled_batches_hold_nothing_of_their_former_content() {
    let loader = loader(103, 10, true, false);
    let expected: Vec<Batch> = loader.epoch(2, 0).map(Result::unwrap).collect();
    for threads in [1, 2] {
        let mut batches = threaded(&loader, threads).epoch(2, 0);
        let mut count = 0;
        while let Some(batch) = batches.next().transpose().unwrap() {
            assert_eq!(batch, expected[count]);
            batches.recycle(batch);
            count += 1;
        }
        assert_eq!(count, 11);
    }
}

#[test]
fn batch_sizes_that_make_no_batch_are_refused() {
    for (batch_size, drop_last) in [(0, false), (0, true), (11, true)] {
        let config = LoaderConfig {
            batch_size,
            shuffle: true,
            drop_last,
            ..LoaderConfig::default()
        };
        let error = DataLoader::new(numbered(10), config).unwrap_err();
        assert!(matches!(error, Error::BatchSize { len: 10, .. }), "{error}");
    }
}

#[test]
fn images_that_do_not_fit_their_shape_are_refused() {
    let refused = |pixels: usize, labels: &[u32], shape| {
        images(vec![0; pixels], labels.to_vec(), shape).unwrap_err()
    };
    let error = refused(19, &[0; 10], [1, 1, 2]);
    assert!(
        matches!(
            error,
            Error::ImageBytes {
                found: 19,
                expected: 20,
                ..
            }
        ),
        "{error}"
    );
    let error = refused(10, &[0, 1, 2, 1, 3], [1, 1, 2]);
    assert!(matches!(error, Error::Label { index: 4, .. }), "{error}");
    for shape in [[1, 0, 2], [usize::MAX, 2, 2]] {
        let error = refused(20, &[0; 10], shape);
        assert!(matches!(error, Error::Shape { .. }), "{error}");
    }
    let error = refused(0, &[], [1, 1, 2]);
    assert!(matches!(error, Error::Shape { len: 0, .. }), "{error}");
}

/// The batches of all ranks, in the order of the epoch.
fn shared(loader: &DataLoader, ranks: usize, first_sample: usize) -> Vec<Batch> {
    let shard = |rank| Shard {
        rank,
        ranks,
        first_sample,
    };
    let all = (0..ranks).flat_map(|rank| loader.shard(3, shard(rank)));
    let mut all: Vec<Batch> = all.map(Result::unwrap).collect();
    all.sort_by_key(|batch| batch.index_in_epoch);
    all
}

#[test]
fn ranks_together_make_the_batches_that_one_makes() {
    for ranks in 1..=5 {
        let loader = loader(103, 7, true, false);
        let alone: Vec<Batch> = loader.epoch(3, 0).map(Result::unwrap).collect();
        assert_eq!(shared(&loader, ranks, 0), alone);
        assert_eq!(shared(&loader, ranks, 21), alone[3..]);
    }
}

#[test]
fn ranks_that_leave_incomplete_batches_out_make_equally_many() {
    let loader = loader(103, 7, true, true);
    for ranks in 1..=5 {
        for rank in 0..ranks {
            let shard = Shard {
                rank,
                ranks,
                first_sample: 10,
            };
            assert_eq!(loader.shard(0, shard).len(), 93 / (7 * ranks));
        }
    }
}

#[test]
fn how_an_image_is_changed_does_not_depend_on_the_rank_that_has_it() {
    let config = LoaderConfig {
        batch_size: 4,
        augment: Augment {
            noise: 0.1,
            flip: true,
            ..Augment::default()
        },
        ..LoaderConfig::default()
    };
    let loader = DataLoader::new(numbered(32), config).unwrap();
    assert_eq!(shared(&loader, 4, 0), shared(&loader, 1, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn resuming_gives_the_batches_that_were_left(
        len in 1usize..60,
        batch_size in 1usize..20,
        first in 0usize..20,
        shuffle: bool,
        epoch: u64,
        threads in 0usize..5,
    ) {
        let loader = loader(len, batch_size, shuffle, false);
        let left: Vec<Batch> = loader.epoch(epoch, 0).skip(first).map(Result::unwrap).collect();
        let resumed: Vec<Batch> = threaded(&loader, threads).epoch(epoch, first).map(Result::unwrap).collect();
        prop_assert_eq!(&resumed, &left);
        prop_assert_eq!(resumed.len(), loader.len().saturating_sub(first));
        if let Some(batch) = resumed.first() {
            prop_assert_eq!(batch.index_in_epoch, first);
        }
    }
}
