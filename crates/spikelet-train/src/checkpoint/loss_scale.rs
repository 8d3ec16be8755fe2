//! The loss scale of a checkpoint.

use super::CheckpointProblem;
use crate::scaling::{GROW_AFTER, LARGEST, LOSS_SCALE, SMALLEST, STEPS};
use spikelet_nn::tensors::TensorFile;

/// Checks the states in a checkpoint, if it has them.
pub(super) fn check_loss_scale(tensors: &TensorFile) -> Result<(), CheckpointProblem> {
    let ranges = [(LOSS_SCALE, SMALLEST, LARGEST), (STEPS, 0.0, GROW_AFTER)];
    for (name, least, most) in ranges {
        let Some(tensor) = tensors.tensors.get(name) else {
            continue;
        };
        let found = match &tensor.to_f64()[..] {
            [value] if tensor.shape.is_empty() && (least..=most).contains(value) => continue,
            [value] if tensor.shape.is_empty() => value.to_string(),
            _ => format!("{:?}", tensor.ty()),
        };
        return Err(CheckpointProblem::LossScale {
            tensor: name,
            found,
            expected: format!("a number from {least} to {most}"),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_graph::Tensor;

    #[test]
    fn a_scale_that_no_run_can_have_is_refused() {
        let check = |name: &str, tensor: Tensor| {
            let mut file = TensorFile::default();
            file.tensors.insert(name.to_string(), tensor);
            check_loss_scale(&file)
        };
        let scalar = |value: f32| Tensor::f32([], [value]);
        for sound in [1.0, 65536.0, 16_777_216.0] {
            assert_eq!(check(LOSS_SCALE, scalar(sound)), Ok(()));
        }
        for wrong in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-45, 1e9] {
            assert!(check(LOSS_SCALE, scalar(wrong)).is_err(), "{wrong}");
        }
        assert!(check(LOSS_SCALE, Tensor::f32([1], [2.0])).is_err());
        assert!(check(STEPS, scalar(-1.0)).is_err());
        assert!(check(STEPS, scalar(2001.0)).is_err());
        assert_eq!(check(STEPS, scalar(1999.0)), Ok(()));
    }
}
