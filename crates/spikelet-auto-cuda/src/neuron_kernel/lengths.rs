//! How long the tensors of a neuron's kernel have to be, so that it stays inside them.

use super::Form;
use crate::{AutoCudaError, Described, Description, Dims, Dtype};

/// How many elements a parameter's tensor has.
#[derive(Clone, Copy)]
pub(super) enum Length {
    /// One for each neuron and step.
    Steps,
    /// One for each neuron, and for each neuron and step.
    StartAndSteps,
    /// One for each neuron.
    Neurons,
    /// One for each block, or more.
    Blocks,
    /// One at least.
    Some,
}

/// Checks tensors whose parameters have a known length; `numel` and `N` have to be numbers for
/// that.
pub(super) fn check(
    kernel: &str,
    form: Form,
    grid: Dims,
    args: &Described<'_>,
    known: &dyn Fn(&str) -> Option<Length>,
) -> Result<(), AutoCudaError> {
    let (Some(numel), Some(n)) = (count(args, "numel"), count(args, "N")) else {
        return Ok(());
    };
    let blocks = grid.0[0] as usize;
    let lanes = match form.dtype {
        Dtype::Float => 1,
        Dtype::Half2 => 2,
    };
    for (name, description) in args {
        let (Some(given), Some(length)) = (description.len(), known(name)) else {
            continue;
        };
        let (expected, fits) = match length {
            Length::Steps => (numel * lanes, given == numel * lanes),
            Length::StartAndSteps => ((numel + n) * lanes, given == (numel + n) * lanes),
            Length::Neurons => (n * lanes, given == n * lanes),
            Length::Blocks => (blocks, given >= blocks),
            Length::Some => (1, given > 0),
        };
        if !fits {
            return Err(AutoCudaError::Length {
                kernel: kernel.to_string(),
                cname: name.to_string(),
                given,
                expected,
            });
        }
    }
    Ok(())
}

fn count(args: &Described<'_>, name: &str) -> Option<usize> {
    match args.get(name)? {
        Description::Int(value) => Some(usize::try_from(*value).unwrap_or(0)),
        Description::Float(_) | Description::Tensor { .. } => None,
    }
}
