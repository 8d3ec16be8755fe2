"""Networks by name, and networks of files."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _native
from ._network import Network, PathLike
from ._part import Neuron
from ._registry import registry

__all__ = ["load", "model", "models"]


def model(name: str, **options: Any) -> Network:
    """A network by its name, with options.

    Parameters
    ----------
    name : str
        One of `spikelet.models()`.
    **options
        Options of the network; `spikelet.models(name)` lists them. `neuron` may be a `Neuron`. `size` is one number for
        square images, or height and width.

    Returns
    -------
    Network
        With initial weights.

    Examples
    --------
    >>> net = spikelet.model("sew-resnet18", connect="and", classes=10, size=32)
    >>> net.input
    (3, 32, 32)
    >>> spikelet.model("sew-resnet18", classes=10, size=(48, 64)).input
    (3, 48, 64)
    """
    plain = {key: _option(value) for key, value in options.items()}
    return Network._of(_native.Network.named(str(name), json.dumps(plain)))


def _option(value: Any) -> Any:
    if isinstance(value, Neuron):
        return value.spec()
    if isinstance(value, tuple):
        return list(value)
    return value


def models(name: str | None = None) -> Any:
    """The names of all networks, or the options of one.

    Parameters
    ----------
    name : str, optional
        A network of the literature.

    Returns
    -------
    list of str, or dict
        Names; or `summary`, `source`, `time_steps` and `options`, each with its meaning and its default.

    Examples
    --------
    >>> "sew-resnet18" in spikelet.models()
    True
    >>> spikelet.models("sew-resnet18")["options"]["connect"]["default"]
    'add'
    """
    if name is None:
        return list(registry()["networks"])
    info = json.loads(_native.model_info(name))
    info["options"] = {
        option["name"]: {"meaning": option["meaning"], "default": option["value"]} for option in info["options"]
    }
    return info


def load(path: PathLike, device: str = "auto") -> Network:
    """Reads a network with its weights and its settings.

    Parameters
    ----------
    path : path
        A file or a folder of `Network.save`, a checkpoint or the folder of a run, or `"hf://owner/name"`.
    device : str
        The device of the weights.

    Returns
    -------
    Network
        The network.
    """
    made, settings = _native.read_checkpoint(os.fspath(path))
    net = Network._of(made, json.loads(settings))
    net._device = device
    net.load(path)
    return net
