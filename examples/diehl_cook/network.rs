//! The network: Poisson inputs, synapses that learn, competing neurons; and the programs that run it.

use super::neurons::{Competition, DT};
use spikelet::encoder::Encoder;
use spikelet::learning::{LearningRule, Plastic, RuleScope};
use spikelet::module::{GENERATOR, Trace};
use spikelet::prelude::*;
use std::sync::Arc;

/// How long an image is shown, in steps. The authors let the network rest for 150 ms between two images. Here all states
/// but weights and thresholds start at rest instead. Conductances, refractory periods and traces have ended after 150 ms;
/// only the excitatory potentials would have kept e^(−150/100) = 22 % of their distance from rest.
pub const STEPS: usize = (350.0 / DT) as usize;
/// The rate of a white pixel in Hz is this times the intensity.
const RATE: f64 = 255.0 / 8.0;
/// The sum of the input weights of a neuron, for 784 inputs.
const WEIGHT_SUM: f64 = 78.0;

/// The triplet rule of the authors' program.
///
/// At a presynaptic spike `x = 1; W −= η⁻·o₁`, at a postsynaptic spike `W += η⁺·x·o₂; o₁ = 1; o₂ = 1`; all decay
/// exponentially.
#[derive(Debug, Schema)]
#[schema(name = "diehl-cook")]
struct TripletRule;

impl LearningRule for TripletRule {
    fn change(&self, r: &RuleScope) -> Expr {
        let decay = |tau: f64| (-DT / tau).exp();
        let set = |spike: Expr, decayed: &Expr| Expr::select(spike.gt(0.0), 1.0, decayed);
        let x = r.set_pre_trace("x", set(r.pre(), &(r.pre_trace("x") * decay(20.0))));
        let o1 = r.post_trace("o1") * decay(20.0);
        let o2 = r.post_trace("o2") * decay(40.0);
        r.set_post_trace("o1", set(r.post(), &o1));
        r.set_post_trace("o2", set(r.post(), &o2));
        r.post() * (0.01 * o2) * x - 1e-4 * o1 * r.pre()
    }

    fn bounds(&self) -> Option<[f64; 2]> {
        Some([0.0, 1.0])
    }
}

/// The size of a network.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub pixels: usize,
    pub neurons: usize,
}

impl Size {
    /// Traces a presentation of a batch: from the input `probability` `[N, pixels]` of a spike in a step to the output
    /// `counts` `[N, neurons]`.
    fn trace(self, mode: Mode, batch: usize) -> Result<Trace> {
        let uniform = Init::Between {
            low: 0.0,
            high: 0.3,
        };
        let synapses = Linear::new(self.pixels, self.neurons)
            .bias(false)
            .weight_init(uniform);
        let sum = WEIGHT_SUM / 784.0 * self.pixels as f64;
        let net = Plastic::new(synapses, Competition, TripletRule).normalize(sum);
        let cx = Context::new(mode, DType::F32);
        let probability = cx
            .tracer()
            .input("probability", DType::F32, [batch, self.pixels]);
        let spikes = Poisson.encode(&cx, &probability, STEPS);
        let counts = cx.trace(&net, spikes)?.sum(&[0]);
        cx.tracer().output("counts", &counts);
        Ok(cx)
    }
}

/// A network on a device, with a program that learns and one that does not.
pub struct Network {
    size: Size,
    seed: u64,
    store: VarStore,
    learning: Presenter,
    fixed: Presenter,
}

/// A program and its batch size.
struct Presenter {
    program: Program,
    batch: usize,
}

impl Network {
    /// Batches of `batch` samples learn, batches of `fixed_batch` only respond.
    pub fn new(
        size: Size,
        [batch, fixed_batch]: [usize; 2],
        seed: u64,
        device: Arc<dyn Backend>,
    ) -> Result<Self> {
        let mut store = VarStore::new(device);
        let mut presenter = |mode, batch| -> Result<Presenter> {
            let cx = size.trace(mode, batch)?;
            store.initialize(&cx.traced(), DType::F32, seed)?;
            let program = Program::new(cx.tracer().finish()?, &mut store)?;
            Ok(Presenter { program, batch })
        };
        let learning = presenter(Mode::TRAIN, batch)?;
        let fixed = presenter(Mode::EVAL, fixed_batch)?;
        Ok(Self {
            size,
            seed,
            store,
            learning,
            fixed,
        })
    }

    /// The number of samples of a presentation.
    pub fn batch(&self, learns: bool) -> usize {
        match learns {
            true => self.learning.batch,
            false => self.fixed.batch,
        }
    }

    /// Shows images with their intensities, and returns the number of spikes of each neuron for each of them. `number`
    /// selects the random numbers.
    pub fn present(
        &mut self,
        learns: bool,
        number: u64,
        shown: &[Option<(&[u8], f64)>],
    ) -> Result<Vec<Vec<u32>>> {
        let mut probability = vec![0.0; self.batch(learns) * self.size.pixels];
        for (row, shown) in probability.chunks_mut(self.size.pixels).zip(shown) {
            let Some((pixels, intensity)) = shown else {
                continue;
            };
            let white = RATE * intensity * DT / 1000.0;
            for (p, pixel) in row.iter_mut().zip(*pixels) {
                *p = (f64::from(*pixel) / 255.0 * white) as f32;
            }
        }
        let generator = [self.seed as i64, number as i64, 0, 0];
        let program = match learns {
            true => &mut self.learning.program,
            false => &mut self.fixed.program,
        };
        program.set("probability", &probability)?;
        program.set(GENERATOR, &generator)?;
        program.run()?;
        let counts = program.get("counts")?.to_f64();
        let rows = counts.chunks(self.size.neurons);
        Ok(rows
            .map(|row| row.iter().map(|count| *count as u32).collect())
            .collect())
    }

    /// The tensors that learning changes, by name.
    pub fn tensors(&self) -> Result<Vec<(String, Tensor)>> {
        let names = self.store.names();
        names
            .map(|name| Ok((name.to_string(), self.store.get(name)?)))
            .collect()
    }

    /// Sets a tensor of [`Network::tensors`].
    pub fn set(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        self.store.set(name, tensor)
    }
}
