//! Layers: one file each.

mod adaptive_pool;
mod batch_norm;
mod conv;
mod conv_transposed;
mod dropout;
mod flatten;
mod images;
mod layer_norm;
mod linear;
mod parallel;
mod pool;
mod recurrent;
mod residual;
mod time;
mod trace_learning;
mod voting;

pub use adaptive_pool::{
    AdaptiveAvgPool, AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool,
    AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d,
};
pub use batch_norm::{BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d};
pub use conv::{Conv, Conv1d, Conv2d, Conv3d};
pub use conv_transposed::{ConvTransposed, ConvTransposed1d, ConvTransposed2d, ConvTransposed3d};
pub use dropout::{Dropout, Dropout2d};
pub use flatten::Flatten;
pub use images::Sizes;
pub use layer_norm::{GroupNorm, LayerNorm};
pub use linear::Linear;
pub use parallel::{Combine, Parallel};
pub use pool::{Pool, Pool1d, Pool2d, Pool3d};
pub use recurrent::Recurrent;
pub use residual::{Join, Residual};
pub use time::{StaticInput, StepLoop, TimeDistributed, TimeLast, TimeMean};
pub use trace_learning::TraceLearning;
pub use voting::Voting;

pub use crate::neuron::spiking::{Spiking, spiking};
