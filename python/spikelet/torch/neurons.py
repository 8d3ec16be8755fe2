"""The neurons of the library as modules, made from the declarations in `spikelet.neuron`: their names are in `__all__`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import neuron
from .._part import SurrogateLike, Trainable
from .._registry import lazy, registry
from ._layer import Neuron, module_of, state_of

_STATES = {member["class"]: member["states"] for member in registry()["neurons"]}


def _neuron(name: str) -> Any:
    return lambda module: module_of(getattr(neuron, name), __getattr__(f"{name}State"), module)


def _state(name: str) -> Any:
    return lambda module: state_of(name, _STATES[name], module)


__all__, __getattr__, __dir__ = lazy(
    globals(), {name: _neuron(name) for name in _STATES} | {f"{name}State": _state(name) for name in _STATES}
)
