"""Functions over networks: SpikingJelly's own where it is installed, otherwise the most common ones.

``set_backend`` of SpikingJelly 1 is accepted: it has no effect.
"""

from __future__ import annotations

from typing import Optional

from torch import nn

from . import _installed

_peer = _installed.find("functional")

if _peer is not None:
    from spikingjelly.activation_based.functional import *  # noqa: F403
else:
    from ._own.functional import *  # noqa: F403


def set_backend(net: nn.Module, backend: str, instance: Optional[type] = None) -> None:
    """Accepts the call of SpikingJelly 1; spikelet's neurons have one implementation for each device."""
