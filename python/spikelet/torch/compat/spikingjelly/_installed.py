"""The installed SpikingJelly, if there is one with the module layout of version 2."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Optional


def find(name: str) -> Optional[ModuleType]:
    """The module `name` of SpikingJelly's ``activation_based``, or None without SpikingJelly 2."""
    try:
        base = importlib.import_module("spikingjelly.activation_based.base")
        # Version 1 has modules without explicit states.
        if not hasattr(base.MemoryModule, "functional_forward"):
            return None
        return importlib.import_module(f"spikingjelly.activation_based.{name}")
    except ImportError:
        return None
