//! Errors of learning rules.

use crate::module::LABEL;
use spikelet_graph::TensorType;

/// A learning rule that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearningError {
    /// A trace without an equation.
    #[error("the rule `{rule}` reads the trace `{trace}` and does not set its next value")]
    NotSet {
        /// The rule.
        rule: &'static str,
        /// The trace.
        trace: String,
    },
    /// Two traces, or a trace and an operand, with one name.
    #[error("the rule `{rule}` uses the name `{name}` twice")]
    DuplicateName {
        /// The rule.
        rule: &'static str,
        /// The name.
        name: String,
    },
    /// An equation that uses a value of the other side of the synapse, or an unknown one.
    #[error(
        "the rule `{rule}`: the equation of the {side} trace `{trace}` uses `{symbol}`; it may use {allowed}"
    )]
    Symbol {
        /// The rule.
        rule: &'static str,
        /// The side of the trace.
        side: &'static str,
        /// The trace.
        trace: String,
        /// The symbol that it may not use.
        symbol: String,
        /// The allowed values.
        allowed: &'static str,
    },
    /// An outer signal that was not given.
    #[error("the rule `{rule}` needs the signal `{signal}`, which was not given")]
    NoSignal {
        /// The rule.
        rule: &'static str,
        /// The signal.
        signal: String,
    },
    /// A value of the postsynaptic neuron that the layer does not give.
    #[error(
        "the rule `{rule}` needs the value `{value}` of the neurons, which this layer does not have"
    )]
    NoValue {
        /// The rule.
        rule: &'static str,
        /// The value.
        value: String,
    },
    /// A signal of a wrong shape.
    #[error(
        "the signal `{signal}` is {given}; expected one value for each of {time_steps} steps, [{time_steps}], or for each \
         step and sample, [{time_steps}, {batch}]"
    )]
    SignalShape {
        /// The signal.
        signal: String,
        /// Its type.
        given: TensorType,
        /// The steps of the sequence.
        time_steps: usize,
        /// The samples of the batch.
        batch: usize,
    },
    /// Equations of synapses that are no sums of products, on a convolution.
    #[error(
        "the rule `{rule}` needs values for each synapse and sample, which a convolution does not have: its change and the \
         traces of its synapses must be sums of products of one factor of each neuron"
    )]
    NeedsLinear {
        /// The rule.
        rule: &'static str,
    },
    /// Target values of a wrong shape.
    #[error(
        "the signal `{signal}` is {given}; expected one value for each step, sample and output, {expected:?}"
    )]
    TargetShape {
        /// The signal.
        signal: String,
        /// Its type.
        given: TensorType,
        /// Steps, samples, outputs.
        expected: Vec<usize>,
    },
    /// Classes of a wrong shape.
    #[error(
        "the label is {given}; expected a class of each sample, i64 [{batch}], or probabilities, f32 [{batch}, {classes}]"
    )]
    LabelShape {
        /// The type of the label.
        given: TensorType,
        /// The samples of the batch.
        batch: usize,
        /// The classes.
        classes: usize,
    },
    /// Neurons that cannot be divided among the classes.
    #[error("{neurons} neurons or channels cannot be divided among {classes} classes")]
    Classes {
        /// The neurons, or the channels.
        neurons: usize,
        /// The classes.
        classes: usize,
    },
    /// A reward for a rule that reads none.
    #[error(
        "there is a reward by classes, and the rule `{rule}` does not read the signal `reward`"
    )]
    NoReward {
        /// The rule.
        rule: &'static str,
    },
    /// A layer whose weights no rule can change.
    #[error("{setting} is {given}; a learning rule needs {expected}")]
    Synapses {
        /// The setting of the layer.
        setting: &'static str,
        /// Its value.
        given: usize,
        /// The value that is supported.
        expected: usize,
    },
    /// A rule whose weights change at the end of the sequence, in a network that runs step by step.
    #[error(
        "the weights change at the end of the sequence, and the network runs step by step; change them in each step"
    )]
    NeedsAllSteps,
    /// Competing neurons, whose weights change at the end of the sequence.
    #[error("neurons compete in each step, and the weights change at the end of the sequence")]
    Competition,
    /// Homeostasis of neurons without the trainable constant `v_threshold`.
    #[error(
        "the threshold rises with each spike, and the neuron has no trainable constant `v_threshold`"
    )]
    FixedThreshold,
    /// Weights that change outside the optimizer, on several ranks.
    #[error(
        "the rule `{rule}` changes weights on each of {ranks} ranks by itself, so that they would differ"
    )]
    Ranks {
        /// The rule.
        rule: &'static str,
        /// The number of ranks.
        ranks: usize,
    },
}

impl LearningError {
    /// How to correct it.
    pub(crate) fn help(&self) -> &'static str {
        match self {
            Self::NotSet { .. } => {
                "define it with `set_pre_trace`, `set_post_trace` or `set_synapse_trace`"
            }
            Self::DuplicateName { .. } => "give traces and signals names of their own",
            Self::Symbol { .. } => {
                "compute it from the values of its side, or make it a trace of the synapse"
            }
            Self::NoSignal { signal, .. } if signal == LABEL => {
                "give the classes with `give_label` before the network is traced; a classifier does, where samples have one label"
            }
            Self::NoSignal { .. } => "give it with `give_signal` before the network is traced",
            Self::LabelShape { .. } => "give labels of one of these shapes",
            Self::Classes { .. } => "use a multiple of the number of classes",
            Self::NoReward { .. } => "remove it, or use a rule that reads it, such as `RewardStdp`",
            Self::NoValue { .. } => "use a rule that is derived from the neurons of the layer",
            Self::SignalShape { .. } => "give a signal of one of these shapes",
            Self::TargetShape { .. } => "give a signal of this shape",
            Self::NeedsLinear { .. } => {
                "use a linear layer, or write them as such sums; a trace that a reward multiplies needs one reward for all \
                 samples"
            }
            Self::Synapses { .. } => "use a layer with this value",
            Self::NeedsAllSteps => "use `Update::EachStep`, or run the network layer by layer",
            Self::Competition => "use `Update::EachStep`",
            Self::FixedThreshold => {
                "make it trainable: `.trainable(\"v_threshold\", Trainable::new(Granularity::Neuron))`; recurrent \
                 connections around the neuron hide its constants"
            }
            Self::Ranks { .. } => "use `Update::Gradient`, or one rank",
        }
    }
}
