//! The error of an f32 function against an f64 one, in units in the last place.

/// The largest error of a function.
#[derive(Debug)]
#[expect(
    dead_code,
    reason = "`x`, `got` and `exact` are read by a failing assertion's Debug"
)]
pub(super) struct Worst {
    pub(super) ulps: f64,
    x: f32,
    got: f32,
    exact: f64,
}

/// The spacing of f32 values around `x`.
pub(super) fn spacing(x: f64) -> f64 {
    let exponent = ((x.abs().to_bits() >> 52) as i32 - 1023).clamp(-126, 127);
    2.0_f64.powi(exponent - 23)
}

/// The distance of `got` and `exact` in spacings of f32 values; 0 if both are NaN or the same
/// infinity.
pub(super) fn distance(got: f32, exact: f64) -> f64 {
    // Half a spacing above the largest f32, rounding gives infinity.
    const OVERFLOW: f64 = 3.402_823_567_797_336_6e38;
    if got.is_nan() || exact.is_nan() {
        return if got.is_nan() && exact.is_nan() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    if got.is_infinite() && exact.abs() >= OVERFLOW && (got > 0.0) == (exact > 0.0) {
        return 0.0;
    }
    (f64::from(got) - exact).abs() / spacing(exact)
}

/// The largest error over `inputs`.
pub(super) fn worst(
    inputs: impl Iterator<Item = f32>,
    function: impl Fn(f32) -> f32,
    reference: impl Fn(f64) -> f64,
) -> Worst {
    let mut worst = Worst {
        ulps: -1.0,
        x: 0.0,
        got: 0.0,
        exact: 0.0,
    };
    for x in inputs {
        let (got, exact) = (function(x), reference(f64::from(x)));
        let ulps = distance(got, exact);
        if ulps > worst.ulps {
            worst = Worst {
                ulps,
                x,
                got,
                exact,
            };
        }
    }
    worst
}

/// `count` bit patterns spread evenly over all of them: every exponent, both signs, NaN too.
pub(super) fn all_exponents(count: u32) -> impl Iterator<Item = f32> {
    let step = u32::MAX / count;
    (0..count).map(move |k| f32::from_bits(k * step + k % 7))
}

/// `count` numbers spread evenly over an interval.
pub(super) fn linear(low: f64, high: f64, count: u32) -> impl Iterator<Item = f32> {
    let step = (high - low) / f64::from(count - 1);
    (0..count).map(move |k| (low + step * f64::from(k)) as f32)
}
