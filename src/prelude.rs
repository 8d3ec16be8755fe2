//! What most programs use.

pub use crate::encoder::{
    Delta, Direct, Encoder, Latency, LatencyCode, Periodic, Poisson, Population, Rate,
    WeightedPhase,
};
pub use crate::layer::{
    BatchNorm0d, BatchNorm1d, BatchNorm2d, BatchNorm3d, ConstantInput, Conv1d, Conv2d, Conv3d,
    ConvTransposed1d, ConvTransposed2d, ConvTransposed3d, Dropout, Dropout2d, EachStep, Flatten,
    Function, GroupNorm, Join, LayerNorm, Linear, OnTrace, Pool1d, Pool2d, Pool3d, Recurrent,
    Residual, TimeLast, TimeMean,
};
pub use crate::loss;
pub use crate::model::{Compiled, Store};
pub use crate::module::{Context, Init, Mode, Module, Precision, Propagation, Sequential};
pub use crate::neuron::{
    Adex, Alif, Alpha, Bound, Brf, Clif, Common, CubaLif, Decode, Eif, Emits, GatedLif,
    HalfThresholdIf, If, Ilif, Izhikevich, Klif, Learn, Liaf, Lif, MaskedPsn, Neuron, NeuronExt,
    NonSpikingIf, NonSpikingLif, OtttLif, Param, Plif, Psn, Qif, Raf, RefractoryLif, ResetGrad,
    Run, Scope, Share, SlidingPsn, SlttLif, SoftPulseIf, SoftPulseLif, State, Synaptic, TernaryIf,
    TernaryLif,
};
pub use crate::optim::{Adam, AnyOptimizer, Clip, Schedule, Sgd};
pub use crate::surrogate::{Atan, Sigmoid, Surrogate};
pub use crate::train::{Settings, Trainer};
pub use crate::{Error, Result};
pub use spikelet_expr::Expr;
pub use spikelet_graph::{Backend, DType, Tensor, Tracer, Var};
