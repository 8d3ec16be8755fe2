//! The passes of a single module, with sequences in device memory.

use crate::failure::Failure;
use spikelet::graph::op::HostTensor;
use spikelet::graph::{DType, Graph, RandomAxes, Var};
use spikelet::module::{Context, Mode, Module, Precision, Propagation, Traced};
use spikelet::runtime::{Program, VarStore};

/// The forward pass of a module, and its backward pass from given gradients of its output.
pub struct Passes<'a> {
    /// The module.
    pub module: &'a dyn Module,
    /// The execution order.
    pub propagation: Propagation,
    /// Number type of the sequences.
    pub dtype: DType,
    /// The number format of matrix products.
    pub precision: Precision,
    /// The number of time steps.
    pub time_steps: usize,
    /// The shape of a step of the input and of the output.
    pub step: Vec<usize>,
    /// The gradients of the backward pass.
    pub backward: Backward,
}

/// The gradients of a backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backward {
    /// No backward pass.
    None,
    /// Those of the parameters, as in the first layer of a network.
    Parameters,
    /// Those of the parameters and of the input.
    All,
}

impl Backward {
    /// The pass in a table.
    pub fn label(self) -> &'static str {
        match self {
            Self::None => "forward",
            Self::Parameters => "+ backward to weights",
            Self::All => "+ backward",
        }
    }
}

/// The traced passes.
pub struct TracedPasses {
    /// The graph.
    pub graph: Graph,
    traced: Traced,
    /// Names and shapes of the sequences.
    sequences: Vec<(String, Vec<usize>)>,
}

/// The input with the state of the random number generator.
const GENERATOR: &str = "generator";

impl Passes<'_> {
    /// One call from the reset values. Sequences are tensors of the store, so that they are generated
    /// on the device and nothing else adds to the peak memory.
    ///
    /// # Errors
    /// When shapes do not match.
    pub fn trace(&self) -> Result<TracedPasses, Failure> {
        let cx = Context::new(Mode::EVAL, self.dtype.arithmetic())
            .propagation(self.propagation)
            .precision(self.precision);
        let tracer = cx.tracer();
        let mut sequences = vec![];
        let mut sequence = |name: &str| -> Var {
            let shape = [&[self.time_steps], &self.step[..]].concat();
            sequences.push((name.to_string(), shape.clone()));
            tracer.state_of(name, self.dtype, shape)
        };
        let x = sequence("x_seq");
        let y = cx.trace(self.module, x.clone())?;
        tracer.output("spike_seq", &y);
        let traced = cx.traced();
        if self.backward != Backward::None {
            // The gradient of the output is given, as the next layer's backward pass gives it.
            let given = sequence("grad_spike_seq");
            let mut wrt = match self.backward {
                Backward::All => vec![("grad_x_seq".to_string(), x)],
                _ => vec![],
            };
            wrt.extend(
                (traced.parameters.iter()).filter_map(|p| {
                    Some((format!("grad_{}", p.name), tracer.find_input(&p.name)?))
                }),
            );
            let values: Vec<&Var> = wrt.iter().map(|(_, v)| v).collect();
            let grads = tracer.gradients_given(&[(&y, &given)], &values);
            for ((name, _), grad) in wrt.iter().zip(&grads) {
                tracer.output(name, grad);
            }
        }
        Ok(TracedPasses {
            graph: tracer.finish()?,
            traced,
            sequences,
        })
    }

    /// The passes, ready to run on random input.
    ///
    /// # Errors
    /// When shapes do not fit or the device refuses.
    pub fn compile(&self, store: &mut VarStore) -> Result<Program, Failure> {
        let passes = self.trace()?;
        self.fill(&passes.sequences, store)?;
        store.initialize(&passes.traced, self.dtype.arithmetic(), 0)?;
        let program = Program::new(passes.graph, store)?;
        if program.has_input(GENERATOR) {
            program.set(GENERATOR, HostTensor::I64(&[0, 1, 0, 0]))?;
        }
        Ok(program)
    }

    /// Draws tensors of the store on the device, uniform on (0, 1].
    fn fill(
        &self,
        sequences: &[(String, Vec<usize>)],
        store: &mut VarStore,
    ) -> Result<(), Failure> {
        for (k, (name, shape)) in sequences.iter().enumerate() {
            let cx = Context::new(Mode::EVAL, self.dtype.arithmetic());
            let tensor = cx.tracer().state_of(name, self.dtype, shape.clone());
            let drawn = cx.generator().uniform(shape.clone(), RandomAxes::Nothing);
            cx.tracer().update(&tensor, &drawn.cast(self.dtype));
            let mut program = Program::new(cx.tracer().finish()?, store)?;
            program.set(GENERATOR, HostTensor::I64(&[k as i64, 0, 0, 0]))?;
            program.run()?;
            program.synchronize()?;
        }
        Ok(())
    }
}
