"""PyTorch's layers with a step mode: in mode ``'m'`` they take sequences ``[T, N, ...]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .base import MemoryModule, MultiStepModule, StepModule

__all__ = [
    "AdaptiveAvgPool2d", "AvgPool1d", "AvgPool2d", "BatchNorm1d", "BatchNorm2d", "Conv1d", "Conv2d", "Conv3d", "Dropout",
    "Flatten", "GroupNorm", "Linear", "MaxPool1d", "MaxPool2d", "SeqToANNContainer",
]


def _merged(call: Any, x: Tensor) -> Tensor:
    """Calls a stateless module on all steps as one batch."""
    y = call(x.flatten(0, 1))
    return y.view(*x.shape[:2], *y.shape[1:])


if TYPE_CHECKING:
    # The layer that it is mixed into.
    _Layer = Any
else:
    _Layer = object


class _OverTime(StepModule, _Layer):
    """The forward method of a layer that treats time steps as a batch."""

    def __init__(self, *args: Any, step_mode: str = "s", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.step_mode = step_mode

    def forward(self, input: Tensor) -> Tensor:
        single = super().forward
        return single(input) if self.step_mode == "s" else _merged(single, input)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, step_mode={self.step_mode}"


class Linear(_OverTime, nn.Linear):
    pass


class Conv1d(_OverTime, nn.Conv1d):
    pass


class Conv2d(_OverTime, nn.Conv2d):
    pass


class Conv3d(_OverTime, nn.Conv3d):
    pass


class BatchNorm1d(_OverTime, nn.BatchNorm1d):
    pass


class BatchNorm2d(_OverTime, nn.BatchNorm2d):
    pass


class GroupNorm(_OverTime, nn.GroupNorm):
    pass


class MaxPool1d(_OverTime, nn.MaxPool1d):
    pass


class MaxPool2d(_OverTime, nn.MaxPool2d):
    pass


class AvgPool1d(_OverTime, nn.AvgPool1d):
    pass


class AvgPool2d(_OverTime, nn.AvgPool2d):
    pass


class AdaptiveAvgPool2d(_OverTime, nn.AdaptiveAvgPool2d):
    pass


class Flatten(_OverTime, nn.Flatten):
    pass


class Dropout(MemoryModule):
    """Drops the same elements at all steps until it is reset; in mode ``'m'`` at all steps of a sequence."""

    mask: Optional[Tensor]

    def __init__(self, p: float = 0.5, step_mode: str = "s") -> None:
        super().__init__()
        self.p = p
        self.step_mode = step_mode
        self.register_memory("mask", None)

    def extra_repr(self) -> str:
        return f"p={self.p}"

    def _new_mask(self, x: Tensor) -> Tensor:
        return F.dropout(torch.ones_like(x), self.p, training=True)

    def single_step_forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if not self.training:
            return x
        if self.mask is None:
            self.mask = self._new_mask(x)
        return x * self.mask

    def multi_step_forward(self, x_seq: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return x_seq * self._new_mask(x_seq[0]) if self.training else x_seq


class SeqToANNContainer(nn.Sequential, MultiStepModule):
    """Stateless modules that see all steps of a sequence as one batch."""

    def forward(self, input: Tensor) -> Tensor:
        return _merged(super().forward, input)
