"""snnTorch's neurons under their names, run by spikelet.

``Leaky``, ``Synaptic``, ``Alpha`` and ``Lapicque`` derive from snnTorch's classes, so that ``snntorch.utils.reset`` and state dicts
work as before. All other names are snnTorch's own, also those of its modules: ``surrogate``, ``utils``, ``functional``.

Examples
--------
>>> import torch
>>> import spikelet.torch.compat.snntorch as snn
>>> leaky = snn.Leaky(beta=0.5)
>>> mem = leaky.reset_mem()
>>> spk, mem = leaky(torch.full((1, 3), 1.5), mem)
>>> spk.tolist(), mem.tolist()
([[1.0, 1.0, 1.0]], [[1.5, 1.5, 1.5]])
"""

from __future__ import annotations

import importlib
from typing import Any

try:
    import snntorch as _snntorch
except ImportError as error:
    raise ImportError(
        "spikelet.torch.compat.snntorch derives its neurons from snnTorch's, which is not installed: `pip install snntorch`, "
        "or use spikelet.torch's own modules"
    ) from error

from ._neurons import Alpha, Lapicque, Leaky, Synaptic

__all__ = ["Alpha", "Lapicque", "Leaky", "Synaptic"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return getattr(_snntorch, name)
    except AttributeError:
        pass
    try:
        return importlib.import_module(f"snntorch.{name}")
    except ImportError:
        raise AttributeError(f"neither spikelet.torch.compat.snntorch nor snntorch has `{name}`") from None
