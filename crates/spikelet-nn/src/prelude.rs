//! The names that most definitions of networks use: `use spikelet_nn::prelude::*;`.
//!
//! All neurons and encoders are among them, and those of other families by name. [`Error`] and
//! [`Result`] are exported because nearly every program ends with them; a program with another
//! `Result` imports that one by name, which takes precedence over a glob import.

pub use crate::encoder::members::*;
pub use crate::encoder::{Delta, Encoder, LatencyCode, Periodic};
pub use crate::layer::{
    Activation, AdLif, AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d,
    AdaptiveMaxPool2d, AdaptiveMaxPool3d, AvgPool1d, AvgPool2d, AvgPool3d, AxonalDelay,
    BatchNorm1d, BatchNorm2d, BatchNorm3d, Branches, CSiLif, CadLif, Combine, Conv1d, Conv2d,
    Conv3d, ConvTransposed1d, ConvTransposed2d, ConvTransposed3d, Dcls1d, DclsVersion,
    DelayInterpolation, DelayWidth, DelayedFeedback, DelayedLinear, Dropout, Dropout2d, EfAdLif,
    EventPropLif, EventPropReadout, EventPropTime, Feedback, FirstSpikeTime, FixedDelay, Flatten,
    GroupNorm, Join, LayerNorm, LiReadout, LifRecurrent, Linear, MaxPool1d, MaxPool2d, MaxPool3d,
    NeuronLayer, PadTime, Pointwise, Qcfs, RAlif, RDecayLif, RLeaky, RLif, RSynaptic, RadLif,
    RandomFeedback, Recurrent, RecurrentBlock, Rescale, Reshape, Residual, Rnn, SeAdLif, SiLif,
    SoftmaxSum, SparchReadout, Static, StepLoop, TimeDistributed, TimeLast, TimeMax, TimeMean,
    TimeSum, TraceLearning, Voting,
};
pub use crate::loss;
pub use crate::module::{Context, Init, Mode, Module, Precision, Propagation, Sequential};
pub use crate::neuron::members::*;
pub use crate::neuron::{
    Bound, Common, Granularity, Neuron, NeuronExt, OutputKind, Param, Readout, ResetGrad, Run,
    Scope, State, Trainable,
};
pub use crate::runtime::{Program, VarStore};
pub use crate::surrogate::{Atan, Sigmoid, Surrogate};
pub use crate::{Error, Result};
pub use spikelet_expr::Expr;
pub use spikelet_graph::{Backend, DType, RandomAxes, Tensor, Tracer, Var};
pub use spikelet_schema::Schema;
