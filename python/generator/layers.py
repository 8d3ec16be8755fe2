"""Layers of the engine: `spikelet.layer`."""

from __future__ import annotations

from typing import Any

from classes import Row, parameters, signature
from shared import sentence

NUMBERS = "int | Sequence[int]"
SPEC = "Neuron | str | Mapping[str, Any]"

#: Classes of layers, and the name and type of the value of their key.
LAYERS: dict[str, tuple[str, str, str]] = {
    "linear": ("Linear", "", ""),
    "conv": ("Conv", "", ""),
    "conv-transposed": ("ConvTransposed", "", ""),
    "max-pool": ("MaxPool", "window", NUMBERS),
    "avg-pool": ("AvgPool", "window", NUMBERS),
    "adaptive-max-pool": ("AdaptiveMaxPool", "size", NUMBERS),
    "adaptive-avg-pool": ("AdaptiveAvgPool", "size", NUMBERS),
    "batch-norm": ("BatchNorm", "", ""),
    "layer-norm": ("LayerNorm", "", ""),
    "group-norm": ("GroupNorm", "groups", "int"),
    "dropout": ("Dropout", "p", "float"),
    "dropout2d": ("Dropout2d", "p", "float"),
    "flatten": ("Flatten", "", ""),
    "relu": ("Relu", "", ""),
    "leaky-relu": ("LeakyRelu", "slope", "float | None"),
    "gelu": ("Gelu", "", ""),
    "silu": ("Silu", "", ""),
    "sigmoid": ("SigmoidActivation", "", ""),
    "tanh": ("Tanh", "", ""),
    "qcfs": ("Qcfs", "levels", "int"),
    "rescale": ("Scale", "factor", "float | None"),
    "pointwise": ("Pointwise", "channels", "int"),
    "self-attention": ("SelfAttention", "heads", "int"),
    "token-attention": ("TokenAttention", "heads", "int"),
    "spike-driven-attention": ("SpikeDrivenAttention", "heads", "int"),
    "neuron": ("NetworkNeuron", "", ""),
    "plastic": ("Plastic", "synapses", "LayerLike"),
    "plastic-recurrent": ("PlasticRecurrent", "cell", SPEC),
    "online-eprop": ("OnlineEprop", "features", "int"),
    "trace-learning": ("TraceLearning", "layers", "Sequence[LayerLike] | LayerLike"),
    "rnn": ("Rnn", "features", "int"),
    "recurrent": ("Recurrent", "cell", SPEC + " | None"),
    "eventprop-lif": ("EventPropLif", "features", "int"),
    "eventprop-readout": ("EventPropReadout", "features", "int"),
    "delayed-recurrent": ("DelayedRecurrent", "cell", SPEC + " | None"),
    "dcls": ("Dcls", "features", "int"),
    "delayed-linear": ("DelayedLinear", "features", "int"),
    "axonal-delay": ("AxonalDelay", "max_delay", "int"),
    "pad-time": ("PadTime", "steps", "int"),
    "voting": ("Voting", "votes", "int"),
    "time-mean": ("TimeMean", "", ""),
    "time-last": ("TimeLast", "", ""),
    "time-sum": ("TimeSum", "", ""),
    "time-max": ("TimeMax", "", ""),
    "softmax-sum": ("SoftmaxSum", "", ""),
    "rlif": ("RLif", "features", "int"),
    "adlif": ("AdLif", "features", "int"),
    "radlif": ("RAdLif", "features", "int"),
    "cadlif": ("CadLif", "features", "int"),
    "silif": ("SiLif", "features", "int"),
    "csilif": ("CSiLif", "features", "int"),
    "se-adlif": ("SeAdLif", "features", "int"),
    "ef-adlif": ("EfAdLif", "features", "int"),
    "rdecay-lif": ("RDecayLif", "features", "int"),
    "rleaky": ("RLeaky", "features", "int"),
    "rsynaptic": ("RSynaptic", "features", "int"),
    "lif-recurrent": ("LifRecurrent", "features", "int"),
    "ralif": ("RAlif", "features", "int"),
    "li-readout": ("LiReadout", "features", "int"),
    "sparch-readout": ("SparchReadout", "features", "int"),
    "layers": ("Group", "layers", "Sequence[LayerLike]"),
    "residual": ("Residual", "layers", "Sequence[LayerLike]"),
    "branches": ("Branches", "branches", "Sequence[LayerLike]"),
    "static": ("Static", "layers", "Sequence[LayerLike]"),
}

#: The type, the default and the meaning of keys; `KIND.KEY` is that of one kind of layers.
KEYS: dict[str, tuple[str, Any, str]] = {
    "bias": ("bool", False, "Whether there is a bias."),
    "init": ("str | Mapping[str, Any] | None", None,
             "Initial weights: `\"fan-in\"` (the default), `\"kaiming-normal\"`, `{\"normal\": 0.02}`, or `{\"uniform\": [0.0, 0.3]}`."),
    "bias_init": ("float | None", None, "The initial value of biases; by default that of the weights' distribution."),
    "kernel": (NUMBERS, ..., "The size of the window."),
    "stride": (NUMBERS, 1, "The distance of windows."),
    "max-pool.stride": (NUMBERS + " | None", None, "The distance of windows; by default the size of the window."),
    "avg-pool.stride": (NUMBERS + " | None", None, "The distance of windows; by default the size of the window."),
    "padding": (NUMBERS, 0, "The elements that are added on both sides of each axis."),
    "output_padding": (NUMBERS, 0, "The elements that are added at the end of each axis of the output."),
    "dilation": (NUMBERS, 1, "The distance of elements in a window."),
    "groups": ("int", 1, "The number of groups of channels."),
    "ceil": ("bool", False, "Whether windows may reach over the end of an axis."),
    "count_padding": ("bool", True, "Whether padding counts in the mean."),
    "epsilon": ("float", 1e-5, "The number that is added to the variance."),
    "momentum": ("float", 0.1, "The share of a batch in the running statistics."),
    "affine": ("bool", True, "Whether there are trained scales and offsets."),
    "scale": ("float", 1.0, "The initial value of the scales."),
    "self-attention.scale": ("float | None", None, "The factor of the products; by default 0.125."),
    "batch-norm.each_step": ("bool", False, "Whether each time step has statistics of its own."),
    "batch-norm.time_steps": ("int | None", None, "The number of time steps, each with a factor that is learned (TEBN)."),
    "dropout.each_step": ("bool", False, "Whether each time step has a mask of its own."),
    "init_lambda": ("float", 8.0, "The maximum before training."),
    "each_channel": ("bool", False, "Whether each channel has a stored factor."),
    "axes": ("int | None", None, "The number of last axes over which is normalized; by default all."),
    "weights": ("str | None", None,
                "The shape of the weights, as of the layer of which they are in other programs: `\"linear\"`, `\"conv1d\"` or `\"conv2d\"`."),
    "state_across_samples": ("bool", False, "Whether states of neurons are carried from sample to sample, as in some programs."),
    "product_neuron": (SPEC + " | None", None, "The neuron of the products; by default the network's."),
    "filters": ("bool", False, "Whether values are filtered by spikes."),
    "cell": (SPEC + " | None", None, "The neuron; by default the network's."),
    "last": ("bool", False, "Whether only the last time step is returned."),
    "local_gradient": ("bool", False, "Whether spikes that are fed back have no gradient, as in e-prop."),
    "max_delay": ("int", ..., "The longest delay in time steps."),
    "synaptic": ("bool", False, "Whether each synapse has a delay; else each neuron."),
    "spread": ("bool", False, "Whether the initial delays are spread over all lengths."),
    "width": ("float | None", None, "The width of the kernels in time steps."),
    "dropout_p": ("float | None", None, "The probability of dropout, below 1."),
    "kernel_size": ("int", ..., "The number of delays."),
    "kernel_count": ("int", 1, "The number of kernels of a synapse."),
    "version": ("str", "gaussian", "The shape of kernels: `\"gaussian\"`, `\"max\"` or `\"v1\"`."),
    "sigma": ("float | None", None, "The width of the kernels; by default linear interpolation."),
    "trainable": ("bool", True, "Whether the delays are trained."),
    "normalize": ("bool | None", None, "Whether there is batch norm; by default as published."),
    "normalize_each_step": ("bool | None", None, "Whether batch norm has statistics of each step; by default as published."),
    "feedback": ("bool | None", None, "Whether spikes are fed back; by default as published."),
    "zero_diagonal": ("bool | None", None, "Whether neurons have no connection to themselves; by default as published."),
    "bidirectional": ("bool | None", None, "Whether the sequence is processed in both directions; by default as published."),
    "rule": ("str | Mapping[str, Any]", ..., "The learning rule: `\"stdp\"`, `\"pair-stdp\"`, `\"triplet-stdp\"`, `\"reward-stdp\"`, `\"reward-trace-stdp\"`, or a mapping with `name` and constants."),
    "update": ("str", "each-step", "When the weights change: `\"each-step\"`, `\"end-of-call\"` or `\"gradient\"`."),
    "learning_rate": ("float | None", None, "The factor of a change; by default 1."),
    "bounds": ("Sequence[float] | None", None, "The interval to which weights are clamped; by default that of the rule."),
    "tau_m": ("float", 20.0, "The time constant of the membrane, above 0."),
    "tau_s": ("float", 5.0, "The time constant of the synapses, above 0, in the same unit."),
    "dt": ("float", 1.0, "The length of a step, above 0, in the same unit."),
    "eventprop-lif.v_threshold": ("float", 1.0, "The threshold, above 0."),
    "eventprop-lif.feedback": ("bool", False, "Whether there are connections between the neurons."),
    "self_connections": ("bool", False, "Whether these include connections of neurons to themselves."),
    "plastic-recurrent.normalize": ("float | None", None, "The sum of the recurrent weights of each neuron at the beginning of a call."),
    "plastic-recurrent.zero_diagonal": ("bool", False, "Whether neurons have no connection to themselves."),
    "plastic-recurrent.init": ("str | Mapping[str, Any] | None", None,
                               "Initial weights, as of `Linear`; by default orthogonal."),
    "plastic.normalize": ("float | None", None, "The sum of the input weights of each neuron at the beginning of a call."),
    "inhibition": ("float", 0.0, "What a spike subtracts from the input of the other neurons in the next step."),
    "single_winner": ("bool", False, "Whether of the neurons that fire in a step only the one with the largest input does."),
    "homeostasis": ("Mapping[str, float] | None", None,
                    "A threshold that rises with each spike: `{\"increase\": 0.02, \"tau\": 1e4}`."),
    "reward": ("Mapping[str, float] | str | None", None,
               "The reward of a rule by the classes of the samples, `{\"classes\": 10, \"right\": 1.0, \"wrong\": -1.0}`, or "
               "`\"signal\"`: see `graph.give_signal`."),
    "outputs": ("int", ..., "The number of outputs."),
    "readout_decay": ("float", 0.0, "What the outputs keep in a step, below 1."),
    "error": ("str", "cross-entropy", "How the outputs are compared with the class: `\"cross-entropy\"` or `\"squared\"`."),
    "online-eprop.feedback": ("str", "symmetric",
                              "The weights by which errors reach the neurons: `\"symmetric\"`, `\"random\"` or `\"adaptive\"`."),
    "regularization": ("Mapping[str, float] | None", None,
                       "A rate that neurons keep: `{\"strength\": 1e-3, \"rate\": 0.02, \"tau\": 100.0}`."),
    "online-eprop.update": ("str", "gradient", "When the weights change: `\"gradient\"`, `\"each-step\"` or `\"end-of-call\"`."),
    "constants": ("Mapping[str, Any] | None", None, "Constants of the neuron that differ from the published ones."),
    "repeat": ("int | None", None, "The number of copies, each with weights of its own."),
    "shortcut": ("Sequence[LayerLike] | None", None, "The layers of the shortcut; by default the input itself."),
    "join": ("str", "add", "How both are joined: `\"add\"`, `\"and\"` or `\"iand\"`."),
    "stochastic_depth": ("float", 0.0, "The probability that a sample skips the main branch in training."),
    "names": ("Sequence[str] | None", None, "The names of main branch and shortcut in paths of parameters."),
    "combine": ("str", "sum", "`\"sum\"`, or `\"concat\"` along the channels or features."),
}
#: Of layers of neurons, the published layer decides.
OF_NEURON_LAYERS = {"bias": ("bool | None", None, "Whether there is a bias; by default as published.")}


def key_of(kind: str, key: str) -> Row:
    neuron_layer = LAYERS[kind][1] == "features" and kind not in ("rnn", "dcls", "delayed-linear")
    found = OF_NEURON_LAYERS.get(key) if neuron_layer else None
    found = found or KEYS.get(f"{kind}.{key}") or KEYS.get(key)
    if found is None:
        raise SystemExit(f"KEYS has no `{key}` of the layer `{kind}`")
    return (key, *found)


#: Layers whose first argument may be the size of the input.
BOTH = {
    "linear": ("in_features", "out_features", "features"),
    "conv": ("in_channels", "out_channels", "channels"),
    "conv-transposed": ("in_channels", "out_channels", "channels"),
}


def layer_class(kind: dict[str, Any]) -> str:
    name = kind["name"]
    cls, main, main_type = LAYERS[name]
    rows = [key_of(name, key) for key in kind["keys"] if key != "inputs"]
    required = [row for row in rows if row[2] is ...]
    rest = [row for row in rows if row[2] is not ...]
    first: list[Row] = []
    if name in BOTH:
        given, made, what = BOTH[name]
        first = [(given, "int | None", None,
                  f"The number of input {what}, by which the input is checked. One number alone is that of outputs."),
                 (made, "int | None", None, f"The number of output {what}.")]
        # What follows an argument with a default has one as well.
        required = [(key, kind + " | None", None, doc) for key, kind, _, doc in required]
    elif main:
        default = None if main_type.endswith("| None") else ...
        first = [(main, main_type, default, sentence(kind["value"]))]
    positional = len(first) + (len(required) if name in BOTH else 0)
    rows = first + required + rest
    rows.append(("name", "str | None", None, "The name in paths of parameters; by default the position."))
    lines = [f"class {cls}({'SizedLayer' if name in BOTH else 'Layer'}):", f'    """{sentence(kind["summary"])}']
    lines += parameters(rows)
    lines += ['    """', "", f'    kind = "{name}"']
    if main:
        lines.append(f'    main = "{main}"')
    if name in BOTH:
        lines.append(f'    sizes = ("{given}", "{made}")')
    lines += signature(rows, positional)
    if name in BOTH:
        at = lines.index(f"        self.{given} = {given}")
        lines[at:at + 2] = [f"        self.{given}, self.{made} = both_sizes({given}, {made})"]
    return "\n".join(lines) + "\n"
