//! Loss scaling: prevents underflow of small gradients in f16. It runs on the device only.
//!
//! The loss is multiplied by a scale before the backward pass, and gradients are divided by it in
//! f32. If one of them is not finite, the scale was too large: nothing is updated, and the
//! scale is halved. After many good steps in a row it is doubled. Nothing is copied to the host.
//!
//! Source: Micikevicius et al., Mixed Precision Training, ICLR 2018.

use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::{Precision, Tensor, Tracer, Var};
use spikelet_nn::runtime::VarStore;

/// The scale of the first step.
const START: f32 = 65536.0;

/// The number of good steps in a row that doubles the scale.
pub(super) const GROW_AFTER: f64 = 2000.0;

/// The maximal scale: with a larger one, the product with the loss might not be finite.
pub(super) const LARGEST: f64 = 16_777_216.0;

/// The minimal scale: a gradient that is not finite with a smaller one is not finite in f32 either.
pub(super) const SMALLEST: f64 = 1.0;

/// The names of the states, as in checkpoints.
pub const LOSS_SCALE: &str = "loss_scale";
pub(super) const STEPS: &str = "loss_scale_steps";

/// Both names.
pub(super) const LOSS_SCALES: [&str; 2] = [LOSS_SCALE, STEPS];

/// Whether the loss is scaled in training with this precision.
pub(crate) fn scales_loss(precision: Precision) -> bool {
    precision == Precision::F16
}

/// The number of elements of the gradients that are not finite; `None` without gradients.
pub fn count_not_finite(grads: &[Var]) -> Option<Var> {
    let counts = grads.iter().map(|g| g.map1(not_finite).sum_all());
    counts.reduce(|a, b| a + b)
}

/// The loss scale and its update.
#[derive(Debug)]
pub struct LossScale {
    scale: Var,
    /// The number of good steps since the last change of the scale.
    steps: Var,
}

/// The condition under which a step updates the weights.
#[derive(Debug)]
pub enum UpdateGuard {
    /// The loss is finite. Otherwise the weights are unchanged and can be examined.
    FiniteLoss(Var),
    /// All elements of the gradients are finite; the value is the number of those that are not.
    FiniteGradients(Var),
}

impl LossScale {
    /// The state of loss scaling in a traced training step.
    pub fn new(tracer: &Tracer) -> Self {
        Self {
            scale: tracer.state(LOSS_SCALE, []),
            steps: tracer.state(STEPS, []),
        }
    }

    /// Sets the initial values of the states that the store does not have.
    pub fn initialize(store: &mut VarStore) -> Result<()> {
        for (name, value) in [(LOSS_SCALE, START), (STEPS, 0.0)] {
            if store.ty(name).is_none() {
                store.insert(name, &Tensor::f32([], [value]))?;
            }
        }
        Ok(())
    }

    /// The scale, by which the gradients of the scaled loss are divided.
    pub(super) fn scale(&self) -> &Var {
        &self.scale
    }

    /// The scaled loss, for the backward pass.
    pub(super) fn scaled(&self, loss: &Var) -> Var {
        loss * &self.scale
    }

    /// The gradients of the unscaled loss, in f32, and whether they are finite; updates the scale.
    pub(super) fn unscaled(&self, grads: &[Var]) -> (Vec<Var>, UpdateGuard) {
        let grads: Vec<Var> = grads
            .iter()
            .map(|g| Var::map(&[g, &self.scale], |x| &x[0] / &x[1]))
            .collect();
        let bad =
            count_not_finite(&grads).unwrap_or_else(|| self.steps.map1(|_| Expr::constant(0.0)));
        self.advance(&bad);
        (grads, UpdateGuard::FiniteGradients(bad))
    }

    /// Updates the scale; `bad` is above 0 if a gradient was not finite.
    pub fn advance(&self, bad: &Var) {
        let next = Var::map_many(&[&self.scale, &self.steps, bad], |x| {
            let (scale, steps, bad) = (&x[0], &x[1], x[2].gt(0.0));
            let grown = (steps + 1.0).ge(GROW_AFTER);
            let good = Expr::select(&grown, (scale * 2.0).min(LARGEST), scale);
            let counted = Expr::select(grown, 0.0, steps + 1.0);
            vec![
                Expr::select(&bad, (scale * 0.5).max(SMALLEST), good),
                Expr::select(bad, 0.0, counted),
            ]
        });
        let tracer = self.scale.tracer();
        tracer.update(&self.scale, &next[0]);
        tracer.update(&self.steps, &next[1]);
    }
}

impl UpdateGuard {
    /// The operand that [`UpdateGuard::choose`] expects, a scalar.
    pub(super) fn operand(&self) -> &Var {
        match self {
            Self::FiniteLoss(loss) => loss,
            Self::FiniteGradients(bad) => bad,
        }
    }

    /// The new value after a good step, the old one after a bad one.
    pub(super) fn choose(&self, operand: &Expr, old: &Expr, new: Expr) -> Expr {
        let bad = match self {
            Self::FiniteLoss(_) => not_finite(operand),
            Self::FiniteGradients(_) => operand.clone(),
        };
        Expr::select(bad.gt(0.0), old, new)
    }
}

/// 1 for infinities and NaN, else 0. A comparison with NaN is false.
pub(super) fn not_finite(x: &Expr) -> Expr {
    Expr::select(x.abs().le(f64::from(f32::MAX)), 0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_graph::DType;
    use spikelet_nn::runtime::{Program, host};

    /// Weight, scale and steps after steps with these gradients, from these values.
    fn after(scale: f32, steps: f32, grads: &[[f32; 2]]) -> Result<([f64; 2], f64, f64)> {
        let tracer = Tracer::new(DType::F32);
        let grad = tracer.input("grad", DType::F32, [2]);
        let weight = tracer.parameter("weight", [2]);
        let loss_scale = LossScale::new(&tracer);
        let (grads_of, guard) = loss_scale.unscaled(&[grad]);
        let new = Var::map(&[&weight, &grads_of[0], guard.operand()], |x| {
            guard.choose(&x[2], &x[0], &x[0] - &x[1])
        });
        tracer.update(&weight, &new);
        let mut store = VarStore::new(spikelet_nn::device::cpu()?);
        store.insert("weight", &Tensor::f32([2], [0.0; 2]))?;
        store.insert(LOSS_SCALE, &Tensor::f32([], [scale]))?;
        store.insert(STEPS, &Tensor::f32([], [steps]))?;
        let mut program = Program::new(tracer.finish()?, &mut store)?;
        for grad in grads {
            program.set("grad", host(&Tensor::f32([2], *grad)))?;
            program.run()?;
        }
        let number = |name: &str| Ok::<f64, spikelet_core::Error>(store.get(name)?.to_f64()[0]);
        let weight = store.get("weight")?.to_f64();
        Ok(([weight[0], weight[1]], number(LOSS_SCALE)?, number(STEPS)?))
    }

    #[test]
    fn a_good_step_updates_with_the_unscaled_gradient() -> Result<()> {
        let found = after(4.0, 7.0, &[[8.0, -4.0]])?;
        assert_eq!(found, ([-2.0, 1.0], 4.0, 8.0));
        Ok(())
    }

    #[test]
    fn a_bad_step_updates_nothing_and_halves_the_scale() -> Result<()> {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let found = after(4.0, 7.0, &[[4.0, 4.0], [1.0, bad]])?;
            assert_eq!(found, ([-1.0, -1.0], 2.0, 0.0), "{bad}");
        }
        Ok(())
    }

    #[test]
    fn many_good_steps_double_the_scale() -> Result<()> {
        let found = after(4.0, 1998.0, &[[0.0; 2], [0.0; 2], [0.0; 2]])?;
        assert_eq!(found, ([0.0, 0.0], 8.0, 1.0));
        Ok(())
    }

    #[test]
    fn a_scale_that_is_there_is_kept() -> Result<()> {
        let mut store = VarStore::new(spikelet_nn::device::cpu()?);
        LossScale::initialize(&mut store)?;
        assert_eq!(store.get(LOSS_SCALE)?.to_f64(), [65536.0]);
        store.set(LOSS_SCALE, &Tensor::f32([], [8.0]))?;
        LossScale::initialize(&mut store)?;
        assert_eq!(store.get(LOSS_SCALE)?.to_f64(), [8.0]);
        Ok(())
    }
}
