//! Functions on traced values: losses, metrics, parameters, networks.

use super::error::{invalid, raise};
use super::network::PyNetwork;
use super::var::{PyVar, made};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use spikelet::graph::Var;
use spikelet::loss;
use spikelet::module::{Context, Init, Module};
use spikelet::sequence;
use spikelet::train::metric::{self, Metric};
use std::cell::RefCell;

thread_local! {
    /// The contexts of the steps that this thread traces, the innermost last.
    static TRACED: RefCell<Vec<Context>> = const { RefCell::new(vec![]) };
}

/// Runs a function while the context is that of this thread.
pub(super) fn within<T>(cx: &Context, run: impl FnOnce() -> T) -> T {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            TRACED.with_borrow_mut(|all| all.pop());
        }
    }
    TRACED.with_borrow_mut(|all| all.push(cx.clone()));
    let _leave = Leave;
    run()
}

/// The context of the step that is traced.
fn context() -> PyResult<Context> {
    let found = TRACED.with_borrow(|all| all.last().cloned());
    found.ok_or_else(|| {
        PyRuntimeError::new_err(
            "graph: no step is being traced\n  help: call this in the function of a `spikelet.Step`",
        )
    })
}

/// A metric of a step: sums over the samples, and a function of them.
#[pyclass(frozen, unsendable, name = "Metric", module = "spikelet.graph")]
pub(super) struct PyMetric {
    pub metric: Metric,
}

/// The loss of this name of two values and numbers.
#[pyfunction]
#[pyo3(signature = (name, first, second=None, *numbers))]
pub(super) fn loss_of(
    name: &str,
    first: PyRef<'_, PyVar>,
    second: Option<PyRef<'_, PyVar>>,
    numbers: &Bound<'_, PyTuple>,
) -> PyResult<PyVar> {
    let numbers: Vec<f64> = numbers
        .iter()
        .map(|number| number.extract())
        .collect::<PyResult<_>>()?;
    let x = &first.var;
    let n = |k: usize| {
        let number = numbers.get(k).copied();
        number.ok_or_else(|| invalid(name, "a number is missing", "give all arguments"))
    };
    let y = || -> PyResult<&Var> {
        let second = second.as_ref().map(|second| &second.var);
        second.ok_or_else(|| invalid(name, "the target is missing", "give two tensors"))
    };
    made(match name {
        "cross_entropy" => {
            let entropy = loss::CrossEntropy::new().label_smoothing(n(0)?);
            let entropy = match numbers.get(1) {
                Some(ignored) => entropy.ignore_label(*ignored as i64),
                None => entropy,
            };
            match y()?.ty().dtype {
                spikelet::graph::DType::I64 => entropy.loss(x, y()?),
                _ => entropy.soft(x, y()?),
            }
        }
        "mse" => loss::mse(x, y()?),
        "mse_one_hot" => loss::mse_one_hot(x, y()?),
        "l1" => loss::l1(x, y()?),
        "huber" => loss::huber(x, y()?, n(0)?),
        "smooth_l1" => loss::smooth_l1(x, y()?, n(0)?),
        "binary_cross_entropy" => loss::weighted_binary_cross_entropy(x, y()?, n(0)?),
        "kl_divergence" => loss::kl_divergence(x, y()?, n(0)?),
        "tet" => loss::tet(x, y()?),
        "spike_rate_mse" => loss::spike_rate_mse(x, y()?, n(0)?, n(1)?),
        "spike_count_mse" => loss::spike_count_mse(x, y()?, n(0)?, n(1)?),
        "spike_count_cross_entropy" => loss::spike_count_cross_entropy(x, y()?),
        "van_rossum" => loss::van_rossum(x, y()?, n(0)?),
        "first_spike_time" => loss::first_spike_time(x),
        "first_spike_cross_entropy" => loss::first_spike_cross_entropy(x, y()?),
        "rate_target" => loss::rate_target(x, n(0)?),
        "rate_bounds" => loss::rate_bounds(x, n(0)?, n(1)?),
        "spike_count" => loss::spike_count(x),
        _ => {
            return Err(invalid(
                "loss",
                format!("`{name}` is unknown"),
                "see `spikelet.graph`",
            ));
        }
    })
}

/// The time steps of sequences of different lengths: their mask for `steps` steps, or their sum, mean or last step.
#[pyfunction]
#[pyo3(signature = (name, lengths, x_seq=None, steps=0))]
pub(super) fn sequence_of(
    name: &str,
    lengths: PyRef<'_, PyVar>,
    x_seq: Option<PyRef<'_, PyVar>>,
    steps: usize,
) -> PyResult<PyVar> {
    let over = match name {
        "sum" => sequence::sum,
        "mean" => sequence::mean,
        _ => sequence::last,
    };
    made(match x_seq {
        Some(x_seq) => over(&x_seq.var, &lengths.var),
        None => sequence::mask(&lengths.var, steps),
    })
}

/// The metric of this name.
#[pyfunction]
#[pyo3(signature = (name, first, second=None, number=None))]
pub(super) fn metric_of(
    name: &str,
    first: PyRef<'_, PyVar>,
    second: Option<PyRef<'_, PyVar>>,
    number: Option<usize>,
) -> PyResult<PyMetric> {
    let x = &first.var;
    let y = || -> PyResult<&Var> {
        let second = second.as_ref().map(|second| &second.var);
        second.ok_or_else(|| invalid(name, "the target is missing", "give two tensors"))
    };
    let found = match name {
        "accuracy" => metric::accuracy(x, y()?),
        "top_k" => metric::top_k(x, y()?, number.unwrap_or(5)),
        "f1" => metric::f1(x, y()?),
        "r2" => metric::r2(x, y()?),
        "mean" => metric::mean(x),
        _ => {
            return Err(invalid(
                "metric",
                format!("`{name}` is unknown"),
                "see `spikelet.graph`",
            ));
        }
    };
    x.tracer().check().map_err(raise)?;
    Ok(PyMetric { metric: found })
}

/// The initial values of a name, with a number where it has one.
fn init_of(init: &str, number: f64) -> PyResult<Init> {
    Ok(match init {
        "constant" => Init::Constant(number),
        "uniform" => Init::Uniform { bound: number },
        "normal" => Init::Normal { deviation: number },
        "orthogonal" => Init::Orthogonal,
        _ => {
            return Err(invalid(
                "init",
                format!("`{init}` is unknown"),
                "use constant, uniform, normal or orthogonal",
            ));
        }
    })
}

/// A trained tensor of the step that is traced.
#[pyfunction]
pub(super) fn parameter(name: &str, shape: Vec<usize>, init: &str, number: f64) -> PyResult<PyVar> {
    let cx = context()?;
    made(cx.parameter(name, shape, init_of(init, number)?))
}

/// The output of a network for a sequence `[T, N, …]`, with its parameters under `path`, in the step that is traced.
#[pyfunction]
pub(super) fn call_network(
    network: &PyNetwork,
    path: &str,
    x: PyRef<'_, PyVar>,
) -> PyResult<PyVar> {
    let cx = context()?;
    let module = network.network.module().map_err(raise)?;
    let output = match path {
        "" => module.forward(&cx, &x.var),
        path => cx.child(path, |cx| module.forward(cx, &x.var)),
    };
    made(output.map_err(raise)?)
}

/// The output of an encoder for `x`, `[N, …]`, as a sequence.
#[pyfunction]
pub(super) fn encode(encoder: &str, x: PyRef<'_, PyVar>, time_steps: usize) -> PyResult<PyVar> {
    let cx = context()?;
    let encoder =
        spikelet::encoder::parse(encoder).map_err(|error| raise(spikelet::Error::other(error)))?;
    made(encoder.encode(&cx, &x.var, time_steps))
}

/// A recorded value of a layer that was traced, such as `0.spike_seq`.
#[pyfunction]
pub(super) fn recorded(path: &str) -> PyResult<PyVar> {
    made(context()?.recorded(path).map_err(raise)?)
}

/// Gives learning rules a signal, and layers that learn by the class of a sample the labels, in the step that is traced.
#[pyfunction]
pub(super) fn give(name: Option<&str>, value: PyRef<'_, PyVar>) -> PyResult<()> {
    let cx = context()?;
    match name {
        Some(name) => cx.give_signal(name, &value.var),
        None => cx.give_label(&value.var),
    }
    Ok(())
}

/// Values one after the other along an axis, or along a new one.
#[pyfunction]
pub(super) fn join(parts: Vec<PyRef<'_, PyVar>>, axis: isize, stack: bool) -> PyResult<PyVar> {
    let vars: Vec<&Var> = parts.iter().map(|part| &part.var).collect();
    let Some(first) = vars.first() else {
        return Err(invalid(
            "concat",
            "there are no tensors",
            "give at least one",
        ));
    };
    let axis = super::var::axis(first.rank() + usize::from(stack), axis)?;
    made(match stack {
        true => Var::stack(&vars, axis),
        false => Var::concat(&vars, axis),
    })
}
