//! Layers: one file each.

mod images;
mod setters;

pub use crate::neuron::spiking::{Spiking, spiking};
pub(crate) use feedback::off_diagonal;
pub use images::Sizes;
pub(crate) use images::channels_last;
pub(crate) use setters::setters;

use crate::network::kind::layers;

layers! {
    mod linear: Linear => LINEAR;
    mod conv: Conv, Conv1d, Conv2d, Conv3d => CONV;
    mod conv_transposed: ConvTransposed, ConvTransposed1d, ConvTransposed2d, ConvTransposed3d => CONV_TRANSPOSED;
    mod pool: AvgPool, AvgPool1d, AvgPool2d, AvgPool3d, MaxPool, MaxPool1d, MaxPool2d, MaxPool3d => MAX_POOL, AVG_POOL;
    mod adaptive_pool: AdaptiveAvgPool, AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool, AdaptiveMaxPool1d,
        AdaptiveMaxPool2d, AdaptiveMaxPool3d => ADAPTIVE_MAX_POOL, ADAPTIVE_AVG_POOL;
    mod upsample: Upsample, Upsample1d, Upsample2d, Upsample3d => UPSAMPLE;
    mod batch_norm: BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d => BATCH_NORM;
    mod layer_norm: GroupNorm, LayerNorm => LAYER_NORM, GROUP_NORM;
    mod dropout: Dropout, Dropout2d => DROPOUT, DROPOUT2D;
    mod flatten: Flatten => FLATTEN;
    mod reshape: Reshape;
    mod activation: Activation => RELU, LEAKY_RELU, GELU, SILU, SIGMOID, TANH;
    mod qcfs: Qcfs => QCFS;
    mod rescale: Rescale => RESCALE;
    mod pointwise: Pointwise, WeightShape => POINTWISE;
    in attention;
    mod neuron => NEURON;
    mod rnn: Rnn => RNN;
    mod recurrent: Recurrent => RECURRENT;
    mod feedback: Feedback;
    mod random_feedback: RandomFeedback;
    mod recurrent_block: RecurrentBlock;
    use crate::learning::kinds;
    mod trace_learning: TraceLearning => TRACE_LEARNING;
    in eventprop;
    in delay;
    mod voting: Voting => VOTING;
    mod time: SoftmaxSum, StepLoop, TimeDistributed, TimeLast, TimeMax, TimeMean, TimeSum
        => TIME_MEAN, TIME_LAST, TIME_SUM, TIME_MAX, SOFTMAX_SUM;
    mod neuron_layer: NeuronLayer, NeuronLayerKind, NeuronLayerParts;
    in neuron_layers;
    mod group => LAYERS;
    mod residual: Join, Residual => RESIDUAL;
    mod branches: Branches, Combine => BRANCHES;
    mod static_input: Static => STATIC;
}
