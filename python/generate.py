"""Writes spikelet/layer.py, neuron.py, surrogate.py and encoder.py from the parts that the engine has.

    python python/generate.py            # writes the files
    python python/generate.py --check    # fails if they would change

Names of classes are those of Rust, read from the sources of `spikelet-nn`; constants and their meaning come from the
engine. What files do not say of a layer's keys, their types and meaning, is in the tables here.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

from spikelet import _native

PACKAGE = Path(__file__).parent / "spikelet"
NN = Path(__file__).parent.parent / "crates" / "spikelet-nn" / "src"
REGISTRY = json.loads(_native.registry())

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
    "rnn": ("Rnn", "features", "int"),
    "recurrent": ("Recurrent", "cell", SPEC + " | None"),
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
    "init": ("str | Mapping[str, float] | None", None,
             "Initial weights: `\"fan-in\"` (the default), `\"kaiming-normal\"`, or `{\"normal\": 0.02}`."),
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

#: Constants of all neurons.
COMMON: dict[str, tuple[str, Any, str]] = {
    "v_threshold": ("float", 1.0, "The neuron fires if its potential reaches it."),
    "strict": ("bool", False, "Whether a potential that equals the threshold causes no spike."),
    "fire_on": ("str", "charged", "The potential that is compared with the threshold: `\"charged\"`, or `\"previous\"`, that before the step."),
    "resets": ("bool", True, "Whether the potential is reset."),
    "v_reset": ("float | None", 0.0, "The potential after a spike; `None` is the soft reset, which subtracts the threshold."),
    "surrogate": ("SurrogateLike | None", None, "The surrogate gradient; by default the neuron's own, mostly `Sigmoid(alpha=4.0)`."),
    "reset_grad": ("str", "surrogate", "The gradient of the reset: `\"surrogate\"`, `\"detach\"` or `\"soft\"`."),
    "spiking": ("bool", True, "Whether the output is spikes; else it is the primitive of the surrogate."),
    "trainable": ("Mapping[str, Any] | Sequence[str] | None", None,
                  "The constants that are trained: their names, or a table of names and settings such as `{\"tau\": \"channel\"}`."),
}

HEAD = '''"""{title}

Written by python/generate.py from the parts of the engine; change that program instead of this file.
"""

from __future__ import annotations

{imports}

__all__ = [
{names}]
'''


def rust_names(family: str) -> dict[str, str]:
    """Names of the members of a family and of their types."""
    text = (NN / family / "mod.rs").read_text()
    body = text[text.index("family! {"):]
    found = re.findall(r'\w+::(\w+)\s*=\s*"(\w+)"', body[:body.index("\n}\n")])
    return {name: kind for kind, name in found}


def plain(text: str) -> str:
    """Text of a comment in Rust as that of a docstring."""
    return text.replace("\\", "\\\\").replace("`None`", "`None`").strip()


def quoted(value: Any) -> str:
    """A default as the formatter writes it."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def wrapped(text: str, indent: str) -> str:
    return textwrap.fill(text, 116, initial_indent=indent, subsequent_indent=indent, break_long_words=False)


def sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def parameters(rows: list[tuple[str, str, Any, str]]) -> list[str]:
    """The section of parameters of a docstring."""
    if not rows:
        return []
    lines = ["", "    Parameters", "    ----------"]
    for name, kind, default, doc in rows:
        suffix = "" if default is ... else f", default {quoted(default)}"
        lines.append(f"    {name} : {kind}{suffix}")
        lines.append(wrapped(doc, "        "))
    return lines


def signature(rows: list[tuple[str, str, Any, str]], positional: int) -> list[str]:
    lines = ["", "    def __init__(", "        self,"]
    for k, (name, kind, default, _) in enumerate(rows):
        if k == positional:
            lines.append("        *,")
        lines.append(f"        {name}: {kind}" + ("" if default is ... else f" = {quoted(default)}") + ",")
    lines.append("    ) -> None:")
    body = [f"        self.{name} = {name}" for name, *_ in rows] or ["        pass"]
    if not rows:
        lines[-3:] = ["    def __init__(self) -> None:"]
    return lines + body


def key_of(kind: str, key: str) -> tuple[str, str, Any, str]:
    neuron_layer = LAYERS[kind][1] == "features" and kind not in ("rnn", "dcls", "delayed-linear")
    found = OF_NEURON_LAYERS.get(key) if neuron_layer else None
    found = found or KEYS.get(f"{kind}.{key}") or KEYS.get(key)
    if found is None:
        raise SystemExit(f"generate.py: KEYS has no `{key}` of the layer `{kind}`")
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
    first: list[tuple[str, str, Any, str]] = []
    if name in BOTH:
        given, made, what = BOTH[name]
        first = [(given, "int", ..., f"The number of input {what}. With one number only, that of outputs: inputs are inferred."),
                 (made, "int | None", None, f"The number of output {what}.")]
        # What follows an argument with a default has one as well.
        required = [(key, kind + " | None", None, doc) for key, kind, _, doc in required]
    elif main:
        default = None if main_type.endswith("| None") else ...
        first = [(main, main_type, default, sentence(kind["value"]))]
    if name in BOTH:
        positional = len(first) + len(required)
    else:
        positional = len(first)
        first, required = first, [row for row in required]
    rows = first + required + rest
    rows.append(("name", "str | None", None, "The name in paths of parameters; by default the position."))
    lines = [f"class {cls}(Layer):", f'    """{sentence(kind["summary"])}']
    lines += parameters(rows)
    lines += ['    """', "", f'    kind = "{name}"']
    if main:
        lines.append(f'    main = "{main}"')
    lines += signature(rows, positional)
    if name in BOTH:
        given, made, what = BOTH[name]
        lines += ["", "    def spec(self) -> dict[str, Any]:",
                  f"        return both_sizes(self, self.{given}, self.{made}, (\"{given}\", \"{made}\"))"]
    return "\n".join(lines) + "\n"


def table(text: str) -> dict[str, str]:
    """The meaning of the fields in the tables of a comment."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        names = re.findall(r"`(\w+)`", cells[0]) if line.startswith("|") else []
        for name in names:
            found.setdefault(name, cells[-1])
    return found


def annotation(default: Any) -> str:
    if isinstance(default, bool):
        return "bool"
    if isinstance(default, int):
        return "int"
    if isinstance(default, float):
        return "float"
    if default is None:
        return "float | None"
    if isinstance(default, str):
        return "str"
    if isinstance(default, list):
        return "Sequence[Any]"
    return "Mapping[str, Any]"


def prose(member: dict[str, Any]) -> list[str]:
    """The text of a docstring: the equation, and the description without its table."""
    head = member["head"].split("\n\n", 1)
    described = [p for p in member["description"].split("\n\n") if p and not p.startswith("|")]
    paragraphs = ([head[1]] if len(head) > 1 else [])
    first = sentence(described[0].replace("\n", " ")) if described else sentence(member["summary"])
    rest = described[1:]
    lines = [first]
    for paragraph in "\n\n".join(rest + paragraphs).split("\n\n"):
        if not paragraph.strip() or "```" in paragraph:
            continue
        lines.append("")
        if paragraph.lstrip().startswith(("|", "-", "*")):
            lines += [line.rstrip() for line in paragraph.splitlines()]
        else:
            lines += wrapped(paragraph.replace("\n", " "), "").splitlines()
    return [plain(line) if line else "" for line in lines]


def member_class(member: dict[str, Any], cls: str, base: str) -> str:
    meaning = table(member["description"])
    own: list[tuple[str, str, Any, str]] = []
    common: list[tuple[str, str, Any, str]] = []
    for name, default in member["constants"].items():
        doc = sentence(meaning.get(name) or f"See `spikelet.{base.lower()}`")
        if base == "Neuron" and name in COMMON:
            kind, usual, usual_doc = COMMON[name]
            value = usual if name in ("surrogate", "trainable") else default
            common.append((name, kind, value, sentence(meaning[name]) if name in meaning else usual_doc))
            continue
        value = None if isinstance(default, (list, dict)) else default
        kind = annotation(default) + (" | None" if isinstance(default, (list, dict)) else "")
        if keyword.iskeyword(name):
            meaning[f"{name}_"] = meaning.get(name, "")
            name = f"{name}_"
        own.append((name, kind, value, doc))
    order = {name: list(meaning).index(name.rstrip("_")) for name in meaning if name.rstrip("_") in meaning}
    own.sort(key=lambda row: order.get(row[0], len(order)))
    common.sort(key=lambda row: list(COMMON).index(row[0]))
    rows = own + common
    text = prose(member)
    lines = [f"class {cls}({base}):", f'    """{text[0]}']
    lines += [f"    {line}".rstrip() for line in text[1:]]
    lines += parameters(rows)
    lines += ['    """', "", f'    kind = "{member["name"]}"']
    lines += signature(rows, len(own))
    return "\n".join(lines) + "\n"


def module(title: str, imports: str, classes: list[tuple[str, str]]) -> str:
    names = "".join(f'    "{name}",\n' for name, _ in sorted(classes))
    head = HEAD.format(title=title, imports=imports, names=names)
    return head + "".join("\n\n" + body for _, body in classes)


def files() -> dict[str, str]:
    missing = [kind["name"] for kind in REGISTRY["layers"] if kind["name"] not in LAYERS]
    if missing:
        raise SystemExit(f"generate.py: LAYERS has no {', '.join(missing)}")
    typing = "from collections.abc import Mapping, Sequence\nfrom typing import Any\n"
    made = {}
    layers = [(LAYERS[kind["name"]][0], layer_class(kind)) for kind in REGISTRY["layers"]]
    made["layer.py"] = module(
        "Layers of networks.", f"{typing}\nfrom ._part import Layer, LayerLike, Neuron, both_sizes", layers)
    for family, base, title in [("neuron", "Neuron", "Neurons."), ("surrogate", "Surrogate", "Surrogate gradients."),
                                ("encoder", "Encoder", "Encoders: a value becomes a sequence.")]:
        names = rust_names(family)
        classes = [(names[m["name"]], member_class(m, names[m["name"]], base)) for m in REGISTRY[family + "s"]]
        body = "".join(text for _, text in classes)
        wanted = [name for name in ("Mapping", "Sequence") if re.search(rf"\b{name}\[", body)]
        imports = f"from collections.abc import {', '.join(wanted)}\n" if wanted else ""
        imports += "from typing import Any\n\n" if "Any]" in body else ""
        parts = base + (", SurrogateLike" if base == "Neuron" else "")
        made[f"{family}.py"] = module(title, f"{imports}from ._part import {parts}", classes)
    return made


def main() -> None:
    changed = []
    for name, text in files().items():
        path = PACKAGE / name
        if not path.exists() or path.read_text() != text:
            changed.append(name)
            if "--check" not in sys.argv:
                path.write_text(text)
    if "--check" in sys.argv and changed:
        raise SystemExit(f"{', '.join(changed)} would change: run python/generate.py")


if __name__ == "__main__":
    main()
