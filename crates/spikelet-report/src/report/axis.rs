//! Axes: the range of a panel and its ticks, which are at round numbers.

/// Larger values are treated like infinity: their differences would overflow.
const LARGEST: f64 = 1e100;

/// Whether a value can be drawn.
pub fn drawable(value: f64) -> bool {
    value.abs() < LARGEST
}

/// A range of values with its ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// A linear axis with all drawable `values` and about `wanted` ticks. Its limits are round numbers within
    /// `bounds`.
    pub fn linear(values: impl Iterator<Item = f64>, bounds: [f64; 2], wanted: usize) -> Self {
        let (mut min, mut max) = range(values).unwrap_or((0.0, 1.0));
        let size = min.abs().max(max.abs());
        if max - min <= 1e-3 * size || size == 0.0 {
            // Nearly equal values are drawn as a flat line, with labels that can be distinguished.
            let (middle, margin) = (
                0.5 * (min + max),
                if size == 0.0 { 0.5 } else { 5e-3 * size },
            );
            (min, max) = (middle - margin, middle + margin);
        }
        let step = round_step((max - min) / wanted.max(1) as f64);
        let low = ((min / step).floor() * step).max(bounds[0]);
        let high = ((max / step).ceil() * step).min(bounds[1]);
        let first = (low / step - 1e-6).ceil();
        let ticks: Vec<f64> = (0..)
            .map(|i| (first + f64::from(i)) * step)
            .take_while(|tick| *tick <= high + 1e-6 * step)
            .collect();
        // All ticks of an axis have the same notation.
        let largest = ticks
            .iter()
            .fold(0.0, |most: f64, tick| most.max(tick.abs()));
        let plain = largest < 1e6 && step >= 1e-5;
        let labelled = |tick| (tick, label(tick, step, plain));
        let ticks = ticks.into_iter().map(labelled).collect();
        Self {
            low,
            high,
            logarithmic: false,
            ticks,
        }
    }

    /// A logarithmic axis from `min` to `max`, both positive, with at most eight ticks.
    pub fn logarithmic(min: f64, max: f64) -> Self {
        let power = |exponent: i32| 10f64.powi(exponent);
        let (first, last) = (
            min.log10().floor() as i32 - 1,
            max.log10().ceil() as i32 + 1,
        );
        let candidates = |digits: &'static [f64], every: usize| -> Vec<f64> {
            (first..=last)
                .filter(|exponent| exponent.rem_euclid(every as i32) == 0)
                .flat_map(|exponent| digits.iter().map(move |digit| digit * power(exponent)))
                .collect()
        };
        let fine = candidates(&[1.0, 2.0, 5.0], 1);
        let low = fine
            .iter()
            .copied()
            .rfind(|&v| v <= min * (1.0 + 1e-9))
            .unwrap_or(min);
        let high = fine
            .iter()
            .copied()
            .find(|&v| v >= max * (1.0 - 1e-9))
            .unwrap_or(max);
        let inside = |values: Vec<f64>| -> Vec<f64> {
            let within = (1.0 - 1e-9) * low..=(1.0 + 1e-9) * high;
            values.into_iter().filter(|v| within.contains(v)).collect()
        };
        let mut ticks = inside(fine);
        let mut every = 1;
        while ticks.len() > 8 {
            ticks = inside(candidates(&[1.0], every));
            every += 1;
        }
        let plain = (ticks.iter()).all(|v| (1e-3..1e5).contains(&(v * (1.0 + 1e-9))));
        let labelled = |v| (v, power_label(v, plain));
        Self {
            low,
            high,
            logarithmic: true,
            ticks: ticks.into_iter().map(labelled).collect(),
        }
    }

    /// An axis of integers from `first` to `last`, with at most `most` ticks.
    pub fn whole(first: usize, last: usize, most: usize) -> Self {
        let span = last.saturating_sub(first);
        let step = (0..)
            .flat_map(|power| [1, 2, 5].map(|digit| digit * 10usize.saturating_pow(power)))
            .find(|step| span / step < most.max(1))
            .unwrap_or(1);
        let mut ticks: Vec<usize> = (first.div_ceil(step)..=last / step)
            .map(|i| i * step)
            .collect();
        if ticks.is_empty() {
            ticks.push(first);
        }
        // A margin, so that the first and the last mark are not on the frame.
        let margin = if span == 0 { 0.5 } else { 0.02 * span as f64 };
        Self {
            low: first as f64 - margin,
            high: last as f64 + margin,
            logarithmic: false,
            ticks: ticks
                .into_iter()
                .map(|tick| (tick as f64, tick.to_string()))
                .collect(),
        }
    }

    /// The values and labels of the ticks, in ascending order.
    pub fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }

    /// The position of `value`: 0 at the lower end, 1 at the upper. `None` if it cannot be drawn.
    pub fn position(&self, value: f64) -> Option<f64> {
        let position = if self.logarithmic {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        (drawable(value) && position.is_finite()).then_some(position.clamp(0.0, 1.0))
    }
}

/// Smallest and largest of the drawable values.
pub fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|&value| drawable(value))
        .fold(None, |range, value| match range {
            None => Some((value, value)),
            Some((min, max)) => Some((value.min(min), value.max(max))),
        })
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|&candidate| candidate >= step * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// The label of a tick with the decimals required for ticks at a distance of `step`.
fn label(tick: f64, step: f64, plain: bool) -> String {
    if tick.abs() < 1e-6 * step {
        return "0".to_string();
    }
    if !plain {
        let order = |value: f64| (value.log10() + 1e-9).floor();
        let digits = (order(tick.abs()) - order(step)).clamp(0.0, 4.0) as usize;
        return format!("{tick:.digits$e}");
    }
    let decimals = (-step.log10() - 1e-9).ceil().max(0.0) as usize;
    format!("{tick:.decimals$}")
}

fn power_label(value: f64, plain: bool) -> String {
    if plain {
        let decimals = (-value.log10() - 1e-9).ceil().max(0.0) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.0e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_are_at_round_numbers() {
        let axis = Axis::linear([0.413, 2.29].into_iter(), FREE, 5);
        assert_eq!(labels(&axis), ["0", "0.5", "1.0", "1.5", "2.0", "2.5"]);
        let axis = Axis::linear([1.4612, 1.4629].into_iter(), FREE, 4);
        assert_eq!(
            labels(&axis),
            ["1.4610", "1.4615", "1.4620", "1.4625", "1.4630"]
        );
        let axis = Axis::linear([-3e7, 5e7].into_iter(), FREE, 4);
        assert_eq!(labels(&axis), ["-4e7", "-2e7", "0", "2e7", "4e7", "6e7"]);
    }

    #[test]
    fn an_accuracy_never_exceeds_a_hundred() {
        let axis = Axis::linear([97.31, 98.4, 99.95].into_iter(), [0.0, 100.0], 4);
        assert_eq!(labels(&axis), ["97", "98", "99", "100"]);
        assert_eq!(axis.position(100.0), Some(1.0));
        let axis = Axis::linear([100.0].into_iter(), [0.0, 100.0], 4);
        assert_eq!(axis.high, 100.0);
        assert!(axis.ticks.len() >= 2);
    }

    #[test]
    fn neighboring_ticks_never_have_the_same_label() {
        for size in [1e-30, 3e-7, 0.02, 1.461, 97.5, 65_536.0, 4e9] {
            for span in [0.0, 1e-9, 1e-4, 1.1e-3, 0.02, 0.7] {
                let axis = Axis::linear([size, size * (1.0 + span)].into_iter(), FREE, 5);
                let mut labels = labels(&axis);
                let count = labels.len();
                labels.dedup();
                assert_eq!(labels.len(), count, "{size} {span} {labels:?}");
                assert!(labels.iter().all(|label| label.len() <= 10), "{labels:?}");
            }
        }
    }

    #[test]
    fn equal_values_and_no_values_still_make_an_axis() {
        for values in [
            vec![],
            vec![0.0],
            vec![2.5; 3],
            vec![f64::NAN, 1e-30],
            vec![-7e90],
        ] {
            let axis = Axis::linear(values.iter().copied(), FREE, 5);
            assert!(axis.low < axis.high, "{values:?}");
            assert!((2..=9).contains(&axis.ticks.len()), "{values:?} {axis:?}");
        }
    }

    #[test]
    fn a_logarithmic_axis_has_few_ticks_over_any_range() {
        let axis = Axis::logarithmic(0.004, 2.3);
        assert_eq!(labels(&axis), ["0.01", "0.1", "1"]);
        assert_eq!(axis.position(axis.low), Some(0.0));
        assert_eq!(
            labels(&Axis::logarithmic(0.06, 2.3)),
            ["0.05", "0.1", "0.2", "0.5", "1", "2", "5"]
        );
        for exponent in 1..80 {
            let axis = Axis::logarithmic(1e-20, 1e-20 * 10f64.powi(exponent));
            assert!((2..=8).contains(&axis.ticks.len()), "{axis:?}");
        }
    }

    #[test]
    fn an_axis_has_one_notation() {
        let mixed = |axis: &Axis| {
            let powers = labels(axis)
                .iter()
                .filter(|l| **l != "0" && l.contains('e'))
                .count();
            let plain = labels(axis)
                .iter()
                .filter(|l| **l != "0" && !l.contains('e'))
                .count();
            powers > 0 && plain > 0
        };
        assert_eq!(
            labels(&Axis::logarithmic(2e-4, 0.005)),
            ["2e-4", "5e-4", "1e-3", "2e-3", "5e-3"]
        );
        for exponent in -12..12 {
            for span in [3.0, 20.0, 1e3, 1e6] {
                let (min, max) = (10f64.powi(exponent), span * 10f64.powi(exponent));
                for axis in [
                    Axis::logarithmic(min, max),
                    Axis::linear([min, max].into_iter(), FREE, 5),
                ] {
                    assert!(!mixed(&axis), "{axis:?}");
                }
            }
        }
    }

    #[test]
    fn epochs_have_whole_ticks() {
        assert_eq!(labels(&Axis::whole(1, 1, 8)), ["1"]);
        assert_eq!(labels(&Axis::whole(1, 4, 8)), ["1", "2", "3", "4"]);
        assert_eq!(
            labels(&Axis::whole(1, 64, 8)),
            ["10", "20", "30", "40", "50", "60"]
        );
        assert_eq!(
            labels(&Axis::whole(1, 1000, 8)),
            ["200", "400", "600", "800", "1000"]
        );
        assert_eq!(labels(&Axis::whole(13, 13, 8)), ["13"]);
        for last in 1..2000 {
            assert!((1..=8).contains(&Axis::whole(1, last, 8).ticks.len()));
        }
    }

    #[test]
    fn what_is_not_finite_has_no_position() {
        let axis = Axis::linear([0.0, 1.0].into_iter(), FREE, 5);
        assert_eq!(axis.position(f64::NAN), None);
        assert_eq!(axis.position(f64::INFINITY), None);
        assert_eq!(Axis::logarithmic(0.1, 1.0).position(-1.0), None);
        assert_eq!(Axis::logarithmic(0.1, 1.0).position(0.0), None);
    }
}
