//! The statistic of an activation over a batch.

use super::factor::Factor;
use super::options::Threshold;

impl Threshold {
    /// The statistic of values in any order; 0 without values.
    ///
    /// ```
    /// use spikelet_train::conversion::Threshold;
    /// assert_eq!(Threshold::Percentile(75.0).of(&mut [3.0, 1.0, 2.0]), 2.5);
    /// assert_eq!(Threshold::Factor(0.5).of(&mut [3.0, 1.0, 2.0]), 1.5);
    /// ```
    #[must_use]
    pub fn of(self, values: &mut [f64]) -> f64 {
        let max = |values: &[f64]| values.iter().copied().reduce(larger).unwrap_or(0.0);
        match self {
            Self::Max => max(values),
            Self::Factor(factor) => factor * max(values),
            Self::Percentile(_) if values.is_empty() || values.iter().any(|x| x.is_nan()) => {
                max(values)
            }
            Self::Percentile(q) => {
                let place = q / 100.0 * (values.len() - 1) as f64;
                let low = (place.floor() as usize).min(values.len() - 1);
                let (_, &mut at, above) = values.select_nth_unstable_by(low, f64::total_cmp);
                let next = above.iter().copied().reduce(f64::min).unwrap_or(at);
                at + (next - at) * (place - low as f64)
            }
        }
    }

    /// The statistic of an activation `[N, C, …]`, for all channels or for each.
    pub(super) fn of_activation(
        self,
        mut values: Vec<f64>,
        shape: &[usize],
        each_channel: bool,
    ) -> Factor {
        if !each_channel {
            return Factor::Layer(self.of(&mut values));
        }
        let channels = shape.get(1).copied().unwrap_or(1).max(1);
        let behind: usize = shape.iter().skip(2).product();
        let of_channel = |channel: usize| {
            let rows = values.chunks(behind.max(1)).skip(channel).step_by(channels);
            self.of(&mut rows.flatten().copied().collect::<Vec<_>>())
        };
        Factor::Channel((0..channels).map(of_channel).collect())
    }
}

/// The larger of two numbers; NaN if either is.
fn larger(a: f64, b: f64) -> f64 {
    match a.is_nan() || a > b {
        true => a,
        false => b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_between_the_neighbors() {
        let mut values = [4.0, 0.0, 1.0, 3.0, 2.0];
        for (q, expected) in [
            (0.0, 0.0),
            (10.0, 0.4),
            (50.0, 2.0),
            (99.0, 3.96),
            (100.0, 4.0),
        ] {
            let found = Threshold::Percentile(q).of(&mut values);
            assert!((found - expected).abs() < 1e-12, "{q}: {found}");
        }
        assert_eq!(Threshold::Percentile(50.0).of(&mut []), 0.0);
        assert!(
            Threshold::Percentile(50.0)
                .of(&mut [1.0, f64::NAN])
                .is_nan()
        );
    }

    #[test]
    fn each_channel_has_its_own() {
        // [N = 2, C = 2, 2]
        let values = [1.0, 2.0, 30.0, 40.0, 5.0, 0.0, 10.0, 20.0];
        let of = |each| Threshold::Max.of_activation(values.to_vec(), &[2, 2, 2], each);
        assert_eq!(of(true), Factor::Channel(vec![5.0, 40.0]));
        assert_eq!(of(false), Factor::Layer(40.0));
    }
}
