//! Sine and cosine with the same bits on every machine.

/// Cosine and sine of an angle in turns: a series in additions and multiplications, to nine digits.
pub(super) fn cos_sin(turns: f64) -> (f64, f64) {
    (sin(turns + 0.25), sin(turns))
}

fn sin(turns: f64) -> f64 {
    // From −1/2 to 1/2 turns, then folded to −1/4 to 1/4.
    let half = turns - (turns + 0.5).floor();
    let quarter = if half > 0.25 {
        0.5 - half
    } else if half < -0.25 {
        -0.5 - half
    } else {
        half
    };
    let angle = std::f64::consts::TAU * quarter;
    let square = angle * angle;
    let mut sum = 1.0;
    for k in [14.0, 12.0, 10.0, 8.0, 6.0, 4.0, 2.0] {
        sum = 1.0 - sum * square / (k * (k + 1.0));
    }
    angle * sum
}

#[cfg(test)]
mod tests {
    #[test]
    fn sine_and_cosine_are_those_of_the_standard_library() {
        for k in -300..300 {
            let turns = f64::from(k) * 0.007;
            let (cos, sin) = super::cos_sin(turns);
            let angle = std::f64::consts::TAU * turns;
            assert!((cos - angle.cos()).abs() < 1e-9, "{turns}");
            assert!((sin - angle.sin()).abs() < 1e-9, "{turns}");
        }
    }
}
