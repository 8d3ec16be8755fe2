//! An optimizer of your own: LARS, whose steps have a length proportional to the norm of each parameter.
//!
//! m ← μ m + g; w ← w − lr · ‖w‖ / ‖m‖ · m
//!
//! Source: You et al., Large Batch Training of Convolutional Networks, 2017.

use spikelet::graph::op::HostTensor;
use spikelet::optim::{self, Optimizer, StateSpec, Update, Updated};
use spikelet::prelude::*;
use spikelet::train::UpdateGuard;

#[derive(Debug)]
struct Lars {
    momentum: f64,
}

impl Optimizer for Lars {
    fn name(&self) -> &str {
        "lars"
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
    let optimizer = Lars { momentum: 0.9 };
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let t = cx.tracer();
    let x = t.input("x", DType::F32, [4, 2]);
    let y = cx.trace(&Linear::new(2, 1), x.repeat_over_time(1))?;
    let loss = loss::mean_squared_error(&y.mean(&[0]), &t.input("target", DType::F32, [4, 1]));

    let traced = cx.traced();
    let names = traced.parameters.iter().map(|p| &p.name);
    let weights: Vec<Var> = names.filter_map(|name| t.find_input(name)).collect();
    let grads = t.gradients(&loss, &weights.iter().collect::<Vec<_>>());
    let scalars = optim::scalar_inputs_of(t, &optimizer, "");
    let guard = UpdateGuard::FiniteLoss(loss.clone()); // a step whose loss is not finite updates nothing
    for ((parameter, weight), grad) in traced.parameters.iter().zip(&weights).zip(&grads) {
        optim::update(&optimizer, &parameter.name, weight, grad, &scalars, &guard);
    }
    t.output("loss", &loss);

    let mut store = VarStore::new(spikelet::device::cpu()?);
    store.initialize(&traced, DType::F32, 0)?;
    let mut step = Program::new(t.finish()?, &mut store)?;
    step.set(
        "x",
        HostTensor::F32(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 1.0]),
    )?;
    step.set("target", HostTensor::F32(&[-1.0, 2.0, 1.0, 0.0]))?; // −x₀ + 2 x₁
    for k in 0..200 {
        let rate = 0.1 * 0.97_f64.powi(k);
        optim::feed_scalars_of(&step, &optimizer, "", k as u64 + 1, rate)?;
        step.run()?;
        if k % 40 == 39 {
            println!("step {}: loss {:.6}", k + 1, step.scalar("loss")?);
        }
    }
    assert!(step.scalar("loss")? < 1e-3);
    Ok(())
}
