"""Neurons with recurrent connections."""

from __future__ import annotations

import json
from collections import namedtuple
from typing import Any

from ._layer import Layer, Neuron, definition_of

__all__ = ["Recurrent"]


class Recurrent(Layer):
    """Neurons whose spikes are fed back to their input through a weight matrix, `[T, N, features]` to the same shape.

    `S[t] = neuron(X[t] + S[t-1] @ W.T)`. All time steps are one operator, forward and backward; there is no loop in Python. The
    weight is the parameter `feedback_weight`, those of the neuron have the prefix `neuron_`.

    Parameters
    ----------
    neuron : Neuron
        A neuron; its constants and its trainable constants are taken over, its parameters are created anew.
    features : int
        The number of neurons.

    Examples
    --------
    >>> import torch
    >>> import spikelet.torch as st
    >>> layer = st.Recurrent(st.Lif(2.0), 16)
    >>> spikes, state = layer(torch.rand(8, 4, 16), None)
    >>> tuple(spikes.shape), sorted(name for name, _ in layer.named_parameters())
    ((8, 4, 16), ['feedback_weight'])
    """

    def __init__(self, neuron: Neuron, features: int) -> None:
        if not isinstance(neuron, Neuron):
            raise TypeError(f"{neuron!r} was given, expected a neuron such as spikelet.torch.Lif()")
        if neuron._random:
            raise ValueError(f"{type(neuron).__name__} starts from random states; pass random_start=False")
        if not isinstance(features, int) or features < 1:
            raise ValueError(f"features is {features!r}; give the length of the last axis of the input, at least 1")
        super().__init__()
        self.features = features
        self.neuron = f"{type(neuron).__name__}({neuron.extra_repr()})"
        spec = {"recurrent": json.loads(neuron.definition), "features": features}
        self._setup(definition_of(spec), [(2, 1, features)])

    @property
    def State(self) -> Any:  # noqa: N802
        """The type of the state."""
        return state_type(self._states)

    def extra_repr(self) -> str:
        """Return the neuron and the number of features."""
        return f"{self.neuron}, features={self.features}"


def _recurrent_state(names: tuple[str, ...]) -> Any:
    """The type of a state with these names: that of the last spikes and those of the neuron."""
    fields = [name.replace(".", "_") for name in names]
    base = namedtuple("RecurrentState", fields, defaults=[None] * len(fields))  # type: ignore[misc]
    return type(
        "RecurrentState",
        (base,),
        {"__slots__": (), "__reduce__": lambda self: (_rebuild, (names, tuple(self))), "__doc__": "State of Recurrent."},
    )


_TYPES: dict[tuple[str, ...], Any] = {}


def state_type(names: tuple[str, ...]) -> Any:
    """Return the type of a state, one for all modules with these states."""
    if names not in _TYPES:
        _TYPES[names] = _recurrent_state(names)
    return _TYPES[names]


def _rebuild(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return state_type(names)(*values)
