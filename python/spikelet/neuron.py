"""Neurons.

The classes are made from the declarations of the engine: their names are in `__all__`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._part import Neuron, SurrogateLike, Trainable
from ._registry import lazy, members

__all__, __getattr__, __dir__ = lazy(globals(), members("neurons"))
