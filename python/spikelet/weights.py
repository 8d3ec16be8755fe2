"""Files with weights, and weights of other frameworks.

Examples
--------
>>> net = spikelet.Sequential(spikelet.Linear(2, 1), spikelet.Plif(), input=(2,))
>>> sorted(spikelet.weights.export(net, "spikingjelly"))
['0.bias', '0.weight', '1.w']
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _native
from ._arrays import as_numpy
from ._network import Network, PathLike

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

__all__ = ["FRAMEWORKS", "export", "read", "write"]

FRAMEWORKS = ("spikelet", "spikingjelly", "snntorch", "norse", "sparch")
"""The frameworks whose names are known."""


def read(path: PathLike) -> dict[str, Array]:
    """The tensors of a file. No code of the file runs.

    Parameters
    ----------
    path : path
        safetensors, `.npz`, or a checkpoint of PyTorch.

    Returns
    -------
    dict of str to numpy.ndarray
        16-bit numbers are float32.
    """
    return _native.read_weights(os.fspath(path))


def write(path: PathLike, tensors: Mapping[str, Any]) -> None:
    """Writes tensors to a file.

    Parameters
    ----------
    path : path
        A file `.safetensors`, `.npz`, `.pt` or `.pth`, which is replaced.
    tensors : mapping of str to array_like
        Floating point is written as float32, integers as int64.
    """
    _native.write_weights(os.fspath(path), _plain(tensors))


def _plain(tensors: Mapping[str, Any]) -> dict[str, Array]:
    import numpy as np

    arrays = {}
    for name, values in tensors.items():
        array = as_numpy(values, str(name))
        arrays[str(name)] = np.require(array, dtype=np.int64 if array.dtype.kind in "iub" else np.float32, requirements=("C", "A"))
    return arrays


def export(net: Network, framework: str) -> dict[str, Array]:
    """The weights of a network as another framework names them.

    Parameters
    ----------
    net : Network
        The network.
    framework : str
        One of `FRAMEWORKS`.

    Returns
    -------
    dict of str to numpy.ndarray
        A state dict that `load_state_dict(strict=True)` of a network of the same layers accepts.
    """
    return _native.export_weights(net._model, framework)
