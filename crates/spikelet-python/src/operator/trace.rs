//! Graphs of a layer's forward and backward pass for a shape of its input.

use super::Definition;
use spikelet_core::{Error, Result};
use spikelet_graph::{DType, Graph, Var};
use spikelet_nn::module::{Chunk, Context, Init, Trace};

/// A pass of a layer. Bit `k` of a mask stands for operand or result `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pass {
    /// From the input, the states before the first step and the parameters to the output and the last states.
    Forward,
    /// The same, and values that a backward pass of [`Pass::BackwardOfSaved`] reads.
    ForwardSaving,
    /// From the gradients of the results of the forward pass and its operands to the gradients of the operands.
    Backward {
        /// The gradients that are given: of the output, then of the last states.
        present: u64,
        /// The operands of the forward pass whose gradients are computed.
        wanted: u64,
    },
    /// The same, with the values that a [`Pass::ForwardSaving`] saved.
    BackwardOfSaved { present: u64, wanted: u64 },
}

/// A call of a layer, as far as its kernels depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Request {
    pub(crate) pass: Pass,
    pub(crate) dtype: DType,
    /// `[T, N, …]`; `[1, N, …]` for an input that is the same at all steps.
    pub(crate) shape: Vec<usize>,
    /// The number of time steps.
    pub(crate) time_steps: usize,
    /// The states that are given; the others start from their reset values.
    pub(crate) given: u64,
}

/// A state or a parameter of a layer.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
}

/// The operands of a layer.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) states: Vec<Tensor>,
    pub(crate) params: Vec<Tensor>,
    /// The initial values of the parameters, and whether they are trained.
    pub(crate) init: Vec<(Init, bool)>,
    /// The shape of the output.
    pub(crate) output: Vec<usize>,
}

/// The graph of a request, with the names of the operands and results in the order of a call.
pub(crate) struct TracedPass {
    pub(crate) graph: Graph,
    pub(crate) operands: Vec<String>,
    pub(crate) results: Vec<String>,
}

/// A traced layer.
struct Forward {
    cx: Trace,
    x: Var,
    y: Var,
    states: Vec<TracedState>,
    signature: Signature,
}

struct TracedState {
    name: String,
    /// The input with the value before the first step, if it is given.
    before: Option<Var>,
    after: Var,
}

const X: &str = "x_seq";
const Y: &str = "y_seq";

/// What the names of gradients begin with.
pub(crate) const GRADIENT: &str = "grad.";

fn before(name: &str) -> String {
    format!("before.{name}")
}

fn after(name: &str) -> String {
    format!("after.{name}")
}

fn grad(name: &str) -> String {
    format!("{GRADIENT}{name}")
}

/// The type of states and parameters.
fn float(dtype: DType) -> DType {
    match dtype {
        DType::F64 => DType::F64,
        _ => DType::F32,
    }
}

/// Traces the layer; the states of `given` are inputs of the graph.
fn forward(
    definition: &Definition,
    dtype: DType,
    shape: &[usize],
    time_steps: usize,
    given: &[Tensor],
) -> Result<Forward> {
    let cx = Context::new(definition.mode(), float(dtype)).chunk(Chunk::WHOLE);
    let tracer = cx.tracer();
    let x = tracer.input(X, dtype, shape);
    let mut starts = vec![];
    for state in given {
        let var = tracer.input(&before(&state.name), float(dtype), state.shape.clone());
        cx.start_from(&state.name, &var);
        starts.push((state.name.as_str(), var));
    }
    let sequence = match shape[0] == time_steps {
        true => x.clone(),
        false => x.repeat_over_time(time_steps),
    };
    let y = cx.trace(&*definition.module(), sequence)?.cast(dtype);
    let mut states = vec![];
    for state in cx.chunk_states() {
        let Some(after) = state.after else { continue };
        let before = starts.iter().find(|(name, _)| *name == state.path);
        states.push(TracedState {
            before: before.map(|(_, var)| var.clone()),
            name: state.path,
            after,
        });
    }
    let traced = cx.traced();
    let trained = traced.parameters.into_iter().map(|p| (p, true));
    let kept = traced.buffers.into_iter().map(|p| (p, false));
    let (params, init) = trained
        .chain(kept)
        .map(|(p, trained)| {
            let tensor = Tensor {
                name: p.name,
                shape: p.shape,
            };
            (tensor, (p.init, trained))
        })
        .unzip();
    let signature = Signature {
        states: states
            .iter()
            .map(|state| Tensor {
                name: state.name.clone(),
                shape: state.after.shape().to_vec(),
            })
            .collect(),
        params,
        init,
        output: y.shape().to_vec(),
    };
    Ok(Forward {
        cx,
        x,
        y,
        states,
        signature,
    })
}

/// The operands of a layer for inputs of a shape.
pub(crate) fn signature(definition: &Definition, shape: &[usize]) -> Result<Signature> {
    let Some(&time_steps) = shape.first() else {
        let help = "give the shape of a sequence, [T, N, ...]";
        return Err(Error::invalid("shape", "[] was given", help));
    };
    Ok(forward(definition, DType::F32, shape, time_steps, &[])?.signature)
}

/// Traces a request. The graph of a pass with saved values has those of the other pass too: the results whose names begin
/// with [`GRADIENT`] are those of the backward pass.
///
/// # Errors
/// When the layer does not take inputs of this shape.
pub(crate) fn pass(definition: &Definition, request: &Request) -> Result<TracedPass> {
    let Request {
        pass,
        dtype,
        ref shape,
        time_steps,
        given,
    } = *request;
    let plain = forward(definition, dtype, shape, time_steps, &[])?;
    let given: Vec<Tensor> = (plain.signature.states.iter().enumerate())
        .filter(|(k, _)| given >> k & 1 == 1)
        .map(|(_, state)| state.clone())
        .collect();
    let traced = match given.is_empty() {
        true => plain,
        false => forward(definition, dtype, shape, time_steps, &given)?,
    };
    let operands = traced.operands();
    // A backward pass has the gradients of the output and the states in front.
    let with_grads = |operands: Vec<String>| [traced.grads(), operands].concat();
    let (operands, results) = match pass {
        Pass::Forward => (operands, traced.declare_results()),
        Pass::ForwardSaving => {
            // The backward pass that is expected: the gradient of the output is given.
            let params = (0..traced.signature.params.len()).map(|k| 1 + traced.states.len() + k);
            traced.declare_gradients(1, params.fold(1, |mask, k| mask | 1 << k))?;
            (operands, traced.declare_results())
        }
        Pass::Backward { present, wanted } => {
            let results = traced.declare_gradients(present, wanted)?;
            (with_grads(operands), results)
        }
        Pass::BackwardOfSaved { present, wanted } => {
            traced.declare_results();
            let results = traced.declare_gradients(present, wanted)?;
            (with_grads(operands), results)
        }
    };
    Ok(TracedPass {
        graph: traced.cx.tracer().finish()?,
        operands,
        results,
    })
}

impl Forward {
    /// The names of the operands: the input, the states before the first step, the parameters.
    fn operands(&self) -> Vec<String> {
        let states = self
            .signature
            .states
            .iter()
            .map(|state| before(&state.name));
        let params = self.signature.params.iter().map(|param| param.name.clone());
        std::iter::once(X.to_string())
            .chain(states)
            .chain(params)
            .collect()
    }

    /// The results: names and values.
    fn results(&self) -> Vec<(String, Var)> {
        let states = self
            .states
            .iter()
            .map(|s| (after(&s.name), s.after.clone()));
        std::iter::once((Y.to_string(), self.y.clone()))
            .chain(states)
            .collect()
    }

    /// The names of the gradients of the results.
    fn grads(&self) -> Vec<String> {
        self.results().iter().map(|(name, _)| grad(name)).collect()
    }

    /// Makes the results outputs of the graph, and returns their names.
    fn declare_results(&self) -> Vec<String> {
        let tracer = self.cx.tracer();
        let declare = |(name, value): (String, Var)| {
            tracer.output(&name, &value.expand(value.shape()));
            name
        };
        self.results().into_iter().map(declare).collect()
    }

    /// Makes gradients outputs of the graph, and returns the names of all of them.
    fn declare_gradients(&self, present: u64, wanted: u64) -> Result<Vec<String>> {
        let tracer = self.cx.tracer();
        let results = self.results();
        let given: Vec<(&Var, Var)> = (results.iter().enumerate())
            .filter(|(k, _)| present >> k & 1 == 1)
            .map(|(_, (name, value))| {
                let ty = value.ty();
                (value, tracer.input(&grad(name), ty.dtype, ty.shape.clone()))
            })
            .collect();
        let operands = self.operands();
        let mut wrt = vec![];
        for (k, name) in operands.iter().enumerate() {
            if wanted >> k & 1 == 1 {
                let var = match k {
                    0 => Some(self.x.clone()),
                    k if k <= self.states.len() => self.states[k - 1].before.clone(),
                    _ => tracer.find_input(name),
                };
                let var = var.ok_or_else(|| {
                    Error::invalid(
                        "the gradient of a layer",
                        format!("`{name}` is not an operand of this call"),
                        "ask for the gradients of tensors that were given",
                    )
                })?;
                wrt.push((grad(name), var));
            }
        }
        let pairs: Vec<(&Var, &Var)> = given.iter().map(|(v, g)| (*v, g)).collect();
        let values: Vec<&Var> = wrt.iter().map(|(_, var)| var).collect();
        let made = tracer.gradients_given(&pairs, &values);
        for ((name, _), gradient) in wrt.iter().zip(&made) {
            tracer.output(name, gradient);
        }
        Ok(operands.iter().map(|name| grad(name)).collect())
    }
}
