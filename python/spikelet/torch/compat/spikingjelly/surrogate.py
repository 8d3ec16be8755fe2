"""Surrogate gradients: SpikingJelly's own."""

from __future__ import annotations

from spikingjelly.activation_based.surrogate import *  # noqa: F403
from spikingjelly.activation_based.surrogate import SurrogateFunctionBase as SurrogateFunctionBase
from spikingjelly.activation_based.surrogate import heaviside as heaviside
