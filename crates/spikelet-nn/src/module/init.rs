//! Initial values of parameters.

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
    /// Normal with mean 0.
    Normal {
        /// Standard deviation.
        deviation: f64,
    },
    /// …, ¼, ½, 1: each value is twice the one before it, the last is 1.
    Doubling,
}

impl Init {
    /// PyTorch's default for the weights and biases of linear layers and convolutions:
    /// uniform with bound 1/√fan_in.
    pub fn fan_in(fan_in: usize) -> Self {
        Self::Uniform {
            bound: 1.0 / (fan_in.max(1) as f64).sqrt(),
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
                Self::Normal { deviation } => draws.normal() * deviation as f32,
                Self::Doubling => 0.5_f32.powi((count - 1 - k) as i32),
            }
        };
        (0..count).map(&mut draw).collect()
    }
}
