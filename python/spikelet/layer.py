"""Layers of networks.

Written by python/generator from the parts of the engine; change that program instead of this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._part import Layer, LayerLike, Neuron, SizedLayer, both_sizes

__all__ = [
    "AdLif",
    "AdaptiveAvgPool",
    "AdaptiveMaxPool",
    "AvgPool",
    "AxonalDelay",
    "BatchNorm",
    "Branches",
    "CSiLif",
    "CadLif",
    "Conv",
    "ConvTransposed",
    "Dcls",
    "DelayedLinear",
    "DelayedRecurrent",
    "Dropout",
    "Dropout2d",
    "EfAdLif",
    "EventPropLif",
    "EventPropReadout",
    "Flatten",
    "Gelu",
    "Group",
    "GroupNorm",
    "LayerNorm",
    "LeakyRelu",
    "LiReadout",
    "LifRecurrent",
    "Linear",
    "MaxPool",
    "NetworkNeuron",
    "OnlineEprop",
    "PadTime",
    "Plastic",
    "PlasticRecurrent",
    "Pointwise",
    "Qcfs",
    "RAdLif",
    "RAlif",
    "RDecayLif",
    "RLeaky",
    "RLif",
    "RSynaptic",
    "Recurrent",
    "Relu",
    "Residual",
    "Rnn",
    "Scale",
    "SeAdLif",
    "SelfAttention",
    "SiLif",
    "SigmoidActivation",
    "Silu",
    "SoftmaxSum",
    "SparchReadout",
    "SpikeDrivenAttention",
    "Static",
    "Tanh",
    "TimeLast",
    "TimeMax",
    "TimeMean",
    "TimeSum",
    "TokenAttention",
    "TraceLearning",
    "Voting",
]


class Linear(SizedLayer):
    """Fully connected layer.

    Parameters
    ----------
    in_features : int | None, default None
        The number of input features, by which the input is checked. One number alone is that of outputs.
    out_features : int | None, default None
        The number of output features.
    bias : bool, default False
        Whether there is a bias.
    init : str | Mapping[str, Any] | None, default None
        Initial weights: `"fan-in"` (the default), `"kaiming-normal"`, `{"normal": 0.02}`, or `{"uniform": [0.0,
        0.3]}`.
    bias_init : float | None, default None
        The initial value of biases; by default that of the weights' distribution.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "linear"
    sizes = ("in_features", "out_features")

    def __init__(
        self,
        in_features: int | None = None,
        out_features: int | None = None,
        *,
        bias: bool = False,
        init: str | Mapping[str, Any] | None = None,
        bias_init: float | None = None,
        name: str | None = None,
    ) -> None:
        self.in_features, self.out_features = both_sizes(in_features, out_features)
        self.bias = bias
        self.init = init
        self.bias_init = bias_init
        self.name = name


class Conv(SizedLayer):
    """Convolution over one, two or three axes.

    Parameters
    ----------
    in_channels : int | None, default None
        The number of input channels, by which the input is checked. One number alone is that of outputs.
    out_channels : int | None, default None
        The number of output channels.
    kernel : int | Sequence[int] | None, default None
        The size of the window.
    stride : int | Sequence[int], default 1
        The distance of windows.
    padding : int | Sequence[int], default 0
        The elements that are added on both sides of each axis.
    dilation : int | Sequence[int], default 1
        The distance of elements in a window.
    groups : int, default 1
        The number of groups of channels.
    bias : bool, default False
        Whether there is a bias.
    init : str | Mapping[str, Any] | None, default None
        Initial weights: `"fan-in"` (the default), `"kaiming-normal"`, `{"normal": 0.02}`, or `{"uniform": [0.0,
        0.3]}`.
    bias_init : float | None, default None
        The initial value of biases; by default that of the weights' distribution.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "conv"
    sizes = ("in_channels", "out_channels")

    def __init__(
        self,
        in_channels: int | None = None,
        out_channels: int | None = None,
        kernel: int | Sequence[int] | None = None,
        *,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = False,
        init: str | Mapping[str, Any] | None = None,
        bias_init: float | None = None,
        name: str | None = None,
    ) -> None:
        self.in_channels, self.out_channels = both_sizes(in_channels, out_channels)
        self.kernel = kernel
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups
        self.bias = bias
        self.init = init
        self.bias_init = bias_init
        self.name = name


class ConvTransposed(SizedLayer):
    """Transposed convolution over one, two or three axes.

    Parameters
    ----------
    in_channels : int | None, default None
        The number of input channels, by which the input is checked. One number alone is that of outputs.
    out_channels : int | None, default None
        The number of output channels.
    kernel : int | Sequence[int] | None, default None
        The size of the window.
    stride : int | Sequence[int], default 1
        The distance of windows.
    padding : int | Sequence[int], default 0
        The elements that are added on both sides of each axis.
    output_padding : int | Sequence[int], default 0
        The elements that are added at the end of each axis of the output.
    dilation : int | Sequence[int], default 1
        The distance of elements in a window.
    groups : int, default 1
        The number of groups of channels.
    bias : bool, default False
        Whether there is a bias.
    init : str | Mapping[str, Any] | None, default None
        Initial weights: `"fan-in"` (the default), `"kaiming-normal"`, `{"normal": 0.02}`, or `{"uniform": [0.0,
        0.3]}`.
    bias_init : float | None, default None
        The initial value of biases; by default that of the weights' distribution.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "conv-transposed"
    sizes = ("in_channels", "out_channels")

    def __init__(
        self,
        in_channels: int | None = None,
        out_channels: int | None = None,
        kernel: int | Sequence[int] | None = None,
        *,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = False,
        init: str | Mapping[str, Any] | None = None,
        bias_init: float | None = None,
        name: str | None = None,
    ) -> None:
        self.in_channels, self.out_channels = both_sizes(in_channels, out_channels)
        self.kernel = kernel
        self.stride = stride
        self.padding = padding
        self.output_padding = output_padding
        self.dilation = dilation
        self.groups = groups
        self.bias = bias
        self.init = init
        self.bias_init = bias_init
        self.name = name


class MaxPool(Layer):
    """The largest element of each window.

    Parameters
    ----------
    window : int | Sequence[int]
        The size of the window.
    stride : int | Sequence[int] | None, default None
        The distance of windows; by default the size of the window.
    padding : int | Sequence[int], default 0
        The elements that are added on both sides of each axis.
    dilation : int | Sequence[int], default 1
        The distance of elements in a window.
    ceil : bool, default False
        Whether windows may reach over the end of an axis.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "max-pool"
    main = "window"

    def __init__(
        self,
        window: int | Sequence[int],
        *,
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil: bool = False,
        name: str | None = None,
    ) -> None:
        self.window = window
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.ceil = ceil
        self.name = name


class AvgPool(Layer):
    """The mean of each window.

    Parameters
    ----------
    window : int | Sequence[int]
        The size of the window.
    stride : int | Sequence[int] | None, default None
        The distance of windows; by default the size of the window.
    padding : int | Sequence[int], default 0
        The elements that are added on both sides of each axis.
    ceil : bool, default False
        Whether windows may reach over the end of an axis.
    count_padding : bool, default True
        Whether padding counts in the mean.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "avg-pool"
    main = "window"

    def __init__(
        self,
        window: int | Sequence[int],
        *,
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil: bool = False,
        count_padding: bool = True,
        name: str | None = None,
    ) -> None:
        self.window = window
        self.stride = stride
        self.padding = padding
        self.ceil = ceil
        self.count_padding = count_padding
        self.name = name


class AdaptiveMaxPool(Layer):
    """Max pooling to an output of a given size.

    Parameters
    ----------
    size : int | Sequence[int]
        The size of the output.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "adaptive-max-pool"
    main = "size"

    def __init__(
        self,
        size: int | Sequence[int],
        *,
        name: str | None = None,
    ) -> None:
        self.size = size
        self.name = name


class AdaptiveAvgPool(Layer):
    """Average pooling to an output of a given size.

    Parameters
    ----------
    size : int | Sequence[int]
        The size of the output.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "adaptive-avg-pool"
    main = "size"

    def __init__(
        self,
        size: int | Sequence[int],
        *,
        name: str | None = None,
    ) -> None:
        self.size = size
        self.name = name


class BatchNorm(Layer):
    """Batch normalization of each channel.

    Parameters
    ----------
    epsilon : float, default 1e-05
        The number that is added to the variance.
    momentum : float, default 0.1
        The share of a batch in the running statistics.
    affine : bool, default True
        Whether there are trained scales and offsets.
    scale : float, default 1.0
        The initial value of the scales.
    each_step : bool, default False
        Whether each time step has statistics of its own.
    time_steps : int | None, default None
        The number of time steps, each with a factor that is learned (TEBN).
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "batch-norm"

    def __init__(
        self,
        *,
        epsilon: float = 1e-05,
        momentum: float = 0.1,
        affine: bool = True,
        scale: float = 1.0,
        each_step: bool = False,
        time_steps: int | None = None,
        name: str | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.momentum = momentum
        self.affine = affine
        self.scale = scale
        self.each_step = each_step
        self.time_steps = time_steps
        self.name = name


class LayerNorm(Layer):
    """Layer normalization over the last axes, by default over all.

    Parameters
    ----------
    axes : int | None, default None
        The number of last axes over which is normalized; by default all.
    epsilon : float, default 1e-05
        The number that is added to the variance.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "layer-norm"

    def __init__(
        self,
        *,
        axes: int | None = None,
        epsilon: float = 1e-05,
        name: str | None = None,
    ) -> None:
        self.axes = axes
        self.epsilon = epsilon
        self.name = name


class GroupNorm(Layer):
    """Group normalization of channels.

    Parameters
    ----------
    groups : int
        The number of groups.
    epsilon : float, default 1e-05
        The number that is added to the variance.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "group-norm"
    main = "groups"

    def __init__(
        self,
        groups: int,
        *,
        epsilon: float = 1e-05,
        name: str | None = None,
    ) -> None:
        self.groups = groups
        self.epsilon = epsilon
        self.name = name


class Dropout(Layer):
    """Dropout of features, the same at all time steps.

    Parameters
    ----------
    p : float
        The probability.
    each_step : bool, default False
        Whether each time step has a mask of its own.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "dropout"
    main = "p"

    def __init__(
        self,
        p: float,
        *,
        each_step: bool = False,
        name: str | None = None,
    ) -> None:
        self.p = p
        self.each_step = each_step
        self.name = name


class Dropout2d(Layer):
    """Dropout of complete channels, the same at all time steps.

    Parameters
    ----------
    p : float
        The probability.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "dropout2d"
    main = "p"

    def __init__(
        self,
        p: float,
        *,
        name: str | None = None,
    ) -> None:
        self.p = p
        self.name = name


class Flatten(Layer):
    """Merges all axes into features.

    Parameters
    ----------
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "flatten"

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name


class Relu(Layer):
    """Rectified linear unit, max(x, 0), of networks without spikes.

    Parameters
    ----------
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "relu"

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name


class LeakyRelu(Layer):
    """Leaky rectified linear unit: x, below 0 a slope times x, of networks without spikes.

    Parameters
    ----------
    slope : float | None, default None
        The slope below 0.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "leaky-relu"
    main = "slope"

    def __init__(
        self,
        slope: float | None = None,
        *,
        name: str | None = None,
    ) -> None:
        self.slope = slope
        self.name = name


class Gelu(Layer):
    """Gaussian error linear unit, x·Φ(x), of networks without spikes.

    Parameters
    ----------
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "gelu"

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name


class Silu(Layer):
    """Sigmoid linear unit, x·σ(x), of networks without spikes.

    Parameters
    ----------
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "silu"

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name


class SigmoidActivation(Layer):
    """Logistic function, 1/(1 + e⁻ˣ), of networks without spikes.

    Parameters
    ----------
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "sigmoid"

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name


class Tanh(Layer):
    """Hyperbolic tangent, of networks without spikes.

    Parameters
    ----------
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "tanh"

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name


class Qcfs(Layer):
    """Steps between 0 and a learned maximum, of networks that are to be converted to spiking ones.

    Parameters
    ----------
    levels : int
        The number of steps.
    init_lambda : float, default 8.0
        The maximum before training.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "qcfs"
    main = "levels"

    def __init__(
        self,
        levels: int,
        *,
        init_lambda: float = 8.0,
        name: str | None = None,
    ) -> None:
        self.levels = levels
        self.init_lambda = init_lambda
        self.name = name


class Scale(Layer):
    """Multiplication by a constant, or by a stored one for each channel.

    Parameters
    ----------
    factor : float | None, default None
        The factor.
    each_channel : bool, default False
        Whether each channel has a stored factor.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "rescale"
    main = "factor"

    def __init__(
        self,
        factor: float | None = None,
        *,
        each_channel: bool = False,
        name: str | None = None,
    ) -> None:
        self.factor = factor
        self.each_channel = each_channel
        self.name = name


class Pointwise(Layer):
    """The same linear map of the channels at each position.

    Parameters
    ----------
    channels : int
        The number of output channels.
    bias : bool, default False
        Whether there is a bias.
    weights : str | None, default None
        The shape of the weights, as of the layer of which they are in other programs: `"linear"`, `"conv1d"` or
        `"conv2d"`.
    init : str | Mapping[str, Any] | None, default None
        Initial weights: `"fan-in"` (the default), `"kaiming-normal"`, `{"normal": 0.02}`, or `{"uniform": [0.0,
        0.3]}`.
    bias_init : float | None, default None
        The initial value of biases; by default that of the weights' distribution.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "pointwise"
    main = "channels"

    def __init__(
        self,
        channels: int,
        *,
        bias: bool = False,
        weights: str | None = None,
        init: str | Mapping[str, Any] | None = None,
        bias_init: float | None = None,
        name: str | None = None,
    ) -> None:
        self.channels = channels
        self.bias = bias
        self.weights = weights
        self.init = init
        self.bias_init = bias_init
        self.name = name


class SelfAttention(Layer):
    """Spiking self attention between the positions of a map.

    Parameters
    ----------
    heads : int
        The number of heads.
    scale : float | None, default None
        The factor of the products; by default 0.125.
    state_across_samples : bool, default False
        Whether states of neurons are carried from sample to sample, as in some programs.
    product_neuron : Neuron | str | Mapping[str, Any] | None, default None
        The neuron of the products; by default the network's.
    bias : bool, default False
        Whether there is a bias.
    weights : str | None, default None
        The shape of the weights, as of the layer of which they are in other programs: `"linear"`, `"conv1d"` or
        `"conv2d"`.
    init : str | Mapping[str, Any] | None, default None
        Initial weights: `"fan-in"` (the default), `"kaiming-normal"`, `{"normal": 0.02}`, or `{"uniform": [0.0,
        0.3]}`.
    bias_init : float | None, default None
        The initial value of biases; by default that of the weights' distribution.
    momentum : float, default 0.1
        The share of a batch in the running statistics.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "self-attention"
    main = "heads"

    def __init__(
        self,
        heads: int,
        *,
        scale: float | None = None,
        state_across_samples: bool = False,
        product_neuron: Neuron | str | Mapping[str, Any] | None = None,
        bias: bool = False,
        weights: str | None = None,
        init: str | Mapping[str, Any] | None = None,
        bias_init: float | None = None,
        momentum: float = 0.1,
        name: str | None = None,
    ) -> None:
        self.heads = heads
        self.scale = scale
        self.state_across_samples = state_across_samples
        self.product_neuron = product_neuron
        self.bias = bias
        self.weights = weights
        self.init = init
        self.bias_init = bias_init
        self.momentum = momentum
        self.name = name


class TokenAttention(Layer):
    """Attention of positions by the spikes of their queries.

    Parameters
    ----------
    heads : int
        The number of heads.
    product_neuron : Neuron | str | Mapping[str, Any] | None, default None
        The neuron of the products; by default the network's.
    bias : bool, default False
        Whether there is a bias.
    weights : str | None, default None
        The shape of the weights, as of the layer of which they are in other programs: `"linear"`, `"conv1d"` or
        `"conv2d"`.
    init : str | Mapping[str, Any] | None, default None
        Initial weights: `"fan-in"` (the default), `"kaiming-normal"`, `{"normal": 0.02}`, or `{"uniform": [0.0,
        0.3]}`.
    bias_init : float | None, default None
        The initial value of biases; by default that of the weights' distribution.
    momentum : float, default 0.1
        The share of a batch in the running statistics.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "token-attention"
    main = "heads"

    def __init__(
        self,
        heads: int,
        *,
        product_neuron: Neuron | str | Mapping[str, Any] | None = None,
        bias: bool = False,
        weights: str | None = None,
        init: str | Mapping[str, Any] | None = None,
        bias_init: float | None = None,
        momentum: float = 0.1,
        name: str | None = None,
    ) -> None:
        self.heads = heads
        self.product_neuron = product_neuron
        self.bias = bias
        self.weights = weights
        self.init = init
        self.bias_init = bias_init
        self.momentum = momentum
        self.name = name


class SpikeDrivenAttention(Layer):
    """Attention of potentials by sums of spikes.

    Parameters
    ----------
    heads : int
        The number of heads.
    filters : bool, default False
        Whether values are filtered by spikes.
    product_neuron : Neuron | str | Mapping[str, Any] | None, default None
        The neuron of the products; by default the network's.
    bias : bool, default False
        Whether there is a bias.
    weights : str | None, default None
        The shape of the weights, as of the layer of which they are in other programs: `"linear"`, `"conv1d"` or
        `"conv2d"`.
    init : str | Mapping[str, Any] | None, default None
        Initial weights: `"fan-in"` (the default), `"kaiming-normal"`, `{"normal": 0.02}`, or `{"uniform": [0.0,
        0.3]}`.
    bias_init : float | None, default None
        The initial value of biases; by default that of the weights' distribution.
    momentum : float, default 0.1
        The share of a batch in the running statistics.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "spike-driven-attention"
    main = "heads"

    def __init__(
        self,
        heads: int,
        *,
        filters: bool = False,
        product_neuron: Neuron | str | Mapping[str, Any] | None = None,
        bias: bool = False,
        weights: str | None = None,
        init: str | Mapping[str, Any] | None = None,
        bias_init: float | None = None,
        momentum: float = 0.1,
        name: str | None = None,
    ) -> None:
        self.heads = heads
        self.filters = filters
        self.product_neuron = product_neuron
        self.bias = bias
        self.weights = weights
        self.init = init
        self.bias_init = bias_init
        self.momentum = momentum
        self.name = name


class NetworkNeuron(Layer):
    """The network's neuron, or another one.

    Parameters
    ----------
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "neuron"

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name


class Plastic(Layer):
    """A linear layer or a convolution with a learning rule, and neurons.

    Parameters
    ----------
    synapses : LayerLike
        A layer `linear` or `conv`.
    rule : str | Mapping[str, Any]
        The learning rule: `"stdp"`, `"pair-stdp"`, `"triplet-stdp"`, `"reward-stdp"`, `"reward-trace-stdp"`, or a
        mapping with `name` and constants.
    cell : Neuron | str | Mapping[str, Any] | None, default None
        The neuron; by default the network's.
    update : str, default "each-step"
        When the weights change: `"each-step"`, `"end-of-call"` or `"gradient"`.
    learning_rate : float | None, default None
        The factor of a change; by default 1.
    bounds : Sequence[float] | None, default None
        The interval to which weights are clamped; by default that of the rule.
    normalize : float | None, default None
        The sum of the input weights of each neuron at the beginning of a call.
    inhibition : float, default 0.0
        What a spike subtracts from the input of the other neurons in the next step.
    single_winner : bool, default False
        Whether of the neurons that fire in a step only the one with the largest input does.
    homeostasis : Mapping[str, float] | None, default None
        A threshold that rises with each spike: `{"increase": 0.02, "tau": 1e4}`.
    reward : Mapping[str, float] | str | None, default None
        The reward of a rule by the classes of the samples, `{"classes": 10, "right": 1.0, "wrong": -1.0}`, or
        `"signal"`: see `graph.give_signal`.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "plastic"
    main = "synapses"

    def __init__(
        self,
        synapses: LayerLike,
        *,
        rule: str | Mapping[str, Any],
        cell: Neuron | str | Mapping[str, Any] | None = None,
        update: str = "each-step",
        learning_rate: float | None = None,
        bounds: Sequence[float] | None = None,
        normalize: float | None = None,
        inhibition: float = 0.0,
        single_winner: bool = False,
        homeostasis: Mapping[str, float] | None = None,
        reward: Mapping[str, float] | str | None = None,
        name: str | None = None,
    ) -> None:
        self.synapses = synapses
        self.rule = rule
        self.cell = cell
        self.update = update
        self.learning_rate = learning_rate
        self.bounds = bounds
        self.normalize = normalize
        self.inhibition = inhibition
        self.single_winner = single_winner
        self.homeostasis = homeostasis
        self.reward = reward
        self.name = name


class PlasticRecurrent(Layer):
    """Neurons with recurrent connections that have a learning rule.

    Parameters
    ----------
    cell : Neuron | str | Mapping[str, Any]
        The name of a neuron, or a table with `name` and constants.
    rule : str | Mapping[str, Any]
        The learning rule: `"stdp"`, `"pair-stdp"`, `"triplet-stdp"`, `"reward-stdp"`, `"reward-trace-stdp"`, or a
        mapping with `name` and constants.
    update : str, default "each-step"
        When the weights change: `"each-step"`, `"end-of-call"` or `"gradient"`.
    learning_rate : float | None, default None
        The factor of a change; by default 1.
    bounds : Sequence[float] | None, default None
        The interval to which weights are clamped; by default that of the rule.
    normalize : float | None, default None
        The sum of the recurrent weights of each neuron at the beginning of a call.
    zero_diagonal : bool, default False
        Whether neurons have no connection to themselves.
    init : str | Mapping[str, Any] | None, default None
        Initial weights, as of `Linear`; by default orthogonal.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "plastic-recurrent"
    main = "cell"

    def __init__(
        self,
        cell: Neuron | str | Mapping[str, Any],
        *,
        rule: str | Mapping[str, Any],
        update: str = "each-step",
        learning_rate: float | None = None,
        bounds: Sequence[float] | None = None,
        normalize: float | None = None,
        zero_diagonal: bool = False,
        init: str | Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.cell = cell
        self.rule = rule
        self.update = update
        self.learning_rate = learning_rate
        self.bounds = bounds
        self.normalize = normalize
        self.zero_diagonal = zero_diagonal
        self.init = init
        self.name = name


class Rnn(Layer):
    """Fully connected layer and neurons with recurrent connections.

    Parameters
    ----------
    features : int
        The number of neurons.
    cell : Neuron | str | Mapping[str, Any] | None, default None
        The neuron; by default the network's.
    bias : bool, default False
        Whether there is a bias.
    last : bool, default False
        Whether only the last time step is returned.
    local_gradient : bool, default False
        Whether spikes that are fed back have no gradient, as in e-prop.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "rnn"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        cell: Neuron | str | Mapping[str, Any] | None = None,
        bias: bool = False,
        last: bool = False,
        local_gradient: bool = False,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.cell = cell
        self.bias = bias
        self.last = last
        self.local_gradient = local_gradient
        self.name = name


class Recurrent(Layer):
    """Neurons with recurrent connections.

    Parameters
    ----------
    cell : Neuron | str | Mapping[str, Any] | None, default None
        The name of a neuron, or a table with `name` and constants.
    bias : bool, default False
        Whether there is a bias.
    last : bool, default False
        Whether only the last time step is returned.
    local_gradient : bool, default False
        Whether spikes that are fed back have no gradient, as in e-prop.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "recurrent"
    main = "cell"

    def __init__(
        self,
        cell: Neuron | str | Mapping[str, Any] | None = None,
        *,
        bias: bool = False,
        last: bool = False,
        local_gradient: bool = False,
        name: str | None = None,
    ) -> None:
        self.cell = cell
        self.bias = bias
        self.last = last
        self.local_gradient = local_gradient
        self.name = name


class OnlineEprop(Layer):
    """Recurrent neurons and a readout that learn by e-prop in each step.

    Parameters
    ----------
    features : int
        The number of neurons.
    outputs : int
        The number of outputs.
    cell : Neuron | str | Mapping[str, Any] | None, default None
        The neuron; by default the network's.
    readout_decay : float, default 0.0
        What the outputs keep in a step, below 1.
    error : str, default "cross-entropy"
        How the outputs are compared with the class: `"cross-entropy"` or `"squared"`.
    feedback : str, default "symmetric"
        The weights by which errors reach the neurons: `"symmetric"`, `"random"` or `"adaptive"`.
    regularization : Mapping[str, float] | None, default None
        A rate that neurons keep: `{"strength": 1e-3, "rate": 0.02, "tau": 100.0}`.
    update : str, default "gradient"
        When the weights change: `"gradient"`, `"each-step"` or `"end-of-call"`.
    learning_rate : float | None, default None
        The factor of a change; by default 1.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "online-eprop"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        outputs: int,
        cell: Neuron | str | Mapping[str, Any] | None = None,
        readout_decay: float = 0.0,
        error: str = "cross-entropy",
        feedback: str = "symmetric",
        regularization: Mapping[str, float] | None = None,
        update: str = "gradient",
        learning_rate: float | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.outputs = outputs
        self.cell = cell
        self.readout_decay = readout_decay
        self.error = error
        self.feedback = feedback
        self.regularization = regularization
        self.update = update
        self.learning_rate = learning_rate
        self.name = name


class TraceLearning(Layer):
    """A neuron, and layers that learn from the trace of its spikes.

    Parameters
    ----------
    layers : Sequence[LayerLike] | LayerLike
        A list of layers, or a layer.
    cell : Neuron | str | Mapping[str, Any] | None, default None
        The neuron; by default the network's.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "trace-learning"
    main = "layers"

    def __init__(
        self,
        layers: Sequence[LayerLike] | LayerLike,
        *,
        cell: Neuron | str | Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.layers = layers
        self.cell = cell
        self.name = name


class EventPropLif(Layer):
    """Fully connected layer and LIF neurons with exponential synapses, trained by EventProp.

    Parameters
    ----------
    features : int
        The number of neurons.
    tau_m : float, default 20.0
        The time constant of the membrane, above 0.
    tau_s : float, default 5.0
        The time constant of the synapses, above 0, in the same unit.
    dt : float, default 1.0
        The length of a step, above 0, in the same unit.
    v_threshold : float, default 1.0
        The threshold, above 0.
    feedback : bool, default False
        Whether there are connections between the neurons.
    self_connections : bool, default False
        Whether these include connections of neurons to themselves.
    init : str | Mapping[str, Any] | None, default None
        Initial weights: `"fan-in"` (the default), `"kaiming-normal"`, `{"normal": 0.02}`, or `{"uniform": [0.0,
        0.3]}`.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "eventprop-lif"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        tau_m: float = 20.0,
        tau_s: float = 5.0,
        dt: float = 1.0,
        v_threshold: float = 1.0,
        feedback: bool = False,
        self_connections: bool = False,
        init: str | Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.tau_m = tau_m
        self.tau_s = tau_s
        self.dt = dt
        self.v_threshold = v_threshold
        self.feedback = feedback
        self.self_connections = self_connections
        self.init = init
        self.name = name


class EventPropReadout(Layer):
    """Fully connected layer and leaky integrators with exponential synapses, trained by EventProp.

    Parameters
    ----------
    features : int
        The number of outputs.
    tau_m : float, default 20.0
        The time constant of the membrane, above 0.
    tau_s : float, default 5.0
        The time constant of the synapses, above 0, in the same unit.
    dt : float, default 1.0
        The length of a step, above 0, in the same unit.
    init : str | Mapping[str, Any] | None, default None
        Initial weights: `"fan-in"` (the default), `"kaiming-normal"`, `{"normal": 0.02}`, or `{"uniform": [0.0,
        0.3]}`.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "eventprop-readout"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        tau_m: float = 20.0,
        tau_s: float = 5.0,
        dt: float = 1.0,
        init: str | Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.tau_m = tau_m
        self.tau_s = tau_s
        self.dt = dt
        self.init = init
        self.name = name


class DelayedRecurrent(Layer):
    """Neurons with recurrent connections with learned delays.

    Parameters
    ----------
    cell : Neuron | str | Mapping[str, Any] | None, default None
        The name of a neuron, or a table with `name` and constants.
    max_delay : int
        The longest delay in time steps.
    synaptic : bool, default False
        Whether each synapse has a delay; else each neuron.
    spread : bool, default False
        Whether the initial delays are spread over all lengths.
    width : float | None, default None
        The width of the kernels in time steps.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "delayed-recurrent"
    main = "cell"

    def __init__(
        self,
        cell: Neuron | str | Mapping[str, Any] | None = None,
        *,
        max_delay: int,
        synaptic: bool = False,
        spread: bool = False,
        width: float | None = None,
        dropout_p: float | None = None,
        name: str | None = None,
    ) -> None:
        self.cell = cell
        self.max_delay = max_delay
        self.synaptic = synaptic
        self.spread = spread
        self.width = width
        self.dropout_p = dropout_p
        self.name = name


class Dcls(Layer):
    """Fully connected layer with a learned delay for each synapse.

    Parameters
    ----------
    features : int
        The number of output features.
    kernel_size : int
        The number of delays.
    kernel_count : int, default 1
        The number of kernels of a synapse.
    version : str, default "gaussian"
        The shape of kernels: `"gaussian"`, `"max"` or `"v1"`.
    width : float | None, default None
        The width of the kernels in time steps.
    bias : bool, default False
        Whether there is a bias.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "dcls"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        kernel_size: int,
        kernel_count: int = 1,
        version: str = "gaussian",
        width: float | None = None,
        bias: bool = False,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.kernel_size = kernel_size
        self.kernel_count = kernel_count
        self.version = version
        self.width = width
        self.bias = bias
        self.name = name


class DelayedLinear(Layer):
    """Fully connected layer with a fixed delay for each synapse.

    Parameters
    ----------
    features : int
        The number of output features.
    max_delay : int
        The longest delay in time steps.
    bias : bool, default False
        Whether there is a bias.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "delayed-linear"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        max_delay: int,
        bias: bool = False,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.max_delay = max_delay
        self.bias = bias
        self.name = name


class AxonalDelay(Layer):
    """A learned delay for each channel.

    Parameters
    ----------
    max_delay : int
        The longest delay.
    sigma : float | None, default None
        The width of the kernels; by default linear interpolation.
    trainable : bool, default True
        Whether the delays are trained.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "axonal-delay"
    main = "max_delay"

    def __init__(
        self,
        max_delay: int,
        *,
        sigma: float | None = None,
        trainable: bool = True,
        name: str | None = None,
    ) -> None:
        self.max_delay = max_delay
        self.sigma = sigma
        self.trainable = trainable
        self.name = name


class PadTime(Layer):
    """Steps of zeros behind a sequence, in which delayed spikes arrive.

    Parameters
    ----------
    steps : int
        The number of steps.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "pad-time"
    main = "steps"

    def __init__(
        self,
        steps: int,
        *,
        name: str | None = None,
    ) -> None:
        self.steps = steps
        self.name = name


class Voting(Layer):
    """The mean of several outputs for each class.

    Parameters
    ----------
    votes : int
        The number of outputs for each class.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "voting"
    main = "votes"

    def __init__(
        self,
        votes: int,
        *,
        name: str | None = None,
    ) -> None:
        self.votes = votes
        self.name = name


class TimeMean(Layer):
    """The mean over time: of spikes, the firing rate.

    Parameters
    ----------
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "time-mean"

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name


class TimeLast(Layer):
    """The last time step.

    Parameters
    ----------
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "time-last"

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name


class TimeSum(Layer):
    """The sum over time: of spikes, the spike count.

    Parameters
    ----------
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "time-sum"

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name


class TimeMax(Layer):
    """The maximum over time.

    Parameters
    ----------
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "time-max"

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name


class SoftmaxSum(Layer):
    """The sum over time of the softmax over the classes.

    Parameters
    ----------
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "softmax-sum"

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name


class RLif(Layer):
    """Recurrent leaky integrate-and-fire neurons of sparch.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "rlif"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class AdLif(Layer):
    """Adaptive neurons of sparch.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "adlif"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class RAdLif(Layer):
    """Recurrent adaptive neurons of sparch.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "radlif"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class CadLif(Layer):
    """Adaptive neurons with the limits of CadLIF.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "cadlif"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class SiLif(Layer):
    """Adaptive neurons in the parametrization of state space models.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "silif"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class CSiLif(Layer):
    """Neurons with a complex potential.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "csilif"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class SeAdLif(Layer):
    """Recurrent adaptive neurons, symplectic Euler.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "se-adlif"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class EfAdLif(Layer):
    """Recurrent adaptive neurons, Euler forward.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "ef-adlif"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class RDecayLif(Layer):
    """Recurrent neurons with an exact decay.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "rdecay-lif"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class RLeaky(Layer):
    """Recurrent leaky neurons of snnTorch.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "rleaky"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class RSynaptic(Layer):
    """Recurrent second-order neurons of snnTorch.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "rsynaptic"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class LifRecurrent(Layer):
    """Recurrent neurons of Norse.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "lif-recurrent"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class RAlif(Layer):
    """Recurrent adaptive neurons of Yin et al.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "ralif"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class LiReadout(Layer):
    """Leaky integrators of classes.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "li-readout"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class SparchReadout(Layer):
    """Leaky integrators of classes, the sum of their softmax over time.

    Parameters
    ----------
    features : int
        The number of neurons.
    bias : bool | None, default None
        Whether there is a bias; by default as published.
    normalize : bool | None, default None
        Whether there is batch norm; by default as published.
    normalize_each_step : bool | None, default None
        Whether batch norm has statistics of each step; by default as published.
    feedback : bool | None, default None
        Whether spikes are fed back; by default as published.
    zero_diagonal : bool | None, default None
        Whether neurons have no connection to themselves; by default as published.
    dropout_p : float | None, default None
        The probability of dropout, below 1.
    bidirectional : bool | None, default None
        Whether the sequence is processed in both directions; by default as published.
    constants : Mapping[str, Any] | None, default None
        Constants of the neuron that differ from the published ones.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "sparch-readout"
    main = "features"

    def __init__(
        self,
        features: int,
        *,
        bias: bool | None = None,
        normalize: bool | None = None,
        normalize_each_step: bool | None = None,
        feedback: bool | None = None,
        zero_diagonal: bool | None = None,
        dropout_p: float | None = None,
        bidirectional: bool | None = None,
        constants: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.features = features
        self.bias = bias
        self.normalize = normalize
        self.normalize_each_step = normalize_each_step
        self.feedback = feedback
        self.zero_diagonal = zero_diagonal
        self.dropout_p = dropout_p
        self.bidirectional = bidirectional
        self.constants = constants
        self.name = name


class Group(Layer):
    """Layers in sequence, with a common name or repeated.

    Parameters
    ----------
    layers : Sequence[LayerLike]
        A list of layers.
    repeat : int | None, default None
        The number of copies, each with weights of its own.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "layers"
    main = "layers"

    def __init__(
        self,
        layers: Sequence[LayerLike],
        *,
        repeat: int | None = None,
        name: str | None = None,
    ) -> None:
        self.layers = layers
        self.repeat = repeat
        self.name = name


class Residual(Layer):
    """A main branch joined with a shortcut.

    Parameters
    ----------
    layers : Sequence[LayerLike]
        The layers of the main branch.
    shortcut : Sequence[LayerLike] | None, default None
        The layers of the shortcut; by default the input itself.
    join : str, default "add"
        How both are joined: `"add"`, `"and"` or `"iand"`.
    names : Sequence[str] | None, default None
        The names of main branch and shortcut in paths of parameters.
    stochastic_depth : float, default 0.0
        The probability that a sample skips the main branch in training.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "residual"
    main = "layers"

    def __init__(
        self,
        layers: Sequence[LayerLike],
        *,
        shortcut: Sequence[LayerLike] | None = None,
        join: str = "add",
        names: Sequence[str] | None = None,
        stochastic_depth: float = 0.0,
        name: str | None = None,
    ) -> None:
        self.layers = layers
        self.shortcut = shortcut
        self.join = join
        self.names = names
        self.stochastic_depth = stochastic_depth
        self.name = name


class Branches(Layer):
    """Parallel branches, added or concatenated.

    Parameters
    ----------
    branches : Sequence[LayerLike]
        A list of branches, each a list of layers.
    combine : str, default "sum"
        `"sum"`, or `"concat"` along the channels or features.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "branches"
    main = "branches"

    def __init__(
        self,
        branches: Sequence[LayerLike],
        *,
        combine: str = "sum",
        name: str | None = None,
    ) -> None:
        self.branches = branches
        self.combine = combine
        self.name = name


class Static(Layer):
    """Layers whose input is the same at all time steps, run once.

    Parameters
    ----------
    layers : Sequence[LayerLike]
        A list of layers.
    name : str | None, default None
        The name in paths of parameters; by default the position.
    """

    kind = "static"
    main = "layers"

    def __init__(
        self,
        layers: Sequence[LayerLike],
        *,
        name: str | None = None,
    ) -> None:
        self.layers = layers
        self.name = name
