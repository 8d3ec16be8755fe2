//! The scalar types of kernels.

use super::AutoCudaError;
use std::fmt;
use std::str::FromStr;

/// The scalar type of a kernel's text: the reference's `dtype`.
///
/// ```
/// use spikelet_auto_cuda::Dtype;
/// assert!(matches!("half2".parse(), Ok(Dtype::Half2)));
/// assert_eq!(Dtype::Float.to_string(), "float");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// `float`: one f32 per thread.
    Float,
    /// `half2`: two f16 per thread.
    Half2,
}

impl Dtype {
    /// Both.
    pub const ALL: [Dtype; 2] = [Dtype::Float, Dtype::Half2];

    /// The type's name in CUDA C++.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::Float => "float",
            Dtype::Half2 => "half2",
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dtype {
    type Err = AutoCudaError;

    fn from_str(text: &str) -> Result<Self, AutoCudaError> {
        Dtype::ALL
            .into_iter()
            .find(|dtype| dtype.name() == text)
            .ok_or_else(|| AutoCudaError::Dtype {
                given: text.to_string(),
            })
    }
}
