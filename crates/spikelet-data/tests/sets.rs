//! Ready-made data sets in memory and their combinations.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use spikelet_data::{
    Column, Concat, DType, Dataset, Error, Events, Field, InMemory, Map, Subset, k_fold, pack_bits,
    split, synthetic,
};

/// The labels 0 to `len` − 1.
fn numbered(len: usize) -> Arc<InMemory> {
    let labels: Vec<i64> = (0..len as i64).collect();
    let field = Field::new("labels", DType::I64, []);
    Arc::new(InMemory::new("numbered").with(field, labels).unwrap())
}

fn labels(data: &dyn Dataset) -> Vec<i64> {
    (0..data.len())
        .map(|index| {
            data.sample(index)
                .unwrap()
                .require("labels")
                .unwrap()
                .as_i64()
                .unwrap()[0]
        })
        .collect()
}

#[test]
fn every_type_is_kept_in_memory() {
    let events = |n: usize| Events {
        t: vec![5; n].into(),
        x: vec![1; n].into(),
        y: vec![2; n].into(),
        p: vec![0; n].into(),
    };
    let bits = [pack_bits(&[1_u8; 65], &[65]), pack_bits(&[0_u8; 65], &[65])].concat();
    let data = InMemory::new("types")
        .with(Field::new("bytes", DType::U8, [2]), vec![1_u8, 2, 3, 4])
        .and_then(|d| d.with(Field::new("bits", DType::Bits, [65]), bits))
        .and_then(|d| d.with(Field::events("events"), vec![events(0), events(3)]))
        .and_then(|d| {
            let field = Field::new("walk", DType::F32, [0])
                .variable_axis(0)
                .pad(0.0);
            d.with_lengths(field, vec![1.0, 2.0, 3.0], &[1, 2])
        })
        .unwrap()
        .classes("bytes", vec!["a".into()]);
    let sample = data.sample(1).unwrap();
    assert_eq!(sample.require("bytes").unwrap().as_u8(), Some(&[3, 4][..]));
    assert_eq!(sample.require("bits").unwrap().as_bits(), Some(&[0, 0][..]));
    assert_eq!(
        sample.require("events").unwrap().as_events(),
        Some(&events(3))
    );
    assert_eq!(
        sample.require("walk").unwrap().as_f32(),
        Some(&[2.0, 3.0][..])
    );
    for (name, tensor) in sample.iter() {
        tensor.check(name).unwrap();
    }
    assert_eq!(data.class_names("bytes"), ["a"]);
    assert!(matches!(
        data.sample(2).unwrap_err(),
        Error::Index {
            index: 2,
            len: 2,
            ..
        }
    ));
    assert_eq!(sample.clone().into_owned(), sample);
}

#[test]
fn values_that_do_not_match_their_field_are_refused() {
    let field = |shape: &[usize]| Field::new("x", DType::F32, shape.iter().copied());
    let refused = |field: Field, values: Column, expected: &str| {
        let error = InMemory::new("wrong").with(field, values).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    refused(
        field(&[2]),
        vec![0.0_f32; 3].into(),
        "not a multiple of the 2",
    );
    refused(field(&[2]), vec![0_i64; 2].into(), "type i64");
    refused(field(&[0]), vec![0.0_f32; 2].into(), "at least 1");
    refused(
        field(&[usize::MAX, 3]),
        vec![0.0_f32; 2].into(),
        "must be known",
    );
    refused(
        field(&[2]).variable_axis(0),
        vec![0.0_f32; 2].into(),
        "with_lengths",
    );
    let uneven = Events {
        t: vec![0].into(),
        ..Events::default()
    };
    refused(Field::events("x"), vec![uneven].into(), "different lengths");
    let two = InMemory::new("two").with(field(&[]), vec![0.0; 2]).unwrap();
    let more = Field::new("y", DType::I64, []);
    let error = two.clone().with(more, vec![1_i64; 3]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("3 samples, the fields before it have 2"),
        "{error}"
    );
    assert!(matches!(
        two.with(field(&[]), vec![0.0; 2]),
        Err(Error::Field { .. })
    ));
    for lengths in [&[1, 1][..], &[usize::MAX, 2], &[4]] {
        let field = Field::new("x", DType::F32, [0, 1]).variable_axis(0);
        let error = InMemory::new("wrong").with_lengths(field, vec![0.0; 3], lengths);
        assert!(matches!(error, Err(Error::Column { .. })));
    }
}

#[test]
fn subsets_and_concatenations_have_the_samples_of_their_indices() {
    let data: Arc<dyn Dataset> = numbered(10);
    let subset = Arc::new(Subset::new(data.clone(), vec![7, 2, 2]).unwrap());
    assert_eq!(labels(&*subset), [7, 2, 2]);
    assert!(matches!(
        Subset::new(data.clone(), vec![3, 10]),
        Err(Error::Index { index: 10, .. })
    ));
    let empty = Arc::new(Subset::new(data.clone(), vec![]).unwrap());
    let all = Concat::new(vec![empty.clone(), subset.clone(), empty, numbered(2)]).unwrap();
    assert_eq!(labels(&all), [7, 2, 2, 0, 1]);
    all.sample(5).unwrap_err();
    let digits = synthetic::digits_of(0, 10, 10);
    let error = Concat::new(vec![data, digits.train]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("images: u8[1, 28, 28], an image"),
        "{error}"
    );
    assert!(matches!(Concat::new(vec![]), Err(Error::Concat { .. })));
}

#[test]
fn a_map_changes_samples_and_fields() {
    let map = Map::new(numbered(4), "negative", |sample| {
        let tensor = sample.require_mut("labels")?;
        let negative = -tensor.as_i64().unwrap_or(&[0])[0];
        *tensor = spikelet_data::SampleTensor::i64(&[], vec![negative]);
        Ok(())
    });
    assert_eq!(labels(&map), [0, -1, -2, -3]);
    assert_eq!(map.name(), "numbered, negative");
    assert!(map.clone().remove_field("labels").fields().is_empty());
    assert_ne!(map.digest().unwrap(), numbered(4).digest().unwrap());
}

#[test]
fn digests_tell_data_sets_apart() {
    let data: Arc<dyn Dataset> = numbered(10);
    let subset = |indices: &[usize]| Subset::new(data.clone(), indices.to_vec()).unwrap();
    let named = InMemory::new("other")
        .with(
            Field::new("labels", DType::I64, []),
            (0..10).collect::<Vec<i64>>(),
        )
        .unwrap();
    let digits = synthetic::digits_of(0, 10, 10);
    let digests: BTreeSet<[u8; 32]> = [
        data.digest(),
        numbered(9).digest(),
        named.digest(),
        subset(&[1, 2]).digest(),
        subset(&[2, 1]).digest(),
        Concat::new(vec![data.clone(), numbered(9)])
            .unwrap()
            .digest(),
        Concat::new(vec![numbered(9), data.clone()])
            .unwrap()
            .digest(),
        digits.train.digest(),
        digits.test.digest(),
    ]
    .into_iter()
    .map(Result::unwrap)
    .collect();
    assert_eq!(digests.len(), 9);
    assert_eq!(data.digest().unwrap(), numbered(10).digest().unwrap());
}

#[test]
fn parts_that_cannot_be_made_are_refused() {
    let data = || numbered(10);
    for fractions in [
        &[0.5, 0.6][..],
        &[0.0, 0.5],
        &[-0.1],
        &[f64::NAN],
        &[0.01],
        &[f64::INFINITY],
    ] {
        let error = split(data(), fractions, 0).unwrap_err();
        assert!(matches!(error, Error::Division { len: 10, .. }), "{error}");
    }
    for k in [0, 1, 11] {
        assert!(matches!(k_fold(data(), k, 0), Err(Error::Division { .. })));
    }
    assert!(split(data(), &[], 0).unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_sample_is_in_one_part(len in 10_usize..200, a in 0.2..0.5, b in 0.2..0.4, seed: u64) {
        let parts = split(numbered(len), &[a, b, 1.0 - a - b], seed).unwrap();
        let all: Vec<i64> = parts.iter().flat_map(|part| labels(&**part)).collect();
        prop_assert_eq!(all.len(), len);
        prop_assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), len);
        for part in &parts {
            prop_assert!(part.indices().is_sorted());
        }
        let again = split(numbered(len), &[a, b, 1.0 - a - b], seed).unwrap();
        prop_assert_eq!(labels(&*parts[1]), labels(&*again[1]));
    }

    #[test]
    fn every_sample_is_validated_once(len in 2_usize..100, k in 2_usize..20, seed: u64) {
        let k = k.min(len);
        let folds = k_fold(numbered(len), k, seed).unwrap();
        let mut all: Vec<i64> = Vec::new();
        for fold in &folds {
            let validation = labels(&*fold.validation);
            let train: BTreeSet<i64> = labels(&*fold.train).into_iter().collect();
            prop_assert!(validation.len().abs_diff(len / k) <= 1);
            prop_assert!(validation.iter().all(|label| !train.contains(label)));
            prop_assert_eq!(train.len() + validation.len(), len);
            all.extend(validation);
        }
        all.sort_unstable();
        prop_assert_eq!(all, (0..len as i64).collect::<Vec<_>>());
    }
}
