//! The bits of every function, pinned: any change by an edit, a compiler or a machine fails here.

use super::*;

/// A hash of the results for 2¹⁶ numbers of all signs and exponents; all NaNs count as equal.
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

macro_rules! pinned {
    ([] $(
        $(#[$doc:meta])* $op:ident: $method:ident {
            name: $name:literal, f64: $double:expr, gradient: $gradient:expr, source: $source:expr,
            calls: $calls:tt, fingerprint: $fingerprint:literal,
        }
    )*) => {
        vec![$((stringify!($method), fingerprint($method), $fingerprint)),*]
    };
}

#[test]
fn every_function_keeps_its_bits() {
    let mut pinned: Vec<(&str, u64, u64)> = elementary_functions!(pinned);
    pinned.extend([
        ("ln_1p", fingerprint(ln_1p), 0xd8d6_0035_0877_63e2),
        ("sin_2pi", fingerprint(sin_2pi), 0x645f_ed75_0914_8779),
        ("cos_2pi", fingerprint(cos_2pi), 0x71fe_1765_ab93_01f0),
        (
            "pow(x, 2.3)",
            fingerprint(|x| pow(x, 2.3)),
            0x544a_48b0_9af2_602b,
        ),
        (
            "pow(0.7, y)",
            fingerprint(|y| pow(0.7, y)),
            0x3eac_e743_d32a_c4f8,
        ),
    ]);
    let changed: Vec<_> = pinned
        .iter()
        .filter(|(_, bits, pinned)| bits != pinned)
        .collect();
    assert!(changed.is_empty(), "{changed:#x?}");
}
