"""Neurons of one's own: an equation in Python, traced once."""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from .. import _part
from .. import neuron as library
from .._part import Field
from .._registry import document, make
from ._layer import Neuron, module_of
from .expression import Expression, Trace

__all__ = ["Scope", "neuron"]

#: The constants of all neurons that an equation has.
_SHARED = ("v_threshold", "v_reset", "strict", "resets", "surrogate", "reset_grad", "trainable")


def _shared() -> list[Field]:
    return [field for field in library.If._fields if field.name in _SHARED]


class Step:
    """The results of an equation: the output and the next states."""

    def __init__(self, output: Expression, states: Mapping[str, Expression]) -> None:
        self.output = output
        self.states = dict(states)


class Scope:
    """States, parameters and functions of the neuron whose equation is traced.

    States and parameters are attributes: `n.v` is the state before the step. `n.v_threshold` and `n.v_reset` are the
    constants of all neurons.
    """

    def __init__(self, trace: Trace, states: Sequence[str], params: Sequence[str]) -> None:
        self._trace, self._states, self._params = trace, tuple(states), tuple(params)
        self._fired: Expression | None = None
        self._charged: Expression | None = None

    def __getattr__(self, name: str) -> Expression:
        if name in self._states:
            return self._trace.term("state", name)
        if name in self._params:
            return self._trace.term("param", name)
        if name in ("v_threshold", "v_reset"):
            return self._trace.apply(name)
        known = ", ".join([*self._states, *self._params, "v_threshold", "v_reset"])
        raise AttributeError(f"the neuron has no state or parameter `{name}`; it has {known}")

    def spike(self, distance: Expression) -> Expression:
        """Return 1 where the distance from the threshold is at least 0, with the gradient of the surrogate."""
        return self._trace.apply("spike", distance)

    def reset(self, h: Expression, s: Expression) -> Expression:
        """Return the potential after the reset: `v_reset` where the neuron fired, or `h - s * v_threshold` for a soft reset."""
        self._charged, self._fired = h, s
        return self._trace.apply("reset", h, s)

    def emit(self, output: Expression, **states: Expression) -> Step:
        """Return the output of the step and the next states; those that are not given stay as they are."""
        for name in states:
            if name not in self._states:
                raise ValueError(f"`{name}` is not a state of the neuron; it has {', '.join(self._states) or 'none'}")
        return Step(output, states)


def _rebuild_state(owner: type[Neuron], values: tuple[Any, ...]) -> Any:
    return owner.State(*values)


def _state_type(name: str, states: Sequence[str], owner: Callable[[], type[Neuron]]) -> Any:
    base = namedtuple(f"{name}State", list(states), defaults=[None] * len(states))  # type: ignore[misc]

    def reduce(self: Any) -> Any:
        return _rebuild_state, (owner(), tuple(self))

    return type(f"{name}State", (base,), {"__slots__": (), "__reduce__": reduce, "__doc__": f"State of {name}."})


def neuron(
    *,
    states: Mapping[str, float] | None = None,
    params: Mapping[str, float | tuple[float, str]] | None = None,
) -> Callable[[Callable[..., Step]], Any]:
    """Make a class of neurons from an equation.

    The function is called once with the scope of the neuron, the input x and its constants, and its operations are recorded.
    They are compiled to fused kernels for all time steps, forward and backward, for the CPU and for GPUs.

    Parameters
    ----------
    states : mapping of str to float
        The states and their values before the first step; by default the potential `v`, which starts at 0.
    params : mapping of str to float, or to a float and a granularity
        Parameters that are learned, with their initial values. The granularity is "layer", "channel" or "neuron".

    Returns
    -------
    decorator
        Turns the function into a subclass of `Neuron`. Keyword arguments of the function that are numbers are constants: they
        are arguments of the class and can be trained.

    Examples
    --------
    >>> import torch
    >>> import spikelet.torch as st
    >>> @st.neuron(states={"v": 0.0, "a": 0.0}, params={"b": 0.2})
    ... def adaptive(n, x, *, decay=0.9):
    ...     h = n.v * decay + x
    ...     s = n.spike(h - (n.v_threshold + n.a))
    ...     return n.emit(s, v=n.reset(h, s), a=n.a * 0.95 + n.b * s)
    >>> layer = adaptive(decay=0.95, surrogate=st.surrogate.Atan())
    >>> spikes, state = layer(torch.rand(4, 2, 8), None)
    >>> tuple(spikes.shape), state._fields
    ((4, 2, 8), ('v', 'a'))
    """
    of_states = {"v": 0.0} if states is None else dict(states)
    of_params = {
        name: (value if isinstance(value, tuple) else (value, "layer")) for name, value in (params or {}).items()
    }

    def decorate(function: Callable[..., Step]) -> Any:
        return _make(function, of_states, of_params)

    return decorate


def _make(
    function: Callable[..., Step], states: Mapping[str, float], params: Mapping[str, tuple[float, str]]
) -> type[Neuron]:
    # Names of kernels and states; that of a lambda is none.
    title = function.__name__ if function.__name__.isidentifier() else "neuron"
    arguments = list(inspect.signature(function).parameters.values())
    if len(arguments) < 2 or any(a.default is inspect.Parameter.empty for a in arguments[2:]):
        raise TypeError(
            f"{function.__name__}: expected the arguments n and x, then constants with default values, such as "
            "`def neuron(n, x, *, decay=0.9)`"
        )
    defaults = {a.name: a.default for a in arguments[2:]}
    for name in defaults:
        if name in states or name in params or name in _SHARED:
            raise TypeError(f"{function.__name__}: the constant `{name}` has the name of a state, a parameter or a constant of "
                            "all neurons; rename it")

    def traced(options: Mapping[str, Any]) -> dict[str, Any]:
        trace = Trace()
        scope = Scope(trace, list(states), list(params))
        given = {
            name: trace.term("constant", name) if _is_number(value) else value for name, value in options.items()
        }
        step = function(scope, trace.term("input"), **given)
        if not isinstance(step, Step):
            raise TypeError(f"{function.__name__}: expected the result of n.emit(output, ...), {step!r} was returned")
        output = trace.operand(step.output)
        fire = trace.operand(scope._fired) if scope._fired is not None else _last_spike(trace, output)
        form: dict[str, Any] = {
            "title": title,
            "terms": trace.terms,
            "next": {name: trace.operand(value) for name, value in step.states.items()},
            "states": [[name, float(value)] for name, value in states.items()],
            "params": [[name, float(value), granularity] for name, (value, granularity) in params.items()],
            "constants": [[name, float(value)] for name, value in options.items() if _is_number(value)],
            "output": output,
        }
        if fire is not None:
            form["fire"] = fire
        if scope._charged is not None:
            form["charge"] = trace.operand(scope._charged)
        return form

    class Own(Neuron):
        def _equation(self, constants: Mapping[str, Any]) -> Mapping[str, Any]:
            form = traced({name: constants[name] for name in defaults})
            return {**form, **{name: constants[name] for name in _SHARED}}

    own = [Field(name, type(value).__name__, value, "See the equation.") for name, value in defaults.items()]
    doc = document([function.__doc__ or "A neuron with an equation of its own."], [*own, *_shared()])
    module = function.__module__
    # The name under which a copy of it is found.
    path = f"{function.__name__}.part"
    part = make(
        function.__name__, _part.Neuron, module, [*own, *_shared()], 0, doc, kind="equation", __qualname__=path
    )
    made = module_of(part, _state_type(title, list(states), lambda: made), module, Own)
    return cast("type[Neuron]", made)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _last_spike(trace: Trace, output: int) -> int | None:
    """The term of the spikes of a neuron that is not reset: its output, or the last term that fires."""
    spikes = [k for k, term in enumerate(trace.terms) if isinstance(term, dict) and term.get("apply", [""])[0] == "spike"]
    if output in spikes:
        return output
    return spikes[-1] if spikes else None
