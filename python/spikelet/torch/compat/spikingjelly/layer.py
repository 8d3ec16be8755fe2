"""Layers without states: SpikingJelly's own."""

from __future__ import annotations

from spikingjelly.activation_based.layer import *  # noqa: F403
