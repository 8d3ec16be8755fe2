//! The names that most definitions of networks use: `use spikelet_nn::prelude::*;`.
//!
//! All others are in their modules: [`layer`](crate::layer), [`neuron`](crate::neuron), [`encoder`](crate::encoder),
//! [`surrogate`](crate::surrogate). [`Error`] and [`Result`] are exported because nearly every program ends with them; a program with
//! another `Result` imports that one by name, which takes precedence over a glob import.

pub use crate::encoder::{Direct, Poisson};
pub use crate::layer::{
    AdaptiveAvgPool2d, AvgPool2d, BatchNorm1d, BatchNorm2d, Conv1d, Conv2d, Dropout, Flatten,
    Linear, MaxPool2d, Recurrent, Residual, Rnn, TimeLast, TimeMean, TimeSum,
};
pub use crate::loss;
pub use crate::module::{Context, Init, Mode, Module, Precision, Propagation, Sequential};
pub use crate::neuron::{
    Bound, Common, CubaLif, Granularity, If, Lif, Neuron, NeuronExt, Plif, Readout, ResetGrad, Run,
    Scope, State, Trainable,
};
pub use crate::runtime::{Program, VarStore};
pub use crate::surrogate::{Atan, Sigmoid, Surrogate};
pub use crate::{Error, Result};
pub use spikelet_expr::Expr;
pub use spikelet_graph::{Backend, DType, Tensor, Tracer, Var};
pub use spikelet_schema::Schema;
