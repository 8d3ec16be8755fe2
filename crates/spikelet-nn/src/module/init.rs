//! Initial values of parameters.

use crate::trainable::{Bound, Spread};
use spikelet_random::{Generator, Stream};

/// The initialization of a parameter. Random values depend only on the seed of the model and the name of the
/// parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// The same value for all elements.
    Constant(f64),
    /// Uniform on (−bound, bound).
    Uniform {
        /// The largest absolute value.
        bound: f64,
    },
    /// Uniform between two limits.
    Between {
        /// The lower limit.
        low: f64,
        /// The upper limit.
        high: f64,
    },
    /// Normal with mean 0.
    Normal {
        /// Standard deviation.
        deviation: f64,
    },
    /// …, ¼, ½, 1: each value is twice the one before it, the last is 1.
    Doubling,
    /// The rows of a square matrix are orthogonal to each other and have length 1 (PyTorch's `orthogonal_`).
    #[doc(alias = "orthogonal_")]
    Orthogonal,
    /// The parameters of a constant that is drawn.
    Drawn {
        /// The distribution of the constant.
        spread: Spread,
        /// The bound of the constant.
        bound: Bound,
    },
}

impl Init {
    /// PyTorch's default for the weights and biases of linear layers and convolutions:
    /// uniform with bound 1/√fan_in.
    pub fn fan_in(fan_in: usize) -> Self {
        Self::Uniform {
            bound: 1.0 / (fan_in.max(1) as f64).sqrt(),
        }
    }

    /// Uniform with bound √(6 / (fan_in + fan_out)): PyTorch's `xavier_uniform_`.
    ///
    /// Source: X. Glorot, Y. Bengio, *Understanding the difficulty of training deep feedforward neural networks*,
    /// AISTATS 2010.
    #[doc(alias = "xavier_uniform_")]
    pub fn xavier_uniform(fan_in: usize, fan_out: usize) -> Self {
        Self::Uniform {
            bound: (6.0 / (fan_in + fan_out).max(1) as f64).sqrt(),
        }
    }

    /// Normal with standard deviation √(2 / fan_out): PyTorch's `kaiming_normal_` with `mode='fan_out'` and the gain
    /// of ReLU. `fan_out` is the number of outputs times the size of the kernel.
    ///
    /// Source: K. He et al., *Delving deep into rectifiers*, ICCV 2015.
    #[doc(alias = "kaiming_normal_")]
    pub fn kaiming_normal(fan_out: usize) -> Self {
        Self::Normal {
            deviation: (2.0 / fan_out.max(1) as f64).sqrt(),
        }
    }

    /// The values of the parameter `name`.
    pub fn values(self, name: &str, seed: u64, count: usize) -> Vec<f32> {
        // FNV-1a: the stream depends only on the name, not on the other parameters.
        let id = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        let mut draws = Generator::new(Stream { seed, id, step: 0 });
        let mut draw = |k: usize| -> f32 {
            match self {
                Self::Constant(value) => value as f32,
                Self::Uniform { bound } => ((2.0 * f64::from(draws.unit()) - 1.0) * bound) as f32,
                // unit() is on (0, 1].
                Self::Between { low, high } => {
                    (low + (high - low) * (1.0 - f64::from(draws.unit()))) as f32
                }
                Self::Normal { deviation } => draws.normal() * deviation as f32,
                Self::Doubling => 0.5_f32.powi((count - 1 - k) as i32),
                Self::Orthogonal => draws.normal(),
                Self::Drawn { spread, bound } => {
                    let value = match spread {
                        // unit() is on (0, 1].
                        Spread::Uniform { low, high } => {
                            low + (high - low) * (1.0 - f64::from(draws.unit()))
                        }
                        Spread::Normal { mean, deviation } => {
                            mean + deviation * f64::from(draws.normal())
                        }
                    };
                    bound.invert(value).unwrap_or(value) as f32
                }
            }
        };
        let values: Vec<f32> = (0..count).map(&mut draw).collect();
        match self {
            Self::Orthogonal => orthogonal_rows(&values),
            _ => values,
        }
    }
}

/// Makes the rows of a square matrix orthogonal, each to those before it (Gram–Schmidt, twice for accuracy), with
/// length 1.
fn orthogonal_rows(values: &[f32]) -> Vec<f32> {
    let size = values.len().isqrt();
    let mut rows: Vec<Vec<f64>> = vec![];
    for row in values.chunks(size.max(1)).take(size) {
        let mut row: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
        for _ in 0..2 {
            for other in &rows {
                let along: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                row.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
            }
        }
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.iter_mut().for_each(|x| *x /= length);
        rows.push(row);
    }
    let all = rows.into_iter().flatten().map(|x| x as f32);
    all.chain(values.iter().skip(size * size).copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_an_orthogonal_matrix_are_orthogonal() {
        const SIZE: usize = 33;
        let values = Init::Orthogonal.values("weight", 3, SIZE * SIZE);
        let rows: Vec<&[f32]> = values.chunks(SIZE).collect();
        for (i, a) in rows.iter().enumerate() {
            for (j, b) in rows.iter().enumerate() {
                let dot: f64 = (a.iter().zip(*b))
                    .map(|(x, y)| f64::from(*x) * f64::from(*y))
                    .sum();
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot - expected).abs() < 1e-6, "{i}, {j}: {dot}");
            }
        }
    }

    #[test]
    fn drawn_constants_are_inside_their_limits() {
        let spread = Spread::Uniform {
            low: 5.0,
            high: 25.0,
        };
        let bound = Bound::Interpolate {
            low: 5.0,
            high: 25.0,
        };
        let p = Init::Drawn { spread, bound }.values("tau", 1, 1000);
        assert!(p.iter().all(|p| (0.0..=1.0).contains(p)));
        let mean: f32 = p.iter().sum::<f32>() / 1000.0;
        assert!((mean - 0.5).abs() < 0.05, "{mean}");
    }
}
