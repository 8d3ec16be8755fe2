//! How a graph is imported, and how it runs in time steps.

use super::choices::{FeedbackFrom, Fires, Reset, VStart};
use super::convention::Convention;
use spikelet_nn::neuron::{Discretization, ResetGrad};
use spikelet_nn::surrogate::{Sigmoid, Surrogate};
use std::fmt;
use std::sync::Arc;

/// How a graph is imported. A value that is not given is that of the convention, of the metadata that
/// [`export`](super::export) writes, or the default of [`Semantics`], in this order.
///
/// | field | default | |
/// |---|---|---|
/// | `dt` | from the parameters, if they determine it | length of a step, in the units of the graph's time constants, usually seconds |
/// | `discretization` | euler-seq | see [`Discretization`] |
/// | `reset` | value | |
/// | `reset_delay` | false | whether the reset comes one step after the spike, as with snnTorch's `reset_delay=True` |
/// | `fires` | gt | |
/// | `feedback` | source | |
/// | `v_start` | zero | |
/// | `convention` | none | the choices of a framework |
/// | `surrogate` | sigmoid, α = 4 | for training |
/// | `reset_grad` | surrogate | for training |
/// | `train_neurons` | false | whether the parameters of neurons are trained, and not only weights |
///
/// ```
/// use spikelet_nir::{Convention, ImportOptions, Reset};
/// let options = ImportOptions { reset: Some(Reset::Subtract), ..ImportOptions::new(1e-4) };
/// assert_eq!(options.dt, Some(1e-4));
/// assert!(ImportOptions::of(Convention::Norse).dt.is_none()); // the convention has it
/// ```
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The length of a step.
    pub dt: Option<f64>,
    /// The way from one step to the next.
    pub discretization: Option<Discretization>,
    /// The reset of a neuron that fired.
    pub reset: Option<Reset>,
    /// Whether the reset comes one step after the spike.
    pub reset_delay: Option<bool>,
    /// Whether a potential that equals the threshold causes a spike.
    pub fires: Option<Fires>,
    /// Where the delay of one step is in a cycle.
    pub feedback: Option<FeedbackFrom>,
    /// The potential before the first step.
    pub v_start: Option<VStart>,
    /// The choices of a framework.
    pub convention: Option<Convention>,
    /// The surrogate gradient of all spikes.
    pub surrogate: Arc<dyn Surrogate>,
    /// The gradient of the reset.
    pub reset_grad: ResetGrad,
    /// Whether the parameters of neurons are trained.
    pub train_neurons: bool,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            dt: None,
            discretization: None,
            reset: None,
            reset_delay: None,
            fires: None,
            feedback: None,
            v_start: None,
            convention: None,
            surrogate: Arc::new(Sigmoid::default()),
            reset_grad: ResetGrad::default(),
            train_neurons: false,
        }
    }
}

impl ImportOptions {
    /// The defaults with steps of `dt`, usually in seconds.
    pub fn new(dt: f64) -> Self {
        Self {
            dt: Some(dt),
            ..Self::default()
        }
    }

    /// The choices of a framework.
    pub fn of(convention: Convention) -> Self {
        Self {
            convention: Some(convention),
            ..Self::default()
        }
    }
}

/// The origin of the length of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepLengthFrom {
    /// [`ImportOptions::dt`].
    Options,
    /// The convention of a framework.
    Convention,
    /// The metadata of the graph.
    Metadata,
    /// The parameters of the neurons, such as r = τ/dt.
    Parameters,
    /// No node depends on it.
    Unused,
}

/// How a graph runs in time steps: all choices that were made at its import.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Semantics {
    /// The length of a step, in the units of the graph's time constants.
    pub dt: f64,
    /// The origin of the length of a step.
    pub dt_from: StepLengthFrom,
    /// The way from one step to the next.
    pub discretization: Discretization,
    /// The reset of neurons that fired, unless the metadata of a node says otherwise.
    pub reset: Reset,
    /// Whether the reset comes one step after the spike, unless the metadata of a node says otherwise.
    pub reset_delay: bool,
    /// Whether a potential that equals the threshold causes a spike, unless the metadata of a node says otherwise.
    pub fires: Fires,
    /// Where the delay of one step is in a cycle.
    pub feedback: FeedbackFrom,
    /// The potential before the first step, unless the metadata of a node says otherwise.
    pub v_start: VStart,
}

impl fmt::Display for Semantics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "dt {}, {}, reset {}{}, fires {}, feedback {}, v(0) {}",
            self.dt,
            self.discretization,
            self.reset,
            if self.reset_delay { " a step late" } else { "" },
            self.fires,
            self.feedback,
            self.v_start
        )
    }
}
