"""Which surrogate of spikelet a surrogate function of snnTorch is."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Union

from snntorch._neurons.neurons import SpikingNeuron

Gate = dict[str, Any]

# By the name of the function that returns the surrogate; its constants are variables of a closure.
_GATES: dict[str, Callable[..., Gate]] = {
    "atan": lambda alpha: {"name": "atan", "alpha": float(alpha)},
    "fast_sigmoid": lambda slope: {"name": "fast_sigmoid", "slope": float(slope)},
    "heaviside": lambda: {"name": "leaky_spike_operator", "leak": 0.0},
    "sigmoid": lambda slope: {"name": "sigmoid", "alpha": float(slope)},
    "spike_rate_escape": lambda beta, slope: {"name": "spike_rate_escape", "beta": float(beta), "slope": float(slope)},
    "SFS": lambda slope, B: {"name": "sparse_fast_sigmoid", "slope": float(slope), "b": float(B)},
    "straight_through_estimator": lambda: {"name": "deterministic_pass"},
    "triangular": lambda threshold: {"name": "leaky_k_relu", "leak": float(threshold), "k": -float(threshold)},
}


def gate_of(function: Any) -> Union[Gate, str]:
    """The specification, or why there is none."""
    if function is SpikingNeuron._surrogate_bypass:
        return {"name": "leaky_k_relu", "leak": 0.0, "k": 0.0}
    name = getattr(function, "__qualname__", type(function).__name__)
    maker = name.split(".")[0]
    is_theirs = getattr(function, "__module__", None) == "snntorch.surrogate" and name.endswith("<locals>.inner")
    if not is_theirs or maker not in _GATES:
        return f"spikelet has no surrogate for {maker if is_theirs else name}"
    constants = dict(inspect.getclosurevars(function).nonlocals)
    return _GATES[maker](**constants)
