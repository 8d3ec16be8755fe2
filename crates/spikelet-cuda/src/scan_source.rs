//! The source text of the kernels of neurons, without a GPU.
//!
//! [`NeuronScan`] is a layer of neurons in a training step. It is processed like every plan: traced,
//! differentiated, transformed by the passes, and lowered by the same code generator as on the GPU. The
//! text is therefore that of training, except that spikes are dense here and not bit-packed.
//!
//! ```
//! use spikelet_cuda::Properties;
//! use spikelet_cuda::scan_source::{Direction, NeuronScan};
//! use spikelet_expr::Expr;
//! use spikelet_graph::op::Recurrence;
//! let (v, x) = (Expr::symbol("v"), Expr::symbol("x"));
//! let sum = Recurrence::new("sum", ["x"], ["v"]).output("y", &v + &x, false).next(vec![v + x]);
//! let kernel = NeuronScan::new(sum, 4, 1000).source(Direction::Forward, &Properties::large((9, 0)))?;
//! assert_eq!(kernel.name, "spk_sum_fptt");
//! println!("{}", kernel.full_codes());
//! # Ok::<(), spikelet_graph::Error>(())
//! ```

mod parameter;

pub use parameter::ScanParameter;

use crate::gpu::Properties;
use crate::kernel_source::{self, KernelSource};
use crate::offline::OfflineTarget;
use crate::op::{self, LoweringContext};
use spikelet_expr::Expr;
use spikelet_graph::op::{Op, Recurrence};
use spikelet_graph::{DType, Error, Graph, Node, Plan, Result, Tracer, Var};
use std::sync::Arc;

/// The source of a value that is the same at all time steps: an initial state or a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueSource {
    /// A literal in the text.
    Literal(f32),
    /// One value in memory for all neurons.
    Shared,
    /// One value in memory for each neuron.
    PerNeuron,
}

/// The direction of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The multi-step forward pass (FPTT).
    Forward,
    /// The derived multi-step backward pass (BPTT).
    Backward,
}

/// A layer of neurons in a training step: it reads its sequences \[T, N\] and writes its outputs
/// \[T, N\]; backward it reads the gradients of these and writes those of the sequences and of the
/// parameters that are in memory.
///
/// For long sequences the forward kernel writes checkpoints of the states for the backward one.
#[derive(Clone, Debug)]
pub struct NeuronScan {
    /// The recurrence of one time step.
    pub recurrence: Arc<Recurrence>,
    /// The number of time steps, T.
    pub time_steps: usize,
    /// The number of neurons, N.
    pub neurons: usize,
    /// The element type of sequences: f32, f16 or bf16. All other values are f32.
    pub dtype: DType,
    /// The states before the first step.
    pub states: Vec<ValueSource>,
    /// The parameters.
    pub params: Vec<ValueSource>,
}

/// The text of a scan's kernel, and its launch.
#[derive(Clone, Debug)]
pub struct ScanSource {
    /// The kernel's name.
    pub name: String,
    /// Its parameters, in order.
    pub parameters: Vec<ScanParameter>,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: u32,
    /// Its text, in sections with names.
    pub sections: [(&'static str, String); 3],
}

impl NeuronScan {
    /// A layer in f32 whose initial states are the literal 0, and whose parameters are shared by all
    /// neurons.
    pub fn new(recurrence: Recurrence, time_steps: usize, neurons: usize) -> Self {
        Self {
            states: vec![ValueSource::Literal(0.0); recurrence.states.len()],
            params: vec![ValueSource::Shared; recurrence.params.len()],
            recurrence: Arc::new(recurrence),
            time_steps,
            neurons,
            dtype: DType::F32,
        }
    }

    /// Generates the kernel of a pass. The schedule of the threads depends on the compute capability,
    /// the number of multiprocessors and the size of the cache.
    ///
    /// # Errors
    /// If there are no elements or 2³¹ or more, if the type is not one of those above, if the numbers of
    /// states or parameters do not match the recurrence, or if an expression has an unknown name.
    pub fn source(&self, pass: Direction, gpu: &Properties) -> Result<ScanSource> {
        self.check()?;
        let target = OfflineTarget::new(*gpu);
        let plan = Plan::new(self.trace()?, &target);
        let fills = op::fills(&plan.graph);
        let wanted = |node: &Node| match pass {
            Direction::Forward => matches!(node.op, Op::Scan(_)),
            Direction::Backward => matches!(node.op, Op::ScanGrad(_)),
        };
        let kernel = (plan.kernels.iter())
            .find(|kernel| wanted(&plan.graph.nodes[kernel.node]))
            .ok_or_else(|| {
                self.error(
                    "it has no gradient with respect to its inputs",
                    "use the forward pass",
                )
            })?;
        let cx = LoweringContext::of_kernel(&target, &plan, kernel, &fills);
        let sources = cx.lower()?.sources()?;
        let [source] = <[KernelSource; 1]>::try_from(sources).expect("such a scan is one kernel");
        let (grid, block, _) = source.launch().map_err(|too_large| {
            self.error(too_large.to_string(), "use fewer neurons or time steps")
        })?;
        Ok(ScanSource {
            parameters: parameter::all(&source, &cx),
            sections: kernel_source::sections(&source),
            name: source.name,
            grid,
            block,
        })
    }

    fn error(&self, problem: impl Into<String>, help: &str) -> Error {
        Error::Shape {
            layer: String::new(),
            operation: self.recurrence.name.clone(),
            problem: problem.into(),
            given: format!("T = {}, N = {}", self.time_steps, self.neurons),
            help: help.to_string(),
        }
    }

    fn check(&self) -> Result<()> {
        let r = &self.recurrence;
        let elements = self.time_steps.checked_mul(self.neurons);
        if elements.is_none_or(|count| !(1..=i32::MAX as usize).contains(&count)) {
            return Err(self.error(
                format!(
                    "{} time steps of {} neurons have no elements, or more than 2³¹ − 1",
                    self.time_steps, self.neurons
                ),
                "use at least one of each, and at most 2³¹ − 1 elements",
            ));
        }
        if ![DType::F32, DType::F16, DType::BF16].contains(&self.dtype) {
            return Err(self.error(
                format!("sequences of {} are not supported", self.dtype),
                "use f32, f16 or bf16",
            ));
        }
        if r.inputs.is_empty() {
            return Err(self.error("it has no input sequence", "define at least one"));
        }
        if self.states.len() != r.states.len() || self.params.len() != r.params.len() {
            return Err(self.error(
                format!(
                    "it has {} states and {} parameters, {} and {} were given",
                    r.states.len(),
                    r.params.len(),
                    self.states.len(),
                    self.params.len()
                ),
                "give one for each",
            ));
        }
        Ok(())
    }

    /// The graph of a training step with the layer.
    fn trace(&self) -> Result<Graph> {
        let r = &self.recurrence;
        let tracer = Tracer::new(DType::F32);
        let sequence_shape = [self.time_steps, self.neurons];
        let sequence = |name: &str| tracer.input(name, self.dtype, sequence_shape);
        let uniform = |name: &String, uniform: &ValueSource| match uniform {
            ValueSource::Literal(value) => tracer.fill(DType::F32, [], f64::from(*value)),
            ValueSource::Shared => tracer.parameter(name, []),
            ValueSource::PerNeuron => tracer.parameter(name, [self.neurons]),
        };
        let sequences: Vec<Var> = r.inputs.iter().map(|name| sequence(name)).collect();
        let states: Vec<Var> = (r.states.iter().zip(&self.states))
            .map(|(name, from)| uniform(name, from))
            .collect();
        let params: Vec<Var> = (r.params.iter().zip(&self.params))
            .map(|(name, from)| uniform(name, from))
            .collect();
        let results = Var::scan(
            r,
            self.time_steps,
            &sequences.iter().collect::<Vec<_>>(),
            &states.iter().collect::<Vec<_>>(),
            &params.iter().collect::<Vec<_>>(),
        );
        let outputs = r.outputs.iter().zip(&results);
        for (output, value) in outputs.clone() {
            tracer.output(&output.name, value);
        }
        let output_grads: Vec<(&Var, Var)> = outputs
            .map(|(output, value)| (value, sequence(&format!("dL/d{}", output.name))))
            .collect();
        let output_grads: Vec<(&Var, &Var)> = output_grads
            .iter()
            .map(|(value, grad)| (*value, grad))
            .collect();
        let derivatives = r.step_gradients();
        let names = r.inputs.iter().chain(&r.states).chain(&r.params);
        let wrt: Vec<(&String, &Var)> = names
            .zip(sequences.iter().chain(&states).chain(&params))
            .zip(&derivatives)
            .enumerate()
            .filter(|(k, (_, derivative))| self.has_gradient(*k, derivative))
            .map(|(_, (named, _))| named)
            .collect();
        if !wrt.is_empty() {
            let values: Vec<&Var> = wrt.iter().map(|(_, value)| *value).collect();
            let grads = tracer.gradients_given(&output_grads, &values);
            for ((name, _), grad) in wrt.iter().zip(&grads) {
                tracer.output(&format!("dL/d{name}"), grad);
            }
        }
        tracer.finish()
    }

    /// Whether a training step computes the gradient of operand `k`, sequences first, then states and
    /// parameters: not those of random numbers, literals and initial states.
    fn has_gradient(&self, k: usize, derivative: &Expr) -> bool {
        let (inputs, states) = (self.recurrence.inputs.len(), self.states.len());
        match k.checked_sub(inputs + states) {
            Some(param) => !matches!(self.params[param], ValueSource::Literal(_)),
            None => k < inputs && derivative.as_constant() != Some(0.0),
        }
    }
}

impl ScanSource {
    /// The complete text.
    pub fn full_codes(&self) -> String {
        self.sections
            .iter()
            .map(|(_, text)| text.as_str())
            .collect()
    }
}

#[cfg(test)]
mod tests;
