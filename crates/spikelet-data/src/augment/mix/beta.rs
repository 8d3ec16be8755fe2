//! Random numbers with the distribution Beta(α, α).

use spikelet_expr::math::{ln, sigmoid};

use crate::sample_random::SampleRandom;

/// A number from 0 to 1 with the distribution Beta(`alpha`, `alpha`), the same on every machine.
pub(super) fn draw(alpha: f32, random: &mut SampleRandom) -> f32 {
    // X / (X + Y) of two gamma variates is the sigmoid of ln X − ln Y, which does not underflow for small α.
    let first = ln_gamma_variate(alpha, random);
    sigmoid(first - ln_gamma_variate(alpha, random))
}

/// The logarithm of a random number with the distribution Γ(`alpha`, 1).
///
/// Source: G. Marsaglia, W. Tsang, *A simple method for generating gamma variables*, ACM TOMS 26, 2000. Their method
/// needs α ≥ 1; a variate of Γ(α + 1) times U^(1/α) has the distribution Γ(α).
fn ln_gamma_variate(alpha: f32, random: &mut SampleRandom) -> f32 {
    let d = alpha + 1.0 - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    let larger = loop {
        let x = random.normal();
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        if ln(random.unit()) < 0.5 * x * x + d - d * v + d * ln(v) {
            break ln(d * v);
        }
    };
    larger + ln(random.unit()) / alpha
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moments_are_those_of_the_distribution() {
        for alpha in [0.1, 0.2, 0.4, 1.0, 2.0, 8.0] {
            let n = 20_000;
            let draws = (0..n).map(|batch| {
                let draw = draw(alpha, &mut SampleRandom::of_batch(3, 0, batch));
                assert!((0.0..=1.0).contains(&draw));
                f64::from(draw)
            });
            let draws: Vec<f64> = draws.collect();
            let moment = |power: i32| {
                let terms = draws.iter().map(|draw| (draw - 0.5).powi(power));
                terms.sum::<f64>() / f64::from(n)
            };
            let alpha = f64::from(alpha);
            let variance = 0.25 / (2.0 * alpha + 1.0);
            // E (x − ½)⁴ = 3 / (16 (2α + 1)(2α + 3)).
            let fourth = 3.0 / (16.0 * (2.0 * alpha + 1.0) * (2.0 * alpha + 3.0));
            assert!(moment(1).abs() < 0.01, "{alpha}");
            assert!((moment(2) / variance - 1.0).abs() < 0.04, "{alpha}");
            assert!((moment(4) / fourth - 1.0).abs() < 0.06, "{alpha}");
        }
    }
}
