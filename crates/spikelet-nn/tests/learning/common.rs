//! Programs of one layer in f64.

use spikelet_graph::{DType, Tensor, Var};
use spikelet_nn::device;
use spikelet_nn::learning::{Stdp, WeightFunction};
use spikelet_nn::module::{Context, Trace};
use spikelet_nn::prelude::*;
use spikelet_nn::runtime::{Program, host};
use std::collections::BTreeMap;

/// Pseudorandom spikes, `[T, N, features]`.
pub fn spikes(shape: &[usize], share: f64, seed: u64) -> Tensor {
    let made = numbers(shape, seed);
    let fired = made
        .to_f64()
        .into_iter()
        .map(|x| f64::from(u8::from(x.abs() < share)));
    Tensor::f64(shape, fired.collect::<Vec<_>>())
}

/// Pseudorandom numbers from −1 to 1.
pub fn numbers(shape: &[usize], seed: u64) -> Tensor {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let values = (0..shape.iter().product()).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
    });
    Tensor::f64(shape, values.collect::<Vec<_>>())
}

/// STDP with soft upper bounds and a time constant of its own for each side.
pub fn stdp() -> Stdp {
    let function = |a| WeightFunction::Upper {
        a,
        w_max: 1.0,
        mu: 1.0,
    };
    Stdp {
        tau_pre: 3.0,
        tau_post: 5.0,
        f_pre: function(0.7),
        f_post: function(1.0),
        scale: 1.0,
    }
}

/// A traced program with its inputs.
pub struct Traced {
    pub cx: Trace,
    inputs: Vec<(String, Tensor)>,
    set: Vec<(String, Tensor)>,
    outputs: Vec<String>,
}

impl Traced {
    pub fn new(cx: Trace) -> Self {
        Self {
            cx,
            inputs: vec![],
            set: vec![],
            outputs: vec![],
        }
    }

    pub fn training() -> Self {
        Self::new(Context::new(Mode::TRAIN, DType::F64))
    }

    pub fn input(&mut self, name: &str, value: Tensor) -> Var {
        let ty = value.ty();
        self.inputs.push((name.to_string(), value));
        self.cx.tracer().input(name, ty.dtype, ty.shape)
    }

    pub fn set(&mut self, path: &str, value: Tensor) {
        self.set.push((path.to_string(), value));
    }

    pub fn output(&mut self, name: &str, value: &Var) {
        self.cx.tracer().output(name, value);
        self.outputs.push(name.to_string());
    }

    pub fn compile(&self) -> (VarStore, Program) {
        let mut store = VarStore::new(device::cpu().expect("a CPU"));
        let program = self.cx.compile(&mut store, 1).expect("a program");
        for (path, value) in &self.set {
            store.set(path, value).expect("a parameter of this shape");
        }
        (store, program)
    }

    /// The outputs and the tensors of the store after one run.
    pub fn run(&self, stored: &[&str]) -> BTreeMap<String, Vec<f64>> {
        let (store, mut program) = self.compile();
        let given = self
            .inputs
            .iter()
            .filter(|(name, _)| program.has_input(name));
        let given: Vec<_> = given.map(|(name, t)| (name.as_str(), host(t))).collect();
        program.run_with(given).expect("a run");
        let outputs = self.outputs.iter().map(|name| {
            let value = program.get(name).expect("an output");
            (name.clone(), value.to_f64())
        });
        let stored = stored.iter().map(|name| {
            let value = store.get(name).expect("a tensor");
            (name.to_string(), value.to_f64())
        });
        outputs.chain(stored).collect()
    }
}

/// Checks that two lists agree to a share of the largest value.
pub fn near(a: &[f64], b: &[f64], share: f64) {
    assert_eq!(a.len(), b.len());
    let largest = b.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    assert!(largest > 0.0, "all values are 0");
    for (k, (x, y)) in a.iter().zip(b).enumerate() {
        assert!(
            (x - y).abs() <= share * largest,
            "element {k}: {x:e}, not {y:e}"
        );
    }
}
