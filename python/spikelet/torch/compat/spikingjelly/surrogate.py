"""Surrogate gradients: SpikingJelly's own where it is installed, otherwise classes of the same names."""

from __future__ import annotations

from . import _installed

_peer = _installed.find("surrogate")

if _peer is not None:
    from spikingjelly.activation_based.surrogate import *  # noqa: F403
    from spikingjelly.activation_based.surrogate import SurrogateFunctionBase as SurrogateFunctionBase
    from spikingjelly.activation_based.surrogate import heaviside as heaviside
else:
    from ._own.surrogate import *  # noqa: F403
    from ._own.surrogate import SurrogateFunctionBase as SurrogateFunctionBase
    from ._own.surrogate import heaviside as heaviside
