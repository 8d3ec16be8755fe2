"""The neurons of the library as modules, made from the declarations in `spikelet.neuron`: their names are in `__all__`."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _part, neuron
from .._part import Field, SurrogateLike, Trainable
from .._registry import lazy, registry
from ._layer import Neuron

#: The argument that a module has beside those of the declaration.
_SHAPE = Field(
    "shape", "Sequence[int] | None", None,
    "Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.",
)
_STATES = {member["class"]: member["states"] for member in registry()["neurons"]}


def module_of(part: type[_part.Neuron], states: Any, module: str, base: type[Neuron] = Neuron) -> Any:
    """The class of modules of a declaration."""
    doc = (part.__doc__ or "").rstrip() + f"\n{_SHAPE.name} : {_SHAPE.annotation}\n    {_SHAPE.doc}"
    return type(part.__name__, (base,), {
        "__module__": module, "__doc__": doc, "__signature__": _Signature(), "part": part, "State": states,
    })


class _Signature:
    """That of the declaration, and the shape."""

    def __get__(self, made: Any, owner: type[Neuron]) -> Any:
        import inspect

        declared = inspect.signature(owner.part)
        kind = inspect.Parameter.KEYWORD_ONLY
        shape = inspect.Parameter(_SHAPE.name, kind, default=_SHAPE.default, annotation=_SHAPE.annotation)
        return declared.replace(parameters=[*declared.parameters.values(), shape])


def state_of(name: str, states: Sequence[str], module: str) -> Any:
    """The type of a neuron's state."""
    made = namedtuple(f"{name}State", list(states), defaults=[None] * len(states), module=module)  # type: ignore[misc]
    made.__doc__ = f"State of {name}."
    return made


def _neuron(name: str) -> Any:
    return lambda module: module_of(getattr(neuron, name), __getattr__(f"{name}State"), module)


def _state(name: str) -> Any:
    return lambda module: state_of(name, _STATES[name], module)


__all__, __getattr__, __dir__ = lazy(
    globals(), {name: _neuron(name) for name in _STATES} | {f"{name}State": _state(name) for name in _STATES}
)
