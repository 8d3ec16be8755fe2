//! Mean and standard deviation of the results of several runs.

/// The mean and the sample standard deviation (n − 1) of values; the deviation of one value is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// The number of values.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// √(Σ (x − mean)² / (n − 1)).
    pub deviation: Option<f64>,
}

impl Statistics {
    /// The statistics of some values; `None` without any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        Some(Self {
            count,
            mean,
            deviation: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
        })
    }

    /// Fractions of 1 as `97.31 ± 0.12 %`.
    pub fn percent(&self) -> String {
        let mean = 100.0 * self.mean;
        match self.deviation {
            Some(deviation) => format!("{mean:.2} ± {:.2} %", 100.0 * deviation),
            None => format!("{mean:.2} %"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        // numpy.std([0.9, 0.92, 0.97], ddof=1)
        let found = Statistics::of(&[0.9, 0.92, 0.97]).expect("values");
        assert!((found.mean - 0.93).abs() < 1e-15);
        let deviation = found.deviation.expect("more than one value");
        assert!((deviation - 0.036_055_512_754_639_9).abs() < 1e-15);
        assert_eq!(found.percent(), "93.00 ± 3.61 %");
        assert_eq!(Statistics::of(&[]), None);
        let one = Statistics::of(&[0.5]).expect("a value");
        assert_eq!(
            (one.deviation, one.percent()),
            (None, "50.00 %".to_string())
        );
        let same = Statistics::of(&[0.25; 4]).expect("values");
        assert_eq!(same.deviation, Some(0.0));
    }
}
