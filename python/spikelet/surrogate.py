"""Surrogate gradients: smooth functions whose derivatives replace that of the step.

The classes are made from the declarations of the engine: their names are in `__all__`.
"""

from __future__ import annotations

from ._part import Scaled, Surrogate
from ._registry import lazy, members

__all__, __getattr__, __dir__ = lazy(globals(), members("surrogates"))
__all__ += ["Scaled", "Surrogate"]
