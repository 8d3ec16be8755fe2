//! The bits of every function, pinned: a change of one bit anywhere, by an edit, a compiler or a
//! machine, fails here.

use super::*;

/// Over 2¹⁶ numbers of every sign and exponent, mixes the results into one word; all NaNs count
/// as the same.
fn fingerprint(function: impl Fn(f32) -> f32) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for x in ulp::all_exponents(1 << 16) {
        let result = function(x);
        let bits = if result.is_nan() {
            0x7fc0_0000
        } else {
            result.to_bits()
        };
        hash = (hash ^ u64::from(bits))
            .wrapping_mul(0x0000_0100_0000_01b3)
            .rotate_left(29);
    }
    hash
}

#[test]
fn every_function_keeps_the_bits_it_had_when_it_was_written() {
    let got = [
        ("exp", fingerprint(exp), 0x4f50_2855_1b14_1788),
        ("ln", fingerprint(ln), 0x6aae_2ef3_9d6b_a553),
        ("ln_1p", fingerprint(ln_1p), 0xd8d6_0035_0877_63e2),
        ("tanh", fingerprint(tanh), 0xc244_d74d_051f_400a),
        ("sigmoid", fingerprint(sigmoid), 0x9530_a5b2_ef16_6867),
        ("atan", fingerprint(atan), 0xca3f_2dd1_1903_399e),
        ("erf", fingerprint(erf), 0xcd35_2690_6912_c0ec),
        ("erfc", fingerprint(erfc), 0x20b1_4b8f_77f5_ff32),
        ("sin", fingerprint(sin), 0xabd6_d592_c7ba_c1af),
        ("cos", fingerprint(cos), 0x960a_165d_bdc5_a6a8),
        ("sin_2pi", fingerprint(sin_2pi), 0x645f_ed75_0914_8779),
        ("cos_2pi", fingerprint(cos_2pi), 0x71fe_1765_ab93_01f0),
        (
            "pow 2.3",
            fingerprint(|x| pow(x, 2.3)),
            0x544a_48b0_9af2_602b,
        ),
        (
            "0.7 pow",
            fingerprint(|y| pow(0.7, y)),
            0x3eac_e743_d32a_c4f8,
        ),
    ];
    let changed: Vec<_> = got
        .iter()
        .filter(|(_, got, pinned)| got != pinned)
        .collect();
    assert!(changed.is_empty(), "{changed:#x?}");
}
