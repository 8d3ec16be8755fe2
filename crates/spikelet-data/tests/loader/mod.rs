//! The loader over data sets of one's own: threads, ranks, resuming, errors, sequences, padding, transforms, weights.

mod mixed;
mod prefetch;

use mixed::{Jitter, Mixed, all, config, loader, mixed};
use std::collections::BTreeMap;
use std::sync::Arc;

use spikelet_data::{
    Augment, Batch, BatchValues, DType, DataLoader, Dataset, Error, Field, InMemory, LoaderConfig,
    Result, Sample, SampleRandom, SampleTensor, Shard, TensorError, Values, WeightedSampling,
    unpack_bits,
};

#[test]
fn batches_are_the_same_for_any_number_of_threads() {
    let expected = all(loader(43, 5, 1).epoch(2, 0));
    assert_eq!(expected.len(), 9);
    for threads in [2, 3, 4, 20] {
        assert_eq!(all(loader(43, 5, threads).epoch(2, 0)), expected);
    }
    assert_ne!(all(loader(43, 5, 1).epoch(3, 0)), expected);
}

#[test]
fn an_epoch_resumes_at_every_batch() {
    let expected = all(loader(43, 5, 2).epoch(1, 0));
    for first in 0..=expected.len() {
        for threads in [1, 2, 4] {
            let rest = all(loader(43, 5, threads).epoch(1, first));
            assert_eq!(rest, expected[first..]);
        }
    }
}

#[test]
fn ranks_together_have_the_batches_of_one() {
    let expected = all(loader(43, 5, 2).epoch(1, 0));
    for ranks in 1..=4 {
        for first_sample in [0, 15] {
            let shard = |rank| Shard {
                rank,
                ranks,
                first_sample,
            };
            let mut batches: Vec<Batch> = (0..ranks)
                .flat_map(|rank| all(loader(43, 5, 2).shard(1, shard(rank))))
                .collect();
            batches.sort_by_key(|batch| batch.index_in_epoch);
            assert_eq!(batches, expected[first_sample / 5..]);
        }
    }
}

#[test]
fn recycled_batches_do_not_keep_former_values() {
    let expected = all(loader(43, 5, 1).epoch(2, 0));
    for threads in [1, 2, 4] {
        let mut batches = loader(43, 5, threads).epoch(2, 0);
        for expected in &expected {
            let batch = batches.next().unwrap().unwrap();
            assert_eq!(batch, *expected);
            batches.recycle(batch);
        }
    }
}

#[test]
fn an_error_names_the_sample_and_ends_the_epoch() {
    for threads in [1, 2, 4] {
        let damaged = Mixed {
            len: 30,
            damaged: Some(17),
        };
        let config = LoaderConfig {
            shuffle: false,
            ..config(5, threads)
        };
        let mut batches = DataLoader::new(Arc::new(damaged), config)
            .unwrap()
            .epoch(0, 0);
        for index in 0..3 {
            assert_eq!(batches.next().unwrap().unwrap().index_in_epoch, index);
        }
        let error = batches.next().unwrap().unwrap_err();
        assert!(matches!(error, Error::Sample { index: 17, .. }));
        assert_eq!(
            error.to_string(),
            "data set `mixed`, sample 17: recording 17 ends early"
        );
        assert!(batches.next().is_none());
        assert_eq!(batches.len(), 0);
    }
}

#[test]
fn sequences_put_time_first_and_images_of_all_frames_are_changed_alike() {
    let config = LoaderConfig {
        shuffle: false,
        augment: Augment::default(),
        normalize: None,
        ..config(4, 1)
    };
    let data = mixed(8);
    let loader = DataLoader::new(data.clone(), config.clone()).unwrap();
    let batch = &all(loader.epoch(0, 0))[1];
    let video = batch.require("video").unwrap();
    assert_eq!(
        (&video.shape[..], video.batch_axis),
        (&[3, 4, 1, 4, 6][..], 1)
    );
    let raster = batch.require("raster").unwrap();
    assert_eq!(raster.shape, [4, 4, 70]);
    let bits = unpack_bits(raster.as_bits().unwrap(), &raster.shape);
    for k in 0..4 {
        let sample = data.sample(4 + k).unwrap();
        let frames = sample.get("video").unwrap().as_u8().unwrap();
        let own = unpack_bits(sample.get("raster").unwrap().as_bits().unwrap(), &[4, 70]);
        for t in 0..3 {
            let frame: Vec<f32> = frames[t * 24..][..24]
                .iter()
                .map(|&p| f32::from(p) / 255.0)
                .collect();
            assert_eq!(video.as_f32().unwrap()[(t * 4 + k) * 24..][..24], frame);
        }
        for t in 0..4 {
            assert_eq!(bits[(t * 4 + k) * 70..][..70], own[t * 70..][..70]);
        }
    }
    let events = batch.require("events").unwrap();
    assert_eq!(events.shape, [4]);
    let events = events.as_events().unwrap();
    for k in 0..4 {
        let own = events.sample(k).unwrap();
        assert_eq!(own.len(), Some((4 + k) % 3));
        assert!(own.x.iter().all(|&x| usize::from(x) == 4 + k));
    }

    // A flip of one frame is a flip of all: constant frames of different values stay in step.
    let flipped = LoaderConfig {
        augment: Augment {
            flip: true,
            ..Augment::default()
        },
        ..config
    };
    let plain = all(loader.epoch(0, 0));
    let flipped = all(DataLoader::new(data, flipped).unwrap().epoch(0, 0));
    let mut seen = BTreeMap::new();
    for (plain, flipped) in plain.iter().zip(&flipped) {
        let (a, b) = (plain.f32("video").unwrap(), flipped.f32("video").unwrap());
        for k in 0..4 {
            let same: Vec<bool> = (0..3)
                .map(|t| a[(t * 4 + k) * 24..][..24] == b[(t * 4 + k) * 24..][..24])
                .collect();
            assert!(same.iter().all(|s| *s == same[0]), "{same:?}");
            *seen.entry(same[0]).or_insert(0) += 1;
        }
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

#[test]
fn shorter_samples_are_padded_and_their_lengths_kept() {
    let config = LoaderConfig {
        shuffle: false,
        ..config(3, 1)
    };
    let batch = &all(DataLoader::new(mixed(3), config).unwrap().epoch(0, 0))[0];
    let walk = batch.require("walk").unwrap();
    // Samples of 1, 2 and 3 steps.
    assert_eq!(walk.shape, [3, 3, 2]);
    let expected = [
        [0., 1., 100., 101., 200., 201.],
        [-1., -1., 102., 103., 202., 203.],
        [-1., -1., -1., -1., 204., 205.],
    ];
    assert_eq!(walk.as_f32().unwrap(), expected.as_flattened());
    assert_eq!(batch.i64("walk_length").unwrap(), [1, 2, 3]);
}

#[test]
fn padding_fills_every_axis_to_a_fixed_size() {
    let field = Field::new("x", DType::I64, [3, 2]).pad(9.0);
    #[derive(Debug)]
    struct Sizes(Field);
    impl Dataset for Sizes {
        fn name(&self) -> &str {
            "sizes"
        }
        fn len(&self) -> usize {
            2
        }
        fn fields(&self) -> Vec<Field> {
            vec![self.0.clone()]
        }
        fn sample(&self, index: usize) -> Result<Sample<'_>> {
            let (shape, values) =
                [([2, 1], vec![1, 2]), ([3, 2], vec![3, 4, 5, 6, 7, 8])][index].clone();
            Ok(Sample::new().with("x", SampleTensor::i64(&shape, values)))
        }
        fn digest(&self) -> Result<[u8; 32]> {
            Ok([0; 32])
        }
    }
    let config = LoaderConfig {
        batch_size: 2,
        shuffle: false,
        ..LoaderConfig::default()
    };
    let load = |field: Field| {
        let loader = DataLoader::new(Arc::new(Sizes(field)), config.clone()).unwrap();
        loader.epoch(0, 0).next().unwrap()
    };
    let batch = load(field.clone()).unwrap();
    assert_eq!(batch.require("x").unwrap().shape, [2, 3, 2]);
    assert_eq!(
        batch.i64("x").unwrap(),
        [1, 9, 2, 9, 9, 9, 3, 4, 5, 6, 7, 8]
    );
    // Variable axes are padded to the largest sample.
    let batch = load(field.clone().variable_axis(0).variable_axis(1)).unwrap();
    assert_eq!(
        batch.i64("x").unwrap(),
        [1, 9, 2, 9, 9, 9, 3, 4, 5, 6, 7, 8]
    );
    // A sample that is too large, and samples of different sizes without a pad value.
    let small = Field::new("x", DType::I64, [2, 2]).pad(0.0);
    let mut unpadded = field.variable_axis(0).variable_axis(1);
    unpadded.pad = None;
    for field in [small, unpadded] {
        let error = load(field).unwrap_err();
        let Error::Sample {
            index: 1, source, ..
        } = &error
        else {
            panic!("{error}")
        };
        let is_shape = matches!(&**source, Error::Tensor(TensorError::Shape { .. }));
        assert!(is_shape, "{error}");
    }
}

#[test]
fn samples_that_are_not_as_described_are_errors() {
    #[derive(Debug)]
    struct Wrong(Field, Sample<'static>);
    impl Dataset for Wrong {
        fn name(&self) -> &str {
            "wrong"
        }
        fn len(&self) -> usize {
            1
        }
        fn fields(&self) -> Vec<Field> {
            vec![self.0.clone()]
        }
        fn sample(&self, _: usize) -> Result<Sample<'_>> {
            Ok(self.1.clone())
        }
        fn digest(&self) -> Result<[u8; 32]> {
            Ok([0; 32])
        }
    }
    let field = Field::new("x", DType::F32, [2]);
    let error = |sample: Sample<'static>| {
        let data = Wrong(field.clone(), sample);
        let loader = DataLoader::new(Arc::new(data), LoaderConfig::default()).unwrap();
        loader.epoch(0, 0).next().unwrap().unwrap_err().to_string()
    };
    let x = |tensor| Sample::new().with("x", tensor);
    let missing = error(Sample::new().with("y", SampleTensor::f32(&[], vec![0.0])));
    assert!(missing.contains("no tensor `x`; there are: y"), "{missing}");
    let element = error(x(SampleTensor::i64(&[2], vec![0, 1])));
    assert!(element.contains("type i64, expected f32"), "{element}");
    let values = error(x(SampleTensor::f32(&[2], vec![0.0; 3])));
    assert!(values.contains("has 3 values, expected 2"), "{values}");
    let shape = error(x(SampleTensor::f32(&[3], vec![0.0; 3])));
    assert!(shape.contains("shape [3], expected [2]"), "{shape}");
    let empty = Wrong(
        Field::image("x", [1, 2, 2]).variable_axis(1),
        x(SampleTensor::u8(&[1, 0, 2], vec![])),
    );
    let empty = DataLoader::new(Arc::new(empty), config(1, 1)).unwrap();
    let empty = empty.epoch(0, 0).next().unwrap().unwrap_err().to_string();
    assert!(empty.contains("expected an image with pixels"), "{empty}");
    let huge = error(x(SampleTensor::f32(&[usize::MAX, 8], vec![0.0; 3])));
    assert!(huge.contains("has 3 values"), "{huge}");
}

#[test]
fn fields_that_cannot_be_stacked_are_refused() {
    let f32 = |shape: &[usize]| Field::new("x", DType::F32, shape.iter().copied());
    let mut image = f32(&[1, 2, 2]);
    image.image = true;
    let length = Field::new("x_length", DType::I64, []);
    let cases: [(Vec<Field>, &str); 9] = [
        (vec![f32(&[]), f32(&[])], "unique"),
        (vec![f32(&[2]).pad(0.0), length], "unique"),
        (vec![image], "u8 of 3 axes"),
        (vec![f32(&[]).sequence()], "time axis"),
        (
            vec![Field::new("x", DType::Bits, [4]).sequence()],
            "one more",
        ),
        (vec![f32(&[]).pad(0.0)], "no axis to pad"),
        (vec![Field::new("x", DType::U8, [2]).pad(0.5)], "pad value"),
        (vec![Field::events("x").sequence()], "neither a sequence"),
        (
            vec![Field::new("x", DType::BF16, [2])],
            "u8, i64, f32 and bits",
        ),
    ];
    #[derive(Debug)]
    struct Fields(Vec<Field>);
    impl Dataset for Fields {
        fn name(&self) -> &str {
            "fields"
        }
        fn len(&self) -> usize {
            1
        }
        fn fields(&self) -> Vec<Field> {
            self.0.clone()
        }
        fn sample(&self, _: usize) -> Result<Sample<'_>> {
            Ok(Sample::new())
        }
        fn digest(&self) -> Result<[u8; 32]> {
            Ok([0; 32])
        }
    }
    for (fields, expected) in cases {
        let error = DataLoader::new(Arc::new(Fields(fields)), LoaderConfig::default()).unwrap_err();
        assert!(matches!(error, Error::Field { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    // Nothing to normalize.
    let data = Fields(vec![f32(&[2])]);
    let error = DataLoader::new(Arc::new(data), config(1, 1)).unwrap_err();
    assert!(matches!(error, Error::NoImage { .. }), "{error}");
}

#[test]
fn weighted_sampling_draws_by_the_weights_and_resumes() {
    let labels: Vec<i64> = (0..10).collect();
    let data = InMemory::new("ten")
        .with(Field::new("labels", DType::I64, []), labels)
        .unwrap();
    let data = Arc::new(data);
    let weights = [0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 0.0];
    let config = LoaderConfig {
        batch_size: 1000,
        weighted: Some(WeightedSampling {
            weights: weights.into(),
            samples: 32_000,
        }),
        threads: 2,
        ..LoaderConfig::default()
    };
    let loader = DataLoader::new(data.clone(), config.clone()).unwrap();
    let batches = all(loader.epoch(4, 0));
    assert_eq!((loader.len(), batches.len()), (32, 32));
    let mut counts = [0.0; 10];
    for batch in &batches {
        for (&label, &index) in batch.i64("labels").unwrap().iter().zip(&batch.indices) {
            assert_eq!(label, i64::from(index));
            counts[label as usize] += 1.0;
        }
    }
    for (count, weight) in counts.into_iter().zip(weights) {
        let expected: f64 = weight * 2_000.0;
        let deviation = (expected * (1.0 - weight / 16.0)).sqrt();
        assert!((count - expected).abs() <= 4.0 * deviation, "{counts:?}");
    }
    assert_eq!(all(loader.epoch(4, 11)), batches[11..]);
    assert_ne!(all(loader.epoch(5, 0)), batches);

    for (weights, samples) in [
        (vec![1.0; 9], 10),
        (vec![0.0; 10], 10),
        (vec![-1.0; 10], 10),
        (vec![f64::NAN; 10], 10),
        (vec![f64::MAX; 10], 10),
        (vec![1.0; 10], usize::MAX),
    ] {
        let weighted = WeightedSampling {
            weights: weights.into(),
            samples,
        };
        let config = LoaderConfig {
            weighted: Some(weighted),
            ..config.clone()
        };
        let error = DataLoader::new(data.clone(), config).unwrap_err();
        assert!(matches!(error, Error::Weights { .. }), "{error}");
    }
}

#[test]
fn a_sample_that_is_drawn_twice_is_changed_differently() {
    let config = LoaderConfig {
        batch_size: 64,
        weighted: Some(WeightedSampling {
            weights: [1.0].into(),
            samples: 64,
        }),
        ..config(64, 1)
    };
    let loader = DataLoader::new(mixed(1), config)
        .unwrap()
        .transform(Jitter)
        .unwrap();
    let batch = &all(loader.epoch(0, 0))[0];
    let mut positions: Vec<u32> = batch
        .f32("position")
        .unwrap()
        .iter()
        .map(|p| p.to_bits())
        .collect();
    positions.sort_unstable();
    positions.dedup();
    assert_eq!(positions.len(), 128);
}

#[test]
fn random_numbers_of_a_transform_are_its_own() {
    let of = |position| {
        let mut random = SampleRandom::of_sample(3, 1, 9).of_transform(position);
        let mut again = SampleRandom::of_sample(3, 1, 9).of_transform(position);
        let words: Vec<u32> = (0..9).map(|_| random.next_u32()).collect();
        assert!(words.iter().all(|&word| word == again.next_u32()));
        words
    };
    assert_ne!(of(0), of(1));
    let mut batch = SampleRandom::of_batch(3, 1, 9);
    assert_ne!(of(0)[0], batch.next_u32());
    assert_eq!(SampleRandom::of_sample(0, 0, 0).below(0), 0);
    let mut random = SampleRandom::of_sample(0, 0, 0);
    assert!((0..100).all(|_| random.below(3) < 3 && !random.chance(0.0) && random.chance(1.0)));
}

#[test]
fn samples_in_memory_are_copied_only_into_the_batch() {
    let values: Vec<f32> = (0..60).map(|v| v as f32).collect();
    let data = InMemory::new("borrowed")
        .with(Field::new("x", DType::F32, [6]), values)
        .unwrap();
    let sample = data.sample(3).unwrap();
    let tensor = sample.require("x").unwrap();
    assert!(matches!(&tensor.values, Values::F32(std::borrow::Cow::Borrowed(x)) if x[0] == 18.0));
    let batch = all(DataLoader::new(Arc::new(data), LoaderConfig::default())
        .unwrap()
        .epoch(0, 0));
    assert!(matches!(&batch[0].require("x").unwrap().values, BatchValues::F32(x) if x.len() == 60));
}
