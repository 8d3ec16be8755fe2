"""Neurons with recurrent connections."""

from __future__ import annotations

import json
from collections import namedtuple
from typing import Any, cast

import torch
from torch import Tensor

from ._layer import FileLayer, Neuron

__all__ = ["Recurrent"]


class Recurrent(FileLayer):
    """Neurons whose spikes are fed back to their input through a weight matrix, `[T, N, features]` to the same shape.

    `S[t] = neuron(X[t] + S[t-1] @ W.T)`. All time steps are one operator, forward and backward; there is no loop in Python. With
    `max_delay`, each neuron that fires, or each synapse, has a learned delay; a delay of 0 is that of ordinary connections, one
    step, and in evaluation (`eval()`) delays are rounded.

    Attributes
    ----------
    feedback_weight : Parameter [features, features]
        A row for each neuron that receives. Parameters of the neuron have the prefix `neuron_`.
    feedback_delay : Parameter [features], or [features, features] with `synaptic=True`
        With `max_delay`. `register_constraints(net, optimizer)` limits delays to 0 to `max_delay`.
    feedback_spread : Parameter [features]
        With `spread=True`.
    feedback_delay_width : buffer
        With `max_delay`: the width of the triangle around a delay, at most `width`.

    Parameters
    ----------
    neuron : Neuron
        A neuron; its constants and its trainable constants are taken over, its parameters are created anew.
    features : int
        The number of neurons.
    max_delay : int, optional
        The longest learned delay, beside the step of ordinary connections.
    synaptic : bool
        Whether each synapse has a delay; else each neuron that fires.
    spread : bool
        Whether each neuron that fires has a learned spread.
    width : float
        The width at the start, which is the largest one.

    Notes
    -----
    Delays: DelRec (Queant et al., 2025).

    Examples
    --------
    >>> import torch
    >>> import spikelet.torch as st
    >>> layer = st.Recurrent(st.Lif(2.0), 16)
    >>> spikes, state = layer(torch.rand(8, 4, 16), None)
    >>> tuple(spikes.shape), sorted(name for name, _ in layer.named_parameters())
    ((8, 4, 16), ['feedback_weight'])
    >>> layer = st.Recurrent(st.Lif(2.0), 16, max_delay=30, width=10.0)
    >>> sorted(name for name, _ in layer.named_parameters())
    ['feedback_delay', 'feedback_weight']
    """

    feedback_weight: Tensor

    def __init__(
        self,
        neuron: Neuron,
        features: int,
        *,
        max_delay: int | None = None,
        synaptic: bool = False,
        spread: bool = False,
        width: float = 0.0,
    ) -> None:
        if not isinstance(neuron, Neuron):
            raise TypeError(f"{neuron!r} was given, expected a neuron such as spikelet.torch.Lif()")
        if neuron._random:
            raise ValueError(f"{type(neuron).__name__} starts from random states; pass random_start=False")
        delays = {"max_delay": max_delay, "synaptic": synaptic, "spread": spread, "width": width}
        if max_delay is None:
            # The others are refused if they are given.
            delays = {name: value for name, value in delays.items() if value}
        super().__init__({"recurrent": json.loads(neuron.definition), **delays}, features)
        self.features, self.max_delay = features, max_delay
        self.neuron = f"{type(neuron).__name__}({neuron.extra_repr()})"

    @torch.no_grad()
    def clamp_parameters(self) -> None:
        """Limit the delays to 0 to `max_delay`."""
        if self.max_delay is not None:
            cast(Tensor, self.feedback_delay).clamp_(0, self.max_delay)

    @property
    def State(self) -> Any:  # noqa: N802
        """The type of the state."""
        return state_type(self._states)

    def extra_repr(self) -> str:
        """Return the neuron and the sizes that are printed with the module."""
        delays = "" if self.max_delay is None else f", max_delay={self.max_delay}"
        return f"{self.neuron}, features={self.features}{delays}"


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
