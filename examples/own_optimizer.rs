//! An optimizer of your own: LARS, whose steps have a length proportional to the norm of each parameter.
//!
//! m ← μ m + g; w ← w − lr · ‖w‖ / ‖m‖ · m
//!
//! Source: You et al., Large Batch Training of Convolutional Networks, 2017.

use spikelet::optim::schedule::Exponential;
use spikelet::optim::{Optimizer, StateSpec, Update, Updated};
use spikelet::prelude::*;
use spikelet::schema::Schema;
use spikelet::train::{Outputs, Step};
use std::sync::Arc;

#[derive(Debug, Schema)]
struct Lars {
    /// The learning rate.
    #[schema(default = 0.1, at_least = 0, kept)]
    lr: f64,
    /// The decay μ of the momentum.
    #[schema(default = 0.9, from = 0, below = 1)]
    momentum: f64,
}

impl Optimizer for Lars {
    fn lr(&self) -> f64 {
        self.lr
    }

    fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer> {
        Arc::new(Self { lr, ..*self })
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        vec![StateSpec::new("momentum", weight)]
    }

    fn update(&self, u: &Update<'_>) -> Updated {
        let (w, lr) = (u.weight, &u.scalars[0]);
        let m = &u.states[0] * self.momentum + u.grad;
        let norms = [w, &m].map(|x| x.square().sum_all().sqrt());
        let new = Var::map(&[w, &m, lr, &norms[0], &norms[1]], |x| {
            let (w, m, lr, w_norm, m_norm) = (&x[0], &x[1], &x[2], &x[3], &x[4]);
            w - lr * (w_norm / (m_norm + 1e-9)) * m
        });
        u.tensors(vec![new, m])
    }
}

fn main() -> Result<()> {
    let net = Linear::new(2, 1);
    let step = Step::new(|cx, inputs| {
        let y = net
            .forward(cx, &inputs["x"].repeat_over_time(1))?
            .mean(&[0]);
        let target = &inputs["target"];
        Ok(Outputs::loss(loss::mse(&y, target)))
    })
    .batch_size(4)
    .input("x", DType::F32, [2])
    .input("target", DType::F32, [1])
    .optimizer(Lars::default());

    let mut store = VarStore::new(spikelet::device::cpu()?);
    let mut train = step.compile(&mut store)?;
    let x = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 1.0];
    let target = [-1.0, 2.0, 1.0, 0.0]; // −x₀ + 2 x₁
    let schedule = LrSchedule::from(Exponential { gamma: 0.97 });
    let mut loss = f64::INFINITY;
    for k in 0..200 {
        train.set_lr_factor(schedule.factor(f64::from(k), 200.0));
        loss = train.run((("x", &x), ("target", &target)))?.loss;
        if k % 40 == 39 {
            println!("step {}: loss {loss:.6}", k + 1);
        }
    }
    assert!(loss < 1e-3);
    Ok(())
}
