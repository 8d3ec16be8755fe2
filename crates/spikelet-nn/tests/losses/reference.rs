//! Losses against PyTorch's values and gradients, and central differences. `tools/baselines/losses.py` makes the
//! file.

use crate::losses::cases;
use crate::losses::support::{Given, Probe, assert_close};
use spikelet_nn::prelude::*;

#[test]
fn every_loss_has_pytorchs_value_and_gradients() -> Result<()> {
    for case in cases::all() {
        let name = &case.name;
        let given = case.inputs.into_iter();
        let given: Vec<Given> = given
            .map(|(shape, values)| Given::new(shape, values))
            .collect();
        let mut probe = Probe::new(&given, &case.labels, |x, y| cases::build(name, x, y))?;
        assert_close(name, &[probe.loss()?], &[case.loss], 1e-12);
        for (k, expected) in case.grads.iter().enumerate() {
            assert_close(
                &format!("{name}: gradient {k}"),
                &probe.grad(k)?,
                expected,
                1e-12,
            );
            // The teacher has no gradient; differences of large numbers are inexact.
            if !(name == "kl" && k == 1 || name.starts_with("binary")) {
                probe.check_grad(k)?;
            }
        }
    }
    Ok(())
}
