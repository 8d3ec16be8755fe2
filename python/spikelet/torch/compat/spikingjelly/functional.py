"""Functions over networks: SpikingJelly's own.

``set_backend`` of SpikingJelly 1 is accepted: it has no effect.
"""

from __future__ import annotations

from typing import Optional

from spikingjelly.activation_based.functional import *  # noqa: F403
from torch import nn


def set_backend(net: nn.Module, backend: str, instance: Optional[type] = None) -> None:
    """Accepts the call of SpikingJelly 1; spikelet's neurons have one implementation for each device."""
