"""Layers without states: SpikingJelly's own where it is installed, otherwise the most common ones."""

from __future__ import annotations

from . import _installed

_peer = _installed.find("layer")

if _peer is not None:
    from spikingjelly.activation_based.layer import *  # noqa: F403
else:
    from ._own.layer import *  # noqa: F403
