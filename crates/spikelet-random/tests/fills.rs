//! Every fill writes the numbers of the methods for one element, for every range.

use proptest::prelude::*;
use spikelet_random::{ActiveGroups, RandomError, Stream};

fn streams() -> impl Strategy<Value = Stream> {
    (any::<u64>(), any::<u32>(), any::<u32>()).prop_map(|(seed, id, step)| Stream {
        seed,
        id,
        step,
    })
}

/// Small numbers, and those around the end of the low word of the group.
fn first_elements() -> impl Strategy<Value = u64> {
    prop_oneof![0..200_u64, (1_u64 << 34) - 200..(1 << 34) + 200]
}

/// Rows with many zeros, some ones, and some values outside [0, 1].
fn probabilities() -> impl Strategy<Value = Vec<f32>> {
    let one = prop_oneof![
        6 => Just(0.0_f32),
        3 => 0.0..1.0_f32,
        1 => Just(1.0),
        1 => prop_oneof![Just(-0.5), Just(2.0), Just(f32::NAN), Just(1e-8)],
    ];
    prop::collection::vec(one, 0..300)
}

fn bits_of(values: impl IntoIterator<Item = f32>) -> Vec<u32> {
    values.into_iter().map(f32::to_bits).collect()
}

proptest! {
    #[test]
    fn uniform_and_normal_fills_equal_the_definition_for_one_element(
        stream in streams(), time: u32, first in first_elements(), len in 0..300_usize,
    ) {
        let elements = || (first..).take(len);
        let mut out = vec![f32::NAN; len];
        stream.fill_uniform(time, first, &mut out);
        prop_assert_eq!(
            bits_of(out.iter().copied()),
            bits_of(elements().map(|e| stream.uniform(time, e)))
        );
        stream.fill_normal(time, first, &mut out);
        prop_assert_eq!(bits_of(out), bits_of(elements().map(|e| stream.normal(time, e))));
    }

    #[test]
    fn bernoulli_fills_equal_the_definition_for_one_element(
        stream in streams(), time: u32, first in first_elements(), p in probabilities(),
    ) {
        let expected: Vec<bool> =
            (first..).zip(&p).map(|(e, p)| stream.bernoulli(time, e, *p)).collect();
        let mut out = vec![f32::NAN; p.len()];
        stream.fill_bernoulli(time, first, &p, &mut out).unwrap();
        prop_assert_eq!(out, expected.iter().map(|b| f32::from(*b)).collect::<Vec<_>>());

        let aligned = first / 4 * 4;
        let mut packed = vec![0_u64; p.len().div_ceil(64)];
        for (i, p) in p.iter().enumerate() {
            let fires = stream.bernoulli(time, aligned + i as u64, *p);
            packed[i / 64] |= u64::from(fires) << (i % 64);
        }
        let mut bits = vec![u64::MAX; packed.len()];
        stream.fill_bernoulli_bits(time, aligned, &p, &mut bits).unwrap();
        prop_assert_eq!(&bits, &packed);

        let active = ActiveGroups::new(&p);
        let mut bits = vec![u64::MAX; packed.len()];
        active.fill_bernoulli_bits(&stream, time, aligned, &mut bits).unwrap();
        prop_assert_eq!(&bits, &packed);
    }

    #[test]
    fn a_range_filled_in_two_parts_equals_the_range_filled_at_once(
        stream in streams(), time: u32, first in first_elements(), len in 0..300_usize, cut: prop::sample::Index,
    ) {
        let cut = cut.index(len + 1);
        for fill in [Stream::fill_uniform, Stream::fill_normal] {
            let (mut complete, mut parts) = (vec![0.0; len], vec![0.0; len]);
            fill(&stream, time, first, &mut complete);
            let (left, right) = parts.split_at_mut(cut);
            fill(&stream, time, first, left);
            fill(&stream, time, first + cut as u64, right);
            prop_assert_eq!(bits_of(complete), bits_of(parts));
        }
    }
}

const STREAM: Stream = Stream {
    seed: 1,
    id: 2,
    step: 3,
};

#[test]
fn only_groups_that_can_fire_are_active() {
    let mut p = [0.0; 41];
    assert_eq!(ActiveGroups::new(&p).active(), 0);
    p[3] = 0.5;
    p[40] = 1.0;
    // Below the smallest number a draw can be.
    p[20] = 1e-8;
    p[24] = -1.0;
    let active = ActiveGroups::new(&p);
    assert_eq!(
        (active.len(), active.active(), active.is_empty()),
        (41, 2, false)
    );
}

#[test]
fn uniform_numbers_have_the_mean_and_the_variance_of_the_unit_interval() {
    let mut out = vec![0.0; 100_000];
    STREAM.fill_uniform(0, 0, &mut out);
    assert!(out.iter().all(|u| *u > 0.0 && *u <= 1.0));
    let mean = out.iter().map(|u| f64::from(*u)).sum::<f64>() / 1e5;
    let square = out.iter().map(|u| f64::from(*u).powi(2)).sum::<f64>() / 1e5;
    assert!(
        (mean - 0.5).abs() < 0.004 && (square - 1.0 / 3.0).abs() < 0.004,
        "{mean} {square}"
    );
}

#[test]
fn every_field_of_the_stream_changes_the_draws() {
    let base = STREAM.word(0, 0);
    let others = [
        Stream { seed: 2, ..STREAM }.word(0, 0),
        Stream {
            seed: 1 | 1 << 32,
            ..STREAM
        }
        .word(0, 0),
        Stream { id: 3, ..STREAM }.word(0, 0),
        Stream { step: 4, ..STREAM }.word(0, 0),
        STREAM.word(1, 0),
        STREAM.word(0, 1),
        STREAM.word(0, 4),
    ];
    assert!(others.iter().all(|other| *other != base));
}

#[test]
fn normal_draws_keep_their_bits() {
    let mut out = [0.0; 4];
    STREAM.fill_normal(0, 0, &mut out);
    assert_eq!(
        out.map(f32::to_bits),
        [0x3e9d_24ac, 0xc01d_298d, 0xbf8a_3fb7, 0x3efc_abf7]
    );
}

#[test]
fn lengths_that_do_not_match_are_reported() {
    let error = STREAM
        .fill_bernoulli(0, 0, &[0.5; 3], &mut [0.0; 4])
        .unwrap_err();
    assert_eq!(
        error,
        RandomError::Length {
            probabilities: 3,
            expected: 3,
            given: 4
        }
    );
    let error = STREAM
        .fill_bernoulli_bits(0, 0, &[0.5; 65], &mut [0; 1])
        .unwrap_err();
    assert_eq!(
        error,
        RandomError::Length {
            probabilities: 65,
            expected: 2,
            given: 1
        }
    );
}

#[test]
fn packed_bits_that_start_within_a_group_are_reported() {
    let active = ActiveGroups::new(&[0.5; 3]);
    let error = active
        .fill_bernoulli_bits(&STREAM, 0, 6, &mut [0; 1])
        .unwrap_err();
    assert_eq!(error, RandomError::Unaligned { first_element: 6 });
}
