//! A layer in f64 with its gradients, on numbers that are easy to check.
#![allow(dead_code, reason = "each file of tests uses another part of it")]

use spikelet::device;
use spikelet::graph::op::HostTensor;
use spikelet::module::{Trace, TracedTensor};
use spikelet::prelude::*;

/// Numbers on [−1, 1), no two alike.
pub fn values(count: usize, salt: u64) -> Vec<f64> {
    let mut state = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def0;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

#[track_caller]
pub fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}: numbers of elements");
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        let error = (a - b).abs();
        assert!(
            error <= tolerance * (1.0 + b.abs()),
            "{what}[{k}] is {a}, expected {b}"
        );
    }
}

/// A layer that was traced for a shape, with L = Σ y·g for random g and its gradients.
pub struct Probe {
    program: Program,
    store: VarStore,
    /// The input.
    pub x: Vec<f64>,
    /// The shape of the output.
    pub shape: Vec<usize>,
    /// Names and shapes of what is learned.
    pub parameters: Vec<(String, Vec<usize>)>,
    /// Names of what is kept but not learned.
    pub buffers: Vec<String>,
}

impl Probe {
    pub fn new(module: &dyn Module, mode: Mode, shape: &[usize]) -> Result<Self> {
        Self::propagated(module, mode, shape, Propagation::LayerByLayer)
    }

    pub fn propagated(
        module: &dyn Module,
        mode: Mode,
        shape: &[usize],
        propagation: Propagation,
    ) -> Result<Self> {
        let cx = Context::new(mode, DType::F64).propagation(propagation);
        Self::traced(&cx, module, shape)
    }

    /// Parameters and buffers are random, buffers positive.
    pub fn traced(cx: &Trace, module: &dyn Module, shape: &[usize]) -> Result<Self> {
        let t = cx.tracer();
        let x = t.input("x", DType::F64, shape);
        let y = cx.trace(module, x.clone())?;
        let traced = cx.traced();
        let g = t.input("g", DType::F64, y.shape());
        let loss = (&y * &g).sum_all();
        let mut wrt = vec![x];
        wrt.extend((traced.parameters.iter()).map(|p| t.find_input(&p.name).expect("is an input")));
        let grads = t.gradients(&loss, &wrt.iter().collect::<Vec<_>>());
        t.output("y", &y);
        t.output("loss", &loss);
        t.output("grad x", &grads[0]);
        for (TracedTensor { name, .. }, grad) in traced.parameters.iter().zip(&grads[1..]) {
            t.output(&format!("grad {name}"), grad);
        }
        let mut store = VarStore::new(device::cpu()?);
        store.initialize(&traced, DType::F64, 1)?;
        for (salt, TracedTensor { name, shape, .. }) in traced.parameters.iter().enumerate() {
            let random = values(shape.iter().product(), 20 + salt as u64);
            store.insert(name, &Tensor::f64(shape.clone(), random))?;
        }
        for (salt, TracedTensor { name, shape, .. }) in traced.buffers.iter().enumerate() {
            let random = values(shape.iter().product(), 40 + salt as u64);
            let random: Vec<f64> = random.iter().map(|v| v.abs() + 0.3).collect();
            store.insert(name, &Tensor::f64(shape.clone(), random))?;
        }
        let program = Program::new(t.finish()?, &mut store)?;
        let weights = values(y.ty().len(), 7);
        program.set("g", HostTensor::F64(&weights))?;
        if program.has_input("generator") {
            program.set("generator", &[5, 1, 0, 0])?;
        }
        let parameters = traced.parameters.into_iter();
        let mut probe = Self {
            program,
            store,
            x: values(shape.iter().product(), 3),
            shape: y.shape().to_vec(),
            parameters: parameters.map(|p| (p.name, p.shape)).collect(),
            buffers: traced
                .buffers
                .into_iter()
                .map(|buffer| buffer.name)
                .collect(),
        };
        probe.give_x()?;
        Ok(probe)
    }

    fn give_x(&mut self) -> Result<()> {
        self.program.set("x", HostTensor::F64(&self.x))
    }

    /// Sets the input.
    pub fn set_x(&mut self, x: Vec<f64>) -> Result<()> {
        self.x = x;
        self.give_x()
    }

    /// A parameter or a buffer as it is now.
    pub fn tensor(&self, name: &str) -> Result<Vec<f64>> {
        Ok(self.store.get(name)?.to_f64())
    }

    /// Runs and returns an output: `y`, `grad x`, `grad weight` …
    pub fn run(&mut self, name: &str) -> Result<Vec<f64>> {
        self.program.run()?;
        Ok(self.program.get(name)?.to_f64())
    }

    fn loss(&mut self) -> Result<f64> {
        self.program.run()?;
        self.program.scalar("loss")
    }

    /// (L(at + H) − L(at − H)) / 2H for element `k` of what `set` sets.
    fn difference(
        &mut self,
        at: &[f64],
        k: usize,
        set: &dyn Fn(&mut Self, &[f64]) -> Result<()>,
    ) -> Result<f64> {
        const H: f64 = 1e-5;
        let mut moved = at.to_vec();
        let mut losses = [0.0; 2];
        for (loss, step) in losses.iter_mut().zip([H, -H]) {
            moved[k] = at[k] + step;
            set(self, &moved)?;
            *loss = self.loss()?;
        }
        set(self, at)?;
        Ok((losses[0] - losses[1]) / (2.0 * H))
    }

    /// Compares the gradients of input and parameters with central differences, at up to 60
    /// elements of each.
    pub fn check_gradients(&mut self, what: &str) -> Result<()> {
        let x = self.x.clone();
        let found = self.run("grad x")?;
        for k in (0..x.len()).step_by(x.len().div_ceil(60)) {
            let set = |probe: &mut Self, x: &[f64]| probe.set_x(x.to_vec());
            let expected = self.difference(&x, k, &set)?;
            assert_close(
                &format!("{what}: grad x {k}"),
                &[found[k]],
                &[expected],
                1e-6,
            );
        }
        for (name, shape) in self.parameters.clone() {
            let at = self.tensor(&name)?;
            let found = self.run(&format!("grad {name}"))?;
            for k in (0..at.len()).step_by(at.len().div_ceil(60)) {
                let set = |probe: &mut Self, values: &[f64]| {
                    let tensor = Tensor::f64(shape.clone(), values);
                    probe.store.set(&name, &tensor)
                };
                let expected = self.difference(&at, k, &set)?;
                let place = format!("{what}: grad {name} {k}");
                assert_close(&place, &[found[k]], &[expected], 1e-6);
            }
        }
        Ok(())
    }
}
