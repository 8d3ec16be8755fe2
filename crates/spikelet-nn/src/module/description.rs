//! The computation of a module, for programs that translate networks into other forms.

use super::Module;
use crate::layer::{Join, NeuronLayerParts, Recurrent};
use crate::neuron::Neuron;
use spikelet_graph::op::{Pooling, Window};
use std::any::Any;
use std::fmt;

/// The computation of a module in evaluation, as [`Module::describe`] returns it. Tensors are in the store, under the path of
/// the module.
#[non_exhaustive]
pub enum Description<'a> {
    /// A computation that has no description.
    Opaque,
    /// A module of another crate, which knows its type.
    Other(&'a dyn Any),
    /// Modules one after the other, with their names in paths. An empty name adds nothing.
    Sequence(Vec<(&'a str, &'a dyn Module)>),
    /// Two branches with their names in paths, and how they are joined. A branch without a module is the input.
    Branches([(&'a str, Option<&'a dyn Module>); 2], Join),
    /// A neuron.
    Neuron(&'a dyn Neuron),
    /// A neuron `neuron`, whose spikes are its input in the next step through the module `feedback`.
    Recurrent(&'a Recurrent),
    /// A published layer of neurons.
    NeuronLayer(Box<NeuronLayerParts<&'a dyn Neuron>>),
    /// X·`weight`ᵀ + `bias`.
    Linear {
        /// The number of features of the input.
        inputs: usize,
        /// The number of features of the output.
        outputs: usize,
        /// Whether there is a bias.
        bias: bool,
        /// Whether the diagonal of the weight is 0, whatever is stored.
        zero_diagonal: bool,
    },
    /// A convolution with `weight` and `bias`, over as many axes as the sizes have.
    Conv(ConvDescription<'a>),
    /// (X − `running_mean`) / √(`running_var` + ε) · `weight` + `bias`, for each channel.
    BatchNorm {
        /// The number of channels.
        channels: usize,
        /// ε.
        epsilon: f64,
        /// The weight, if it is a constant; then there is no bias.
        scale: Option<f64>,
        /// Whether each time step has a factor of its own.
        each_step: bool,
    },
    /// The maxima or means of windows, over as many axes.
    Pool(Pooling, &'a [Window]),
    /// All features on one axis.
    Flatten,
    /// Features in this shape.
    Reshape(&'a [usize]),
    /// A delay in steps; several are those of `delay`.
    Delay(&'a [usize]),
    /// The product with a constant, or without one with `scale`, which has a factor for each channel.
    Scale(Option<f64>),
    /// The means of so many consecutive features.
    Voting(usize),
    /// The input.
    Identity,
    /// A reduction over time to one step.
    Readout,
}

/// The sizes of a convolution.
#[derive(Clone, Copy, Debug)]
pub struct ConvDescription<'a> {
    /// The channels of the input.
    pub inputs: usize,
    /// The channels of the output.
    pub outputs: usize,
    /// The size of the window.
    pub kernel: &'a [usize],
    /// The distance of windows.
    pub stride: &'a [usize],
    /// The zeros on both sides.
    pub padding: &'a [usize],
    /// The distance of the elements of a window.
    pub dilation: &'a [usize],
    /// The number of groups of channels with separate weights.
    pub groups: usize,
    /// Whether there is a bias.
    pub bias: bool,
}

impl fmt::Debug for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Description").finish_non_exhaustive()
    }
}
