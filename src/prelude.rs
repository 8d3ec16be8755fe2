//! What most programs use.

pub use crate::encoder::members::*;
pub use crate::encoder::{Delta, Encoder, LatencyCode, Periodic};
pub use crate::layer::{
    BatchNorm0d, BatchNorm1d, BatchNorm2d, BatchNorm3d, ConstantInput, Conv1d, Conv2d, Conv3d,
    ConvTransposed1d, ConvTransposed2d, ConvTransposed3d, Dropout, Dropout2d, EachStep, Flatten,
    Function, GroupNorm, Join, LayerNorm, Linear, OnTrace, Pool1d, Pool2d, Pool3d, Recurrent,
    Residual, TimeLast, TimeMean,
};
pub use crate::loss;
pub use crate::model::{Compiled, Store};
pub use crate::module::{Context, Init, Mode, Module, Precision, Propagation, Sequential};
pub use crate::neuron::members::*;
pub use crate::neuron::{
    Bound, Common, Decode, Emits, Learn, Neuron, NeuronExt, Param, ResetGrad, Run, Scope, Share,
    State,
};
pub use crate::optim::{Adam, AnyOptimizer, Clip, Schedule, Sgd};
pub use crate::surrogate::{Atan, Sigmoid, Surrogate};
pub use crate::train::{Settings, Trainer};
pub use crate::{Error, Result};
pub use spikelet_expr::Expr;
pub use spikelet_graph::{Backend, DType, Over, Tensor, Tracer, Var};
