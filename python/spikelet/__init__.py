"""Deep spiking neural networks: fused neurons for PyTorch, and a compiled engine for the CPU and NVIDIA GPUs.

The engine trains and runs networks without another framework:

>>> digits = spikelet.data.load("synthetic", train=512, test=128)
>>> net = spikelet.Sequential(spikelet.Flatten(), spikelet.Linear(784, 10), spikelet.Lif(tau=2.0))
>>> report = spikelet.Trainer(net, epochs=1, time_steps=4, progress=False).fit(digits)

`spikelet.torch` has neurons as operators and modules of PyTorch; it is the only part that imports torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import encoder, layer, neuron, surrogate
from ._experiment import Experiment
from ._native import __version__
from ._models import load, model, models
from ._network import Network, Plan, Recording
from ._part import Encoder, Layer, Neuron, Surrogate, Trainable
from ._sequential import Sequential
from ._step import Step
from ._train_step import EpochMetrics, TrainStep
from ._trainer import FitReport, Trainer

if TYPE_CHECKING:
    from . import data, events, graph, nir, weights
    from .layer import *
    from .neuron import *

#: Modules that are imported when they are first used.
_LAZY = ("data", "events", "graph", "nir", "torch", "weights")

__all__ = [
    "Encoder",
    "EpochMetrics",
    "Experiment",
    "FitReport",
    "Layer",
    "Network",
    "Neuron",
    "Plan",
    "Recording",
    "Sequential",
    "Step",
    "Surrogate",
    "TrainStep",
    "Trainable",
    "Trainer",
    "__version__",
    "data",
    "devices",
    "diff",
    "encoder",
    "events",
    "graph",
    "layer",
    "load",
    "model",
    "models",
    "neuron",
    "nir",
    "surrogate",
    "weights",
    *layer.__all__,
    *neuron.__all__,
]


def devices() -> list[str]:
    """The devices that can be used.

    Returns
    -------
    list of str
        `"cpu"`, and a name such as `"cuda:0"` for each GPU.

    Examples
    --------
    >>> spikelet.devices()[0]
    'cpu'
    """
    from . import _native

    return _native.devices()


def diff(first: Any, second: Any, inputs: Any = None, **options: Any) -> nir.Diff:
    """The first difference between two networks, and its cause: see `spikelet.nir.diff`.

    Parameters
    ----------
    first, second : Graph, Network, path or mapping
        Two networks.
    inputs : mapping or array_like, optional
        Their input, sequences `[T, N, …]`.
    **options
        Those of `spikelet.nir.diff`.

    Returns
    -------
    spikelet.nir.Diff
        False if they are equal.
    """
    from . import nir

    return nir.diff(first, second, inputs, **options)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        try:
            return importlib.import_module(f".{name}", __name__)
        except ImportError as error:
            # As of a name that does not exist, for `help` and `inspect`; `import spikelet.torch` raises the other.
            raise AttributeError(str(error)) from error
    for module in (layer, neuron):
        if name in module.__all__:
            return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *layer.__all__, *neuron.__all__})
