//! Layers: one file each.

mod activation;
mod adaptive_pool;
mod attention;
mod batch_norm;
mod conv;
mod conv_transposed;
mod delay;
mod dropout;
mod eventprop;
mod feedback;
mod flatten;
mod images;
mod layer_norm;
mod linear;
mod neuron_layer;
mod neuron_layers;
mod parallel;
mod pointwise;
mod pool;
mod qcfs;
mod random_feedback;
mod recurrent;
mod recurrent_block;
mod reshape;
mod residual;
mod rnn;
mod scale;
mod time;
mod trace_learning;
mod voting;

pub use activation::Activation;
pub use adaptive_pool::{
    AdaptiveAvgPool, AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool,
    AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d,
};
pub use attention::{AttentionParts, SelfAttention, SpikeDrivenAttention, TokenAttention};
pub use batch_norm::{BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d};
pub use conv::{Conv, Conv1d, Conv2d, Conv3d};
pub use conv_transposed::{ConvTransposed, ConvTransposed1d, ConvTransposed2d, ConvTransposed3d};
pub use delay::{
    AxonalDelay, Dcls1d, DclsVersion, DelayInterpolation, DelayWidth, DelayedFeedback,
    DelayedLinear, FixedDelay, PadTime,
};
pub use dropout::{Dropout, Dropout2d};
pub use eventprop::{EventPropLif, EventPropReadout, EventPropTime, FirstSpikeTime};
pub use feedback::Feedback;
pub(crate) use feedback::off_diagonal;
pub use flatten::Flatten;
pub use images::Sizes;
pub(crate) use images::channels_last;
pub use layer_norm::{GroupNorm, LayerNorm};
pub use linear::Linear;
pub use neuron_layer::{NeuronLayer, NeuronLayerKind, NeuronLayerParts};
pub use neuron_layers::{
    AdLif, CSiLif, CadLif, EfAdLif, LiReadout, LifRecurrent, RAlif, RDecayLif, RLeaky, RLif,
    RSynaptic, RadLif, SeAdLif, SiLif, SparchReadout, kind, neuron_layer_parts,
};
pub use parallel::{Combine, Parallel};
pub use pointwise::{Pointwise, WeightShape};
pub use pool::{Pool, Pool1d, Pool2d, Pool3d};
pub use qcfs::Qcfs;
pub use random_feedback::RandomFeedback;
pub use recurrent::Recurrent;
pub use recurrent_block::RecurrentBlock;
pub use reshape::Reshape;
pub use residual::{Join, Residual};
pub use rnn::Rnn;
pub use scale::Scale;
pub use time::{
    SoftmaxSum, StaticInput, StepLoop, TimeDistributed, TimeLast, TimeMax, TimeMean, TimeSum,
};
pub use trace_learning::TraceLearning;
pub use voting::Voting;

pub use crate::neuron::spiking::{Spiking, spiking};
