//! Graphs of a layer's forward and backward pass for a shape of its input.

use super::Definition;
use spikelet_core::{Error, Result};
use spikelet_graph::{DType, Graph, Var};
use spikelet_nn::module::{Chunk, Context, Init, Mode};

/// A pass of a layer. Bit `k` of a mask stands for operand or result `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pass {
    /// From the input, the states before the first step and the parameters to the output and the last states.
    Forward,
    /// From the gradients of the results of the forward pass and its operands to the gradients of the operands.
    Backward {
        /// The gradients that are given: of the output, then of the last states.
        present: u64,
        /// The operands of the forward pass whose gradients are computed.
        wanted: u64,
    },
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
    cx: Context,
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

fn before(name: &str) -> String {
    format!("before.{name}")
}

fn grad(name: &str) -> String {
    format!("grad.{name}")
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
    let cx = Context::new(Mode::TRAIN, float(dtype)).chunk(Chunk::WHOLE);
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
    let y = cx.trace(&*definition.module(), sequence)?;
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
    Ok(forward(definition, DType::F32, shape, shape[0], &[])?.signature)
}

/// Traces a request.
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
    let names = |tensors: &[Tensor], form: &dyn Fn(&str) -> String| -> Vec<String> {
        tensors.iter().map(|tensor| form(&tensor.name)).collect()
    };
    let states = &traced.signature.states;
    let params = names(&traced.signature.params, &str::to_string);
    let operands = [vec![X.to_string()], names(states, &before), params].concat();
    let tracer = traced.cx.tracer();
    match pass {
        Pass::Forward => {
            let mut results = vec!["y_seq".to_string()];
            tracer.output(&results[0], &traced.y);
            for state in &traced.states {
                let name = format!("after.{}", state.name);
                tracer.output(&name, &state.after.expand(state.after.shape()));
                results.push(name);
            }
            Ok(TracedPass {
                graph: tracer.finish()?,
                operands,
                results,
            })
        }
        Pass::Backward { present, wanted } => {
            let results = std::iter::once(("y_seq", &traced.y));
            let results = results.chain(traced.states.iter().map(|s| (s.name.as_str(), &s.after)));
            let mut grads = vec![];
            let mut pairs = vec![];
            for (k, (name, value)) in results.enumerate() {
                grads.push(grad(&format!("after.{name}")));
                if present >> k & 1 == 1 {
                    let ty = value.ty();
                    pairs.push((value, tracer.input(&grads[k], ty.dtype, ty.shape.clone())));
                }
            }
            let mut wrt = vec![];
            for (k, name) in operands.iter().enumerate() {
                if wanted >> k & 1 == 1 {
                    let var = match k {
                        0 => Some(traced.x.clone()),
                        k if k <= traced.states.len() => traced.states[k - 1].before.clone(),
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
            let pairs: Vec<(&Var, &Var)> = pairs.iter().map(|(v, g)| (*v, g)).collect();
            let values: Vec<&Var> = wrt.iter().map(|(_, var)| var).collect();
            let made = tracer.gradients_given(&pairs, &values);
            for ((name, _), gradient) in wrt.iter().zip(&made) {
                tracer.output(name, gradient);
            }
            let results = operands.iter().map(|name| grad(name)).collect();
            Ok(TracedPass {
                graph: tracer.finish()?,
                operands: [grads, operands].concat(),
                results,
            })
        }
    }
}
