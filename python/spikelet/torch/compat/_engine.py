"""Calls of spikelet's neurons from the drop-in modules."""

from __future__ import annotations

import json
from typing import Any, Mapping, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from .. import _operators


class Spec(NamedTuple):
    """A neuron with its constants."""

    definition: str
    states: int
    """Their number."""
    params: tuple[str, ...]
    """The names of the operands behind the states."""


_SPECS: dict[Any, Spec] = {}


@torch.compiler.assume_constant_result
def spec(
    neuron: str,
    constants: Mapping[str, Any],
    surrogate: Optional[Mapping[str, Any]],
    reset_grad: str = "surrogate",
    trainable: Optional[Mapping[str, str]] = None,
    shape: Sequence[int] = (2, 1, 1),
) -> Spec:
    """The neuron of this name; constants of `trainable`, with their granularities, are operands.

    Raises
    ------
    ValueError
        When a constant is outside its domain.
    """
    key = (
        neuron, reset_grad, tuple(constants.items()), tuple(surrogate.items()) if surrogate else None,
        tuple(trainable.items()) if trainable else None,
    )
    found = _SPECS.get(key)
    if found is None:
        found = _SPECS[key] = _make(neuron, constants, surrogate, reset_grad, trainable, shape)
    return found


def _make(
    neuron: str,
    constants: Mapping[str, Any],
    surrogate: Optional[Mapping[str, Any]],
    reset_grad: str,
    trainable: Optional[Mapping[str, str]],
    shape: Sequence[int],
) -> Spec:
    given: dict[str, Any] = {**constants, "name": neuron, "reset_grad": reset_grad}
    if trainable:
        given["trainable"] = dict(trainable)
    if surrogate is not None:
        given["surrogate"] = dict(surrogate)
    definition = json.dumps(given)
    described = _operators.describe(definition, shape)
    names = tuple(name for name, _, _ in described.params)
    # Registered before a graph with it is compiled.
    _operators.operators(len(described.states), len(names))
    return Spec(definition, len(described.states), names)


def as_state(state: Any, x_seq: Tensor) -> Optional[Tensor]:
    """A state before the first step in the type that kernels have; a number is that of all neurons."""
    if state is None:
        return None
    dtype = _operators.state_dtype(x_seq.dtype)
    if isinstance(state, Tensor):
        state = state if state.dtype == dtype and state.device == x_seq.device else state.to(x_seq.device, dtype)
        return state if state.shape == x_seq.shape[1:] else state.expand(x_seq.shape[1:])
    return torch.full(x_seq.shape[1:], state, dtype=dtype, device=x_seq.device)


def run(
    spec: Spec, x_seq: Tensor, states: Sequence[Optional[Tensor]], params: Mapping[str, Tensor]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The output of all steps ``[T, N, ...]`` and the states after the last one."""
    if not x_seq.dtype.is_floating_point:
        x_seq = x_seq.to(torch.get_default_dtype())
    operands: tuple[Tensor, ...] = ()
    if spec.params:
        dtype = _operators.state_dtype(x_seq.dtype)
        operands = tuple(params[name].to(dtype) for name in spec.params)
    ops = _operators.operators(spec.states, len(spec.params))
    made = _operators.call(ops, spec.definition, 0, x_seq, *states, *operands)
    return (made[0], made[1:]) if isinstance(made, tuple) else (made, ())


def step(
    spec: Spec, x: Tensor, states: Sequence[Optional[Tensor]], params: Mapping[str, Tensor]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The same for one step ``[N, ...]``."""
    x_seq = x.unsqueeze(0)
    y, last = run(spec, x_seq, tuple(as_state(state, x_seq) for state in states), params)
    return y.squeeze(0), last


def spikes(spec: Spec, x: Tensor) -> Tensor:
    """The output of a neuron without a state, of any shape."""
    y, _ = run(spec, x.reshape(1, -1), (), {})
    return y.reshape(x.shape)
