"""Compilation of kernels before they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

__all__ = ["warmup"]


def warmup(
    module: nn.Module,
    shape: Sequence[int],
    *,
    dtype: torch.dtype = torch.float32,
    device: Any = "cpu",
    backward: bool = True,
) -> None:
    """Compile and load the kernels of a module for inputs of a shape.

    A CUDA graph can only record kernels that are loaded: call this, or run the module once, before the capture.

    Parameters
    ----------
    module : nn.Module
        A neuron, or a module with neurons.
    shape : sequence of int
        The shape of the input.
    dtype, device
        Those of the input.
    backward : bool
        Whether the kernels of the backward pass are compiled too.
    """
    x = torch.zeros(tuple(shape), dtype=dtype, device=device, requires_grad=backward)
    with torch.set_grad_enabled(backward):
        made = module(x)
    outputs = [t for t in (made if isinstance(made, tuple) else (made,)) if isinstance(t, torch.Tensor)]
    differentiable = [t.float().sum() for t in outputs if t.requires_grad]
    if backward and differentiable:
        inputs = [x, *(p for p in module.parameters() if p.requires_grad)]
        torch.autograd.grad(sum(differentiable[1:], differentiable[0]), inputs, allow_unused=True)
