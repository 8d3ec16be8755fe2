//! The batches that the threads of a loader prepare in advance.

use super::mixed::{Jitter, Weights, all, config, loader, mixed};
use spikelet_data::{
    DType, DataLoader, Dataset, Field, LoaderConfig, Result, Sample, SampleTensor,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Samples of 1 KiB that record the largest index that was read.
#[derive(Debug)]
struct Recorded(AtomicUsize);

impl Dataset for Recorded {
    fn name(&self) -> &str {
        "recorded"
    }
    fn len(&self) -> usize {
        80
    }
    fn fields(&self) -> Vec<Field> {
        vec![Field::new("x", DType::F32, [256])]
    }
    fn sample(&self, index: usize) -> Result<Sample<'_>> {
        self.0.fetch_max(index, Ordering::SeqCst);
        Ok(Sample::new().with("x", SampleTensor::f32(&[256], vec![index as f32; 256])))
    }
    fn digest(&self) -> Result<[u8; 32]> {
        Ok([0; 32])
    }
}

#[test]
fn threads_are_as_many_batches_ahead_as_their_bytes_allow() {
    const SAMPLES: usize = 4;
    const BYTES: usize = SAMPLES * 1024;
    for threads in [1, 2, 4, 7] {
        for allowed in [0, 1, 2, 3, 100] {
            let data = Arc::new(Recorded(AtomicUsize::new(0)));
            let config = LoaderConfig {
                batch_size: SAMPLES,
                shuffle: false,
                threads,
                // Less than one batch more.
                prefetch_bytes: (allowed + 1) * BYTES - 1,
                ..LoaderConfig::default()
            };
            let mut batches = DataLoader::new(data.clone(), config).unwrap().epoch(0, 0);
            let mut ahead = 0;
            for index in 0..20 {
                // Time to be further ahead than is allowed.
                thread::sleep(Duration::from_millis(1));
                let begun = data.0.load(Ordering::SeqCst) / SAMPLES;
                ahead = ahead.max((begun + 1).saturating_sub(index));
                let batch = batches.next().unwrap().unwrap();
                assert_eq!(batch.f32("x").unwrap()[0], (index * SAMPLES) as f32);
                if index % 2 == 0 {
                    batches.recycle(batch);
                }
            }
            assert!(batches.next().is_none());
            assert!(
                ahead <= allowed.max(1),
                "{threads} threads, {allowed}: {ahead}"
            );
        }
    }
}

#[test]
fn batches_do_not_depend_on_the_memory_for_prepared_ones() {
    let expected = all(loader(43, 5, 1).epoch(2, 0));
    for threads in [1, 2, 4] {
        for prefetch_bytes in [0, 3000, 10_000, usize::MAX] {
            let config = LoaderConfig {
                prefetch_bytes,
                ..config(5, threads)
            };
            let loader = DataLoader::new(mixed(43), config)
                .and_then(|loader| loader.transform(Jitter))
                .and_then(|loader| loader.batch_transform(Weights))
                .unwrap();
            assert_eq!(all(loader.epoch(2, 0)), expected);
            // An epoch that is not read to its end.
            let first = loader.epoch(2, 0).next().unwrap().unwrap();
            assert_eq!(first, expected[0]);
        }
    }
}
