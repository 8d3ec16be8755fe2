"""Encoders: a value becomes a sequence.

Written by python/generator from the parts of the engine; change that program instead of this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._part import Encoder

__all__ = [
    "Direct",
    "Latency",
    "Poisson",
    "Population",
    "Rate",
    "WeightedPhase",
]


class Direct(Encoder):
    """The value at each time step: the first layer is a trainable encoder. Values that are constant over time are computed once.
    """

    kind = "direct"

    def __init__(self) -> None:
        pass


class Latency(Encoder):
    """Time steps are f32, which represents all integers up to this one.

    One spike at t_f = round((T − 1)·(1 − x)), or at t_f = round((T − 1) − ln(αx + 1)) with α = e^(T−1) − 1: the larger
    x, the earlier. Ties are rounded to even.

    Since αx + 1 = e^(T−1)·(x + (1 − x)·e^(1−T)), the second is computed as −ln(x + (1 − x)·e^(1−T)), which does not
    overflow for any T.

    Source: SpikingFlow's `LatencyEncoder`.

    Parameters
    ----------
    code : str, default "linear"
        See `spikelet.encoder`.
    time_steps : float | None, default None
        See `spikelet.encoder`.
    """

    kind = "latency"

    def __init__(
        self,
        code: str = "linear",
        time_steps: float | None = None,
    ) -> None:
        self.code = code
        self.time_steps = time_steps


class Poisson(Encoder):
    """Spikes with the value, from 0 to 1, as their probability.

    S[t] = 1 if u[t] ≤ x, with u uniform on (0, 1], drawn at each step.

    Source: SpikingFlow's `PoissonEncoder`.
    """

    kind = "poisson"

    def __init__(self) -> None:
        pass


class Population(Encoder):
    """The maximal number of curves. Each is an expression; more would not compile in reasonable time.

    Each value is encoded by the responses of m neurons, exp(−(x − μᵢ)²/2σ²), which are passed to another encoder: μᵢ =
    low + (2i − 3)/2 · (high − low)/(m − 2) for i = 1 … m, σ = (high − low)/(β·(m − 2)).

    Source: Bohte, Kok & La Poutré, Error-backpropagation in temporally encoded networks of spiking neurons,
    Neurocomputing 48:17, 2002.

    Parameters
    ----------
    beta : float, default 1.5
        See `spikelet.encoder`.
    curves : int, default 8
        See `spikelet.encoder`.
    high : float, default 1.0
        See `spikelet.encoder`.
    low : float, default 0.0
        See `spikelet.encoder`.
    then : Mapping[str, Any] | None, default None
        See `spikelet.encoder`.
    """

    kind = "population"

    def __init__(
        self,
        beta: float = 1.5,
        curves: int = 8,
        high: float = 1.0,
        low: float = 0.0,
        then: Mapping[str, Any] | None = None,
    ) -> None:
        self.beta = beta
        self.curves = curves
        self.high = high
        self.low = low
        self.then = then


class Rate(Encoder):
    """Spikes with the value as their probability, drawn with a separate seed.

    S[t] = 1 if u[t] ≤ x, with u uniform on (0, 1], drawn at each step, as in the Poisson encoder, but with its own
    seed: models with different seeds have the same input spikes.

    Parameters
    ----------
    seed : int, default 0
        Replaces the seed of the model; training steps are those of the model.
    """

    kind = "rate"

    def __init__(
        self,
        seed: int = 0,
    ) -> None:
        self.seed = seed


class WeightedPhase(Encoder):
    """The maximal K: smaller bits are lost in f32.

    The first K binary digits of x, one per step, the most significant first: a spike at step k of a period has the
    weight 2^(−k−1).

    Source: Kim et al., Deep neural networks with weighted spikes, Neurocomputing 311:373, 2018.

    Parameters
    ----------
    k : int, default 8
        See `spikelet.encoder`.
    """

    kind = "weighted_phase"

    def __init__(
        self,
        k: int = 8,
    ) -> None:
        self.k = k
