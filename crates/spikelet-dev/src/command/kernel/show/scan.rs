//! A layer of neurons in a training step, and the names of what its kernels read and write.

use spikelet::graph::op::{Op, Port, Ports, Recurrence};
use spikelet::graph::{DType, Graph, Result, Tracer, ValueId, Var};
use spikelet_cuda::Parameter;
use std::sync::Arc;

/// A layer that reads its sequences \[T, N\] and writes its outputs \[T, N\]. Backward it reads the gradients of
/// these, and writes those of the sequences and of the parameters.
pub struct Layer {
    pub step: Arc<Recurrence>,
    pub time_steps: usize,
    pub neurons: usize,
    /// The type of sequences; all other values are f32.
    pub dtype: DType,
    /// The states before the first step, literals in the text.
    pub states: Vec<f64>,
    /// Whether each neuron has its own value of a parameter.
    pub per_neuron: Vec<bool>,
}

impl Layer {
    /// The graph of a training step. Spikes are dense in it, not bit-packed.
    pub fn trace(&self) -> Result<Graph> {
        let step = &self.step;
        let tracer = Tracer::new(DType::F32);
        let sequence = |name: &str| tracer.input(name, self.dtype, [self.time_steps, self.neurons]);
        let sequences: Vec<Var> = step.inputs.iter().map(|name| sequence(name)).collect();
        let states = self.states.iter();
        let states: Vec<Var> = states.map(|v| tracer.fill(DType::F32, [], *v)).collect();
        let shape = |own: bool| if own { vec![self.neurons] } else { vec![] };
        let params = step.params.iter().zip(&self.per_neuron);
        let params: Vec<Var> = params
            .map(|(name, own)| tracer.parameter(name, shape(*own)))
            .collect();
        let results = Var::scan(
            step,
            self.time_steps,
            &Vec::from_iter(&sequences),
            &Vec::from_iter(&states),
            &Vec::from_iter(&params),
        );
        let outputs = step.outputs.iter().zip(&results);
        let given: Vec<(&Var, Var)> = outputs
            .map(|(output, value)| {
                tracer.output(&output.name, value);
                (value, sequence(&format!("dL/d{}", output.name)))
            })
            .collect();
        let given: Vec<(&Var, &Var)> = given.iter().map(|(value, grad)| (*value, grad)).collect();
        // A sequence without influence, such as one of random numbers, has no gradient.
        let derivatives = step.step_gradients();
        let reached = |k: usize| derivatives[k].as_constant() != Some(0.0);
        let inputs = step.inputs.iter().zip(&sequences).enumerate();
        let inputs = inputs.filter(|(k, _)| reached(*k)).map(|(_, named)| named);
        let (names, wrt): (Vec<&String>, Vec<&Var>) =
            inputs.chain(step.params.iter().zip(&params)).unzip();
        if !wrt.is_empty() {
            for (name, grad) in names.iter().zip(tracer.gradients_given(&given, &wrt)) {
                tracer.output(&format!("dL/d{name}"), &grad);
            }
        }
        tracer.finish()
    }
}

/// The meaning of the memory of a parameter, such as `dL/dx`, in the kernel of node `node`.
pub fn meaning(parameter: &Parameter, graph: &Graph, node: usize) -> String {
    let node = &graph.nodes[node];
    let Some((value, op)) = parameter.value.zip(node.op.ports()) else {
        return "scratch memory".to_string();
    };
    let at = |of: &[ValueId]| of.iter().position(|own| *own == value);
    match (at(&node.inputs), at(&node.outputs)) {
        (Some(k), _) => name(op, op.operands()[k]),
        (_, Some(k)) if matches!(node.op, Op::ScanGrad(_)) => gradient(op, op.results()[k]),
        (_, k) => name(op, op.results()[k.unwrap_or_default()]),
    }
}

/// The meaning of a named operand or result of a forward scan.
fn name(op: &dyn Ports, port: Port) -> String {
    let scan = op.scan();
    let step = &scan.recurrence;
    match port {
        Port::Sequence(k) => step.inputs[k].clone(),
        Port::Initial(k) => format!("{} before the first step", step.states[k]),
        Port::Param(k) => step.params[k].clone(),
        Port::Output(k) => step.outputs[k].name.clone(),
        Port::Last(k) => format!("{} after the last step", step.states[k]),
        Port::StateSeq(k) => format!("{} after each step", step.states[k]),
        Port::Checkpoint(k) => format!(
            "{} after every {} steps but the last",
            step.states[k],
            scan.checkpoint.unwrap_or(scan.time_steps)
        ),
        Port::OutputGrad(k) => gradient(op, Port::Output(k)),
        Port::LastGrad(k) => gradient(op, Port::Last(k)),
        Port::StateSeqGrad(k) => gradient(op, Port::StateSeq(k)),
        Port::Accumulator(k) => format!("{} over later steps", gradient(op, Port::Param(k))),
        Port::FirstProduct | Port::Weight | Port::Driven | Port::Before => {
            unreachable!("a layer of neurons has no feedback")
        }
    }
}

fn gradient(op: &dyn Ports, of: Port) -> String {
    format!("dL/d{}", name(op, of))
}
