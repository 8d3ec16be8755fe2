"""Norse's neurons under their names, run by spikelet.

``LIFCell``, ``LIF``, ``LIFBoxCell``, ``IAFCell`` and ``IAF`` derive from Norse's classes. All other names of ``norse.torch`` are
Norse's own.

Examples
--------
>>> import torch
>>> import spikelet.torch.compat.norse as norse
>>> spikes, state = norse.LIF()(torch.full((4, 1, 2), 8.0))
>>> spikes[:, 0, 0].tolist()
[0.0, 1.0, 1.0, 1.0]
"""

from __future__ import annotations

import importlib
from typing import Any

try:
    import norse.torch as _norse
except ImportError as error:
    raise ImportError(
        "spikelet.torch.compat.norse derives its neurons from Norse's, which is not installed: `pip install norse`, or use "
        "spikelet.torch's own modules"
    ) from error

from ._neurons import IAF, LIF, IAFCell, LIFBoxCell, LIFCell

__all__ = ["IAF", "LIF", "IAFCell", "LIFBoxCell", "LIFCell"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return getattr(_norse, name)
    except AttributeError:
        pass
    try:
        return importlib.import_module(f"norse.torch.{name}")
    except ImportError:
        raise AttributeError(f"neither spikelet.torch.compat.norse nor norse.torch has `{name}`") from None
