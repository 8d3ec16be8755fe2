//! A training step: a function from named inputs to a loss, differentiated, with the updates of all parameters.
//!
//! A [`Step`] is a definition. It is compiled for training ([`Step::compile`]), for evaluation
//! ([`Step::compile_eval`]), for prediction ([`Step::compile_predict`]) and for streams of single time steps
//! ([`Step::compile_stream`]), all from the same function. What is compiled shares the tensors of a
//! [`VarStore`](spikelet_nn::runtime::VarStore).

mod batch;
mod classifier;
mod compile;
mod compiled_eval;
mod compiled_train;
mod description;
mod error;
mod event_input;
mod from_data;
mod groups;
mod input_values;
mod inputs;
mod metrics;
mod monitors;
#[cfg_attr(
    not(feature = "plots"),
    expect(dead_code, reason = "the report reads it")
)]
mod observed;
mod operations;
mod outputs;
mod penalties;
mod plan;
mod probe;
mod rank_info;
#[cfg(feature = "plots")]
mod readable;
mod recorded;
mod recording;
mod sample_shape;
mod settings;
mod step_labels;
mod synaptic_operations;
mod trace;
mod weights;

pub(crate) use batch::feed;
#[cfg(feature = "plots")]
pub(crate) use classifier::OUTPUT_SEQ;
pub use classifier::is_scaled;
pub(crate) use classifier::{LABELS, SCORES};
pub use compiled_eval::EvalStep;
pub use compiled_train::TrainStep;
pub use error::{StepError, TypeDifference};
pub use input_values::InputValues;
pub use inputs::Inputs;
pub use metrics::{EpochMetrics, MetricSet, PendingMetrics, StepMetrics};
pub use monitors::Monitor;
#[cfg(feature = "plots")]
pub(crate) use observed::{Observation, ObservedLayer};
pub(crate) use operations::{Activity, activity};
pub use outputs::{NamedMetric, Outputs};
pub(crate) use plan::ForwardTrace;
pub use plan::{EvalPlan, StepPlan};
pub(crate) use probe::{ProbePlan, ProbeStep};
pub use rank_info::RankInfo;
#[cfg(feature = "plots")]
pub(crate) use recorded::path_of;
pub use recording::{LeftOut, Recorded};
pub(crate) use recording::{RecordedLayers, RecordedTypes, RecordedValue, RecordedValues};
pub use sample_shape::{BatchShape, SampleBatch, SampleShape};
pub(crate) use trace::Purpose;
#[cfg(feature = "plots")]
pub(crate) use trace::activation_name;
pub use weights::LoadReport;
pub(crate) use weights::expect_tensors;

use crate::optim::{Clip, Optimizer};
use crate::penalty::Penalty;
use groups::{Group, Groups, Names};
use inputs::{InputSpec, Layout};
use monitors::Monitors;
use spikelet_core::{MemoryBudget, Result};
use spikelet_graph::{DType, Precision};
use spikelet_nn::module::{Context, Propagation};
use std::fmt;
use std::sync::Arc;

/// The function of a step.
type Function<'a> = Arc<dyn Fn(&Context, &Inputs) -> Result<Outputs> + Send + Sync + 'a>;

/// The definition of a training step over any modules and any named inputs.
///
/// The function traces the network: it is called once for each program that is compiled, never with data. It
/// returns the loss, and optionally metrics and outputs ([`Outputs`]).
///
/// Names of parameters are matched by patterns, in which `*` stands for any characters.
///
/// ```
/// use spikelet_train::prelude::*;
/// use spikelet_train::{Outputs, Step, metric};
///
/// let net = Sequential::new().add(Linear::new(4, 16)).add(Lif::new(2.0)).add(Linear::new(16, 3));
/// let step = Step::new(|cx, inputs| {
///     let x = inputs["x"].repeat_over_time(8); // [T, N, 4]
///     let scores = net.forward(cx, &x)?.mean(&[0]);
///     let loss = loss::cross_entropy(&scores, &inputs["labels"]);
///     let accuracy = metric::accuracy(&scores, &inputs["labels"]);
///     Ok(Outputs::loss(loss).metric("accuracy", accuracy).output("scores", &scores))
/// })
/// .batch_size(2)
/// .input("x", DType::F32, [4])
/// .input("labels", DType::I64, [])
/// .optimizer(Adam::new(1e-2))
/// .group("2.*", Sgd::new(0.1)) // the last layer
/// .freeze("0.*");
///
/// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
/// let mut train = step.compile(&mut store)?;
/// let x = [0.1, 0.9, 0.3, 0.0, 0.7, 0.2, 0.8, 0.4];
/// for _ in 0..20 {
///     let metrics = train.run((("x", &x), ("labels", &[0, 2])))?;
///     assert!(metrics.loss.is_finite());
/// }
/// let mut predict = step.compile_predict(&mut store)?;
/// predict.predict([("x", &x)])?;
/// assert_eq!(predict.output("scores")?.shape, [2, 3]);
/// # Ok::<(), spikelet_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Step<'a> {
    function: Function<'a>,
    inputs: Vec<InputSpec>,
    samples: Option<usize>,
    groups: Groups,
    /// Whether the settings of a run have been taken.
    settled: bool,
    penalties: Vec<Penalty>,
    accumulate: Option<usize>,
    carry_states: bool,
    clip: Option<Clip>,
    ema: Option<f64>,
    precision: Option<Precision>,
    propagation: Option<Propagation>,
    memory_budget: Option<MemoryBudget>,
    rank: RankInfo,
    sync_batch_norm: bool,
    seed: Option<u64>,
    name: String,
    gradients: Vec<Names>,
    activations: Vec<Names>,
    monitors: Monitors,
    /// Whether evaluations count the operations of layers.
    counts: bool,
    /// The number of samples whose neurons are observed in evaluations.
    observed: usize,
    /// The values of layers that evaluations return.
    recording: Option<RecordedLayers>,
    /// Whether programs of training, and of evaluation, have the outputs of the function.
    outputs: [bool; 2],
    /// Whether a gradient that is not finite counts as a loss that is not.
    checks_gradients: bool,
}

impl<'a> Step<'a> {
    /// A step of a function that traces the loss. Set at least the batch size, the inputs and an optimizer.
    pub fn new<F, O>(function: F) -> Self
    where
        F: Fn(&Context, &Inputs) -> Result<O> + Send + Sync + 'a,
        O: Into<Outputs>,
    {
        Self {
            function: Arc::new(move |cx, inputs| Ok(function(cx, inputs)?.into())),
            inputs: vec![],
            samples: None,
            groups: Groups::default(),
            settled: false,
            penalties: vec![],
            accumulate: None,
            carry_states: false,
            clip: None,
            ema: None,
            precision: None,
            propagation: None,
            memory_budget: None,
            rank: RankInfo::default(),
            sync_batch_norm: false,
            seed: None,
            name: String::new(),
            gradients: vec![],
            activations: vec![],
            monitors: vec![],
            counts: false,
            observed: 0,
            recording: None,
            outputs: [false, true],
            checks_gradients: false,
        }
    }

    /// The number of samples of a batch, N; on each rank if there are several. 1 by default.
    #[must_use]
    pub fn batch_size(mut self, samples: usize) -> Self {
        self.samples = Some(samples);
        self
    }

    /// Declares an input of `shape` for each sample: `[N, shape…]` in the function.
    #[must_use]
    pub fn input(
        self,
        name: impl Into<String>,
        dtype: DType,
        shape: impl Into<Vec<usize>>,
    ) -> Self {
        self.declare(name, dtype, shape, Layout::Batch)
    }

    /// Declares an input that is a sequence for each sample: `shape` is `[T, …]`; `[T, N, …]` in the function.
    #[must_use]
    pub fn sequence(
        self,
        name: impl Into<String>,
        dtype: DType,
        shape: impl Into<Vec<usize>>,
    ) -> Self {
        self.declare(name, dtype, shape, Layout::Sequence)
    }

    /// Declares an input that all samples share, such as a coefficient of the loss. It keeps its values until it is
    /// set again.
    #[must_use]
    pub fn shared_input(
        self,
        name: impl Into<String>,
        dtype: DType,
        shape: impl Into<Vec<usize>>,
    ) -> Self {
        self.declare(name, dtype, shape, Layout::Shared)
    }

    fn declare(
        mut self,
        name: impl Into<String>,
        dtype: DType,
        shape: impl Into<Vec<usize>>,
        layout: Layout,
    ) -> Self {
        self.inputs.push(InputSpec {
            name: name.into(),
            dtype,
            shape: shape.into(),
            layout,
        });
        self
    }

    /// Sets the optimizer of all parameters that are in no group.
    #[must_use]
    pub fn optimizer(self, optimizer: impl Optimizer + 'static) -> Self {
        self.in_group(None, Arc::new(optimizer))
    }

    /// Sets the optimizer of the parameters whose names match `pattern`. The first group that matches applies.
    #[must_use]
    pub fn group(self, pattern: impl Into<String>, optimizer: impl Optimizer + 'static) -> Self {
        self.in_group(Some(Names::new(pattern)), Arc::new(optimizer))
    }

    fn in_group(mut self, names: Option<Names>, optimizer: Arc<dyn Optimizer>) -> Self {
        // A later call of `optimizer` replaces an earlier one.
        if names.is_none() {
            self.groups.groups.retain(|group| group.names.is_some());
        }
        self.groups.groups.push(Group { names, optimizer });
        self
    }

    /// Freezes the parameters whose names match `pattern`: they have no gradient and no update. Layers before the
    /// first trained parameter have no backward pass.
    #[must_use]
    pub fn freeze(mut self, pattern: impl Into<String>) -> Self {
        self.groups.frozen.push(Names::new(pattern));
        self
    }

    /// Excludes biases, normalization and constants of neurons (scalars and vectors) from weight decay.
    #[must_use]
    pub fn no_weight_decay_on_vectors(mut self) -> Self {
        self.groups.matrices_decay_only = true;
        self
    }

    /// Multiplies the learning rates of each layer by `factor` against those of the layer after it, for weights that were
    /// trained before. The last layer keeps its rate.
    ///
    /// A layer is the first part of the names of its parameters (`conv1`), with the number of a block where it has one
    /// (`layer1.0`); vectors alone, as those of batch norm, belong to the layer before them. Source: K. Clark et al.,
    /// *ELECTRA*, ICLR 2020.
    #[must_use]
    pub fn layer_decay(mut self, factor: impl Into<Option<f64>>) -> Self {
        self.groups.layer_decay = factor.into();
        self
    }

    /// Adds the gradients of `steps` batches before each update: the update is that of the mean loss of these batches.
    /// Batch norm computes its statistics for each batch. A [`Trainer`](crate::Trainer) leaves out the last batches of
    /// an epoch that do not make up an update.
    #[must_use]
    pub fn accumulate(mut self, steps: usize) -> Self {
        self.accumulate = Some(steps);
        self
    }

    /// Carries the states of neurons and delay lines from batch to batch, for sequences that are longer than a batch:
    /// each run continues the sequences of the run before, and its gradient ends at its first time step (truncated
    /// back-propagation through time). The memory does not depend on the length of the sequences.
    /// [`TrainStep::reset`] and [`EvalStep::reset`] begin new sequences. States are tensors of the store, which
    /// programs of the step share: reset them between training and evaluation, or use a store for each.
    ///
    /// Batches that a [`Trainer`](crate::Trainer) shuffles do not continue each other: run the step in a loop.
    ///
    /// ```
    /// use spikelet_train::prelude::*;
    /// use spikelet_train::{Outputs, Step};
    ///
    /// let net = Sequential::new().add(Linear::new(4, 8)).add(Lif::new(2.0)).add(Linear::new(8, 3));
    /// let step = Step::new(|cx, inputs| {
    ///     let scores = net.forward(cx, &inputs["x"])?; // [10, 2, 3]
    ///     // A label for each time step; 255 for those without one.
    ///     let loss = loss::CrossEntropy::new().ignore_label(255);
    ///     Ok(Outputs::loss(loss.loss(&scores, &inputs["labels"])))
    /// })
    /// .batch_size(2)
    /// .sequence("x", DType::F32, [10, 4])
    /// .sequence("labels", DType::I64, [10])
    /// .carry_states(true)
    /// .optimizer(Adam::new(1e-2));
    /// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    /// let mut train = step.compile(&mut store)?;
    /// let (x, labels) = ([0.5; 10 * 2 * 4], [1; 10 * 2]);
    /// for _recording in 0..3 {
    ///     train.reset(&mut store)?;
    ///     for _window in 0..20 {
    ///         train.run((("x", &x), ("labels", &labels)))?;
    ///     }
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn carry_states(mut self, yes: bool) -> Self {
        self.carry_states = yes;
        self
    }

    /// Clips the gradients before the update.
    #[must_use]
    pub fn clip(mut self, clip: impl Into<Option<Clip>>) -> Self {
        self.clip = clip.into();
        self
    }

    /// Adds noise to the gradients, after they are clipped: normal with the variance `eta` / (1 + t)^0.55 in step t.
    #[must_use]
    pub fn gradient_noise(mut self, eta: impl Into<Option<f64>>) -> Self {
        self.groups.gradient_noise = eta.into();
        self
    }

    /// Keeps an exponential moving average of all trained parameters and of buffers:
    /// average ← decay · average + (1 − decay) · value after each update; see [`TrainStep::averaged`].
    #[must_use]
    pub fn ema(mut self, decay: impl Into<Option<f64>>) -> Self {
        self.ema = decay.into();
        self
    }

    /// Sets the element types of matrix products and of stored sequences. f16 scales the loss.
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = Some(precision);
        self
    }

    /// Sets the order in which layers and time steps run.
    #[must_use]
    pub fn propagation(mut self, propagation: Propagation) -> Self {
        self.propagation = Some(propagation);
        self
    }

    /// Limits the memory; activations are recomputed to keep it.
    #[must_use]
    pub fn memory_budget(mut self, budget: impl Into<Option<MemoryBudget>>) -> Self {
        self.memory_budget = budget.into();
        self
    }

    /// Makes this the step of one of several ranks, each with its own batch: gradients are the means over all ranks.
    /// The device of the store must be in a group of this size. With `sync_batch_norm`, batch norm uses the
    /// statistics of all ranks.
    #[must_use]
    pub fn rank(mut self, rank: RankInfo, sync_batch_norm: bool) -> Self {
        self.rank = rank;
        self.sync_batch_norm = sync_batch_norm;
        self
    }

    /// Sets the seed of initial weights and random numbers.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Gives the tensors of the optimizer this prefix. Two steps that train the same parameters share the tensors of
    /// the optimizer unless their names differ.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Makes the gradients of the parameters whose names match `pattern` readable: see [`TrainStep::gradient`].
    #[must_use]
    pub fn read_gradients(mut self, pattern: impl Into<String>) -> Self {
        self.gradients.push(Names::new(pattern));
        self
    }

    /// Makes the recorded values of layers whose names match `pattern` readable, such as `trunk.lif.spike_seq`: see
    /// [`TrainStep::activation`]. Evaluations and predictions also have membrane potentials, `*.v_seq`, and the inputs
    /// of neurons, `*.x_seq`.
    #[must_use]
    pub fn read_activations(mut self, pattern: impl Into<String>) -> Self {
        self.activations.push(Names::new(pattern));
        self
    }

    /// Whether the outputs of the function can be read after training steps and evaluations. By default those of
    /// training steps are not computed. Predictions always have them.
    #[must_use]
    pub fn outputs(mut self, yes: bool) -> Self {
        self.outputs = [yes, yes];
        self
    }

    /// Whether a step with a gradient that is not finite updates nothing and has a loss that is not finite, too. A loss
    /// may be finite where gradients are not: a potential that is NaN does not reach the threshold. It costs a reduction
    /// of each gradient. With f16 such steps are left out anyway, without a word: they set the scale of the loss.
    #[must_use]
    pub fn check_gradients(mut self, yes: bool) -> Self {
        self.checks_gradients = yes;
        self
    }

    /// The same step with another batch size, as that of an evaluation.
    pub(crate) fn with_batch(&self, samples: usize) -> Self {
        self.clone().batch_size(samples)
    }

    /// The same step as that of one of several ranks.
    pub(crate) fn on_rank(self, rank: RankInfo) -> Self {
        let sync_batch_norm = self.sync_batch_norm;
        self.rank(rank, sync_batch_norm)
    }

    /// The bytes of the inputs of one sample.
    pub(crate) fn input_bytes(&self) -> usize {
        let given = self
            .inputs
            .iter()
            .filter(|input| input.layout != Layout::Shared);
        given.map(InputSpec::bytes).fold(0, usize::saturating_add)
    }
}

impl fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("inputs", &self.inputs)
            .field("batch_size", &self.samples)
            .field("accumulate", &self.accumulate)
            .field("clip", &self.clip)
            .field("ema", &self.ema)
            .field("precision", &self.precision)
            .finish_non_exhaustive()
    }
}
