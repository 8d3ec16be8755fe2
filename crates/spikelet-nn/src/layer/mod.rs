//! Layers: one file each.

mod images;
mod init_keys;
mod setters;

pub use crate::neuron::spiking::{Spiking, spiking};
pub(crate) use conv::ConvKeys;
pub(crate) use feedback::off_diagonal;
pub use images::Sizes;
pub(crate) use images::channels_last;
pub(crate) use linear::LinearKeys;
pub(crate) use setters::setters;

use crate::network::kind::layers;

layers! {
    mod linear: Linear => LinearKeys;
    mod conv: Conv, Conv1d, Conv2d, Conv3d => ConvKeys;
    mod conv_transposed: ConvTransposed, ConvTransposed1d, ConvTransposed2d, ConvTransposed3d => ConvTransposedKeys;
    mod pool: AvgPool, AvgPool1d, AvgPool2d, AvgPool3d, MaxPool, MaxPool1d, MaxPool2d, MaxPool3d => MaxPoolKeys, AvgPoolKeys;
    mod adaptive_pool: AdaptiveAvgPool, AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool, AdaptiveMaxPool1d,
        AdaptiveMaxPool2d, AdaptiveMaxPool3d => AdaptiveMaxPoolKeys, AdaptiveAvgPoolKeys;
    mod upsample: Upsample, Upsample1d, Upsample2d, Upsample3d => UpsampleKeys;
    mod batch_norm: BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d => BatchNormKeys;
    mod layer_norm: GroupNorm, LayerNorm => LayerNormKeys, GroupNormKeys;
    mod dropout: Dropout, Dropout2d => DropoutKeys, Dropout2dKeys;
    mod flatten: Flatten => FlattenKeys;
    mod reshape: Reshape;
    mod activation: Activation => ReluKeys, LeakyReluKeys, GeluKeys, SiluKeys, SigmoidKeys, TanhKeys;
    mod qcfs: Qcfs => QcfsKeys;
    mod rescale: Rescale => RescaleKeys;
    mod pointwise: Pointwise, WeightShape => PointwiseKeys;
    in attention;
    mod neuron => NetworkNeuronKeys;
    mod rnn: Rnn => RnnKeys;
    mod recurrent: Recurrent => RecurrentKeys;
    mod feedback: Feedback;
    mod random_feedback: RandomFeedback;
    mod recurrent_block: RecurrentBlock;
    use crate::learning::kinds;
    mod trace_learning: TraceLearning => TraceLearningKeys;
    in eventprop;
    in delay;
    mod voting: Voting => VotingKeys;
    mod time: SoftmaxSum, StepLoop, TimeDistributed, TimeLast, TimeMax, TimeMean, TimeSum
        => TimeMeanKeys, TimeLastKeys, TimeSumKeys, TimeMaxKeys, SoftmaxSumKeys;
    mod neuron_layer: NeuronLayer, NeuronLayerKind, NeuronLayerParts;
    in neuron_layers;
    mod group => LayersKeys;
    mod residual: Join, Residual => ResidualKeys;
    mod branches: Branches, Combine => BranchesKeys;
    mod static_input: Static => StaticKeys;
}
