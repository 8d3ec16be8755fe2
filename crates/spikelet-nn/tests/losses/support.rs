//! A loss in f64 with its gradients: computed, and by central differences.

use spikelet_graph::op::HostTensor;
use spikelet_nn::device;
use spikelet_nn::prelude::*;

/// A real input: its shape and values.
#[derive(Clone, Debug)]
pub struct Given {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

impl Given {
    pub fn new(shape: impl Into<Vec<usize>>, values: impl Into<Vec<f64>>) -> Self {
        let (shape, values) = (shape.into(), values.into());
        assert_eq!(shape.iter().product::<usize>(), values.len());
        Self { shape, values }
    }
}

/// A compiled loss of real inputs and labels.
pub struct Probe {
    program: Program,
    given: Vec<Given>,
}

impl Probe {
    /// `build` gets a variable for each of `given`, and one for the labels, if there are any.
    pub fn new(
        given: &[Given],
        labels: &[i64],
        build: impl FnOnce(&[Var], &Var) -> Var,
    ) -> Result<Self> {
        let tracer = Tracer::new(DType::F64);
        let named = given.iter().enumerate();
        let inputs: Vec<Var> = named
            .map(|(k, given)| tracer.input(&format!("x{k}"), DType::F64, given.shape.clone()))
            .collect();
        let classes = tracer.input("labels", DType::I64, [labels.len()]);
        let loss = build(&inputs, &classes);
        tracer.check()?;
        let grads = tracer.gradients(&loss, &inputs.iter().collect::<Vec<_>>());
        tracer.output("loss", &loss);
        for (k, grad) in grads.iter().enumerate() {
            tracer.output(&format!("grad{k}"), grad);
        }
        let mut store = VarStore::new(device::cpu()?);
        let program = Program::new(tracer.finish()?, &mut store)?;
        if program.has_input("labels") {
            program.set("labels", labels)?;
        }
        Ok(Self {
            program,
            given: given.to_vec(),
        })
    }

    fn run(&mut self, given: &[Given]) -> Result<f64> {
        for (k, given) in given.iter().enumerate() {
            let name = format!("x{k}");
            if self.program.has_input(&name) {
                self.program.set(&name, HostTensor::F64(&given.values))?;
            }
        }
        self.program.run()?;
        self.program.scalar("loss")
    }

    pub fn loss(&mut self) -> Result<f64> {
        self.run(&self.given.clone())
    }

    /// The gradient of input `k`.
    pub fn grad(&mut self, k: usize) -> Result<Vec<f64>> {
        self.loss()?;
        Ok(self.program.get(&format!("grad{k}"))?.to_f64())
    }

    /// The gradient of input `k` by central differences.
    pub fn difference(&mut self, k: usize) -> Result<Vec<f64>> {
        const H: f64 = 1e-6;
        let mut all = vec![];
        for element in 0..self.given[k].values.len() {
            let mut at = |step: f64| {
                let mut given = self.given.clone();
                given[k].values[element] += step;
                self.run(&given)
            };
            all.push((at(H)? - at(-H)?) / (2.0 * H));
        }
        Ok(all)
    }

    /// Checks the gradient of input `k` against central differences.
    #[track_caller]
    pub fn check_grad(&mut self, k: usize) -> Result<()> {
        let (found, expected) = (self.grad(k)?, self.difference(k)?);
        assert_close("gradient", &found, &expected, 1e-7);
        Ok(())
    }
}

#[track_caller]
pub fn assert_close(name: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{name}: number of elements");
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        let error = (a - b).abs();
        assert!(
            error <= tolerance * (1.0 + b.abs()),
            "{name}[{k}] is {a}, expected {b}"
        );
    }
}

/// Values on [−1, 1), all different.
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
