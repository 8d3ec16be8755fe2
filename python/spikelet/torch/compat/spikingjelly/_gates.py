"""Which surrogate of spikelet a surrogate function of SpikingJelly is."""

from __future__ import annotations

import numbers
from typing import Any, Callable, Optional, Union

from . import surrogate

# Classes and their constants: the name there and the name here.
_GATES: dict[str, tuple[str, dict[str, str]]] = {
    "ATan": ("atan", {"alpha": "alpha"}),
    "DeterministicPass": ("deterministic_pass", {}),
    "Erf": ("erf", {"alpha": "alpha"}),
    "FakeNumericalGradient": ("fake_numerical_gradient", {"alpha": "alpha"}),
    "LeakyKReLU": ("leaky_k_relu", {"leak": "leak", "k": "k"}),
    "LogTailedReLU": ("log_tailed_relu", {"alpha": "alpha"}),
    "MultiLevelSpikeCount": (
        "multi_level_spike_count",
        {"max_spike_count": "max_spike_count", "grad_min": "grad_min", "grad_max": "grad_max"},
    ),
    "NonzeroSignLogAbs": ("nonzero_sign_log_abs", {"alpha": "alpha"}),
    "PiecewiseExp": ("piecewise_exp", {"alpha": "alpha"}),
    "PiecewiseLeakyReLU": ("piecewise_leaky_relu", {"w": "w", "c": "c"}),
    "PiecewiseQuadratic": ("piecewise_quadratic", {"alpha": "alpha"}),
    "QPseudoSpike": ("q_pseudo_spike", {"alpha": "alpha"}),
    "Rect": ("rect", {"alpha": "alpha"}),
    "S2NN": ("s2nn", {"alpha": "alpha", "beta": "beta"}),
    "Sigmoid": ("sigmoid", {"alpha": "alpha"}),
    "SoftSign": ("soft_sign", {"alpha": "alpha"}),
    "SquarewaveFourierSeries": ("squarewave_fourier_series", {"n": "n", "T_period": "t_period"}),
    "SuperSpike": ("super_spike", {"alpha": "alpha"}),
}

_TYPES = {
    getattr(surrogate, name): gate for name, gate in _GATES.items() if hasattr(surrogate, name)
}


def gate_of(function: Callable[..., Any]) -> Union[tuple[dict[str, Any], bool], str]:
    """The specification and whether it spikes, or why there is none."""
    if function is surrogate.heaviside:
        return {"name": "leaky_k_relu", "leak": 0.0, "k": 0.0}, True
    found: Optional[tuple[str, dict[str, str]]] = _TYPES.get(type(function))
    name = type(function).__name__
    if found is None:
        return f"spikelet has no surrogate for {name}"
    constants: Any = function
    spec: dict[str, Any] = {"name": found[0]}
    for theirs, ours in found[1].items():
        value = getattr(constants, theirs)
        if not isinstance(value, numbers.Real):
            return f"{theirs} of {name} is {type(value).__name__}, not a number"
        spec[ours] = value
    return spec, bool(constants.spiking)
