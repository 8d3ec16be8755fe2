"""What all surrogate gradients have."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

__all__ = ["Scaled", "Surrogate"]


@dataclasses.dataclass(frozen=True)
class Surrogate:
    """A surrogate gradient."""

    name: ClassVar[str]

    def spec(self) -> dict[str, Any]:
        """Return the name and constants, as definitions have them."""
        return {"name": self.name, **dataclasses.asdict(self)}

    def __mul__(self, factor: float) -> Scaled:
        """Return the surrogate with its derivative multiplied by a factor."""
        return Scaled(self, float(factor))

    __rmul__ = __mul__


@dataclasses.dataclass(frozen=True)
class Scaled(Surrogate):
    """A surrogate whose derivative is multiplied by a factor: `2.0 * Atan()`."""

    surrogate: Surrogate
    factor: float

    def spec(self) -> dict[str, Any]:
        """Return the name and constants, as definitions have them."""
        given = self.surrogate.spec()
        return {**given, "factor": self.factor * float(given.get("factor", 1.0))}
