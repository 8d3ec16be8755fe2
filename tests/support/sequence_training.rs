//! Training of a network on sequences of features, for comparisons between devices and plans.

use spikelet::MemoryBudget;
use spikelet::graph::Backend;
use spikelet::prelude::*;
use spikelet::train::{Outputs, Step};
use std::sync::Arc;

/// The features of a time step.
pub const INPUTS: usize = 16;

/// A network with 3 outputs, and how it is trained.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    pub net: &'a Sequential,
    pub steps: usize,
    pub batch: usize,
    pub updates: usize,
    pub precision: Precision,
    /// The fraction of the memory that may be used.
    pub budget: Option<f64>,
}

impl<'a> Case<'a> {
    /// Four updates in f32 with 8 sequences.
    pub fn new(net: &'a Sequential, steps: usize) -> Self {
        Self {
            net,
            steps,
            batch: 8,
            updates: 4,
            precision: Precision::F32,
            budget: None,
        }
    }

    #[allow(dead_code, reason = "not all tests use it")]
    pub fn budget(self, share: f64) -> Self {
        Self {
            budget: Some(share),
            ..self
        }
    }
}

/// The results of training.
#[allow(dead_code, reason = "not all tests use all fields")]
pub struct Trained {
    pub losses: Vec<f64>,
    /// All tensors after the first update, and after the last one of several.
    pub tensors: [Vec<Tensor>; 2],
    pub peak: usize,
    pub plan: String,
    pub graph: String,
    pub kernels: usize,
}

/// Trains on the same numbers for each device and plan.
pub fn train(backend: &Arc<dyn Backend>, case: Case<'_>) -> Result<Trained> {
    let Case {
        net, steps, batch, ..
    } = case;
    let mut store = VarStore::new(backend.clone());
    let mut step = Step::new(|cx, inputs| {
        let y = cx.trace(net, inputs["x"].clone())?.mean(&[0]);
        Ok(Outputs::loss((&y - &inputs["target"]).square().mean_all()))
    })
    .batch_size(batch)
    .sequence("x", DType::F32, [steps, INPUTS])
    .input("target", DType::F32, [3])
    // Adam divides by the size of gradients, and would make much of their last bits.
    .optimizer(Sgd::new(0.1))
    .precision(case.precision)
    .memory_budget(case.budget.map(MemoryBudget::Fraction))
    .compile(&mut store)?;
    let mut losses = vec![];
    let mut tensors = [vec![], vec![]];
    for number in 0..case.updates {
        let value = |k: usize| ((k * 7919 + number * 104_729) % 1000) as f32 / 1000.0;
        let x = (0..steps * batch * INPUTS).map(|k| 3.0 * value(k));
        let target = (0..batch * 3).map(|k| value(k + 31) - 0.5);
        let (x, target): (Vec<f32>, Vec<f32>) = (x.collect(), target.collect());
        let found = step.run((("x", &x), ("target", &target)))?;
        losses.push(found.loss);
        let names: Vec<String> = store.names().map(String::from).collect();
        let all = names.iter().map(|name| store.get(name));
        tensors[usize::from(number > 0)] = all.collect::<Result<_>>()?;
    }
    let plan = step.program().plan();
    assert!(plan.is_sound());
    Ok(Trained {
        losses,
        tensors,
        peak: plan.peak_bytes(),
        plan: plan.to_string(),
        graph: plan.graph.to_string(),
        kernels: plan.kernels.len(),
    })
}
