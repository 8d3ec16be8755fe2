"""A peer's module against the drop-in: spikes are identical, gradients within 1e-5 of the largest."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor, nn


def inputs(shape: tuple[int, ...], seed: int, scale: float = 1.0, shift: float = 0.4, ties: bool = True) -> Tensor:
    """Random inputs; with `ties` every third is a multiple of 1/8, so that some potentials are exactly at a threshold."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator) * scale + shift
    rounded = (x * 8).round() / 8
    mask = torch.arange(x.numel()).view(shape) % 3 == 0
    return torch.where(mask, rounded, x) if ties else x


def flat(result: Any) -> list[Tensor]:
    """The tensors of nested tuples and lists."""
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [tensor for part in result for tensor in flat(part)]
    return []


def measure(run: Callable[[nn.Module, Tensor], Any], module: nn.Module, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """The results of a run, and the gradients of a random weighting of them by the input and the parameters."""
    x = x.clone().requires_grad_()
    results = flat(run(module, x))
    generator = torch.Generator().manual_seed(5)
    weighted = [(r, torch.randn(r.shape, generator=generator)) for r in results]
    loss = sum((r * weight).sum() for r, weight in weighted if r.requires_grad)
    parameters = [p for p in module.parameters() if p.requires_grad]
    wanted = [x, *parameters]
    if isinstance(loss, Tensor):
        grads = torch.autograd.grad(loss, wanted, allow_unused=True)
    else:
        grads = [None] * len(wanted)
    return [r.detach() for r in results], [torch.zeros_like(w) if g is None else g for g, w in zip(grads, wanted)]


def assert_same(run: Callable[[nn.Module, Tensor], Any], peer: nn.Module, ours: nn.Module, x: Tensor, what: str = "") -> float:
    """Compares two modules; returns the mean of the peer's spikes."""
    assert getattr(ours, "implementation", "spikelet") == "spikelet", (what, ours.implementation)
    theirs, their_grads = measure(run, peer, x)
    found, grads = measure(run, ours, x)
    assert len(theirs) == len(found), what
    for k, (a, b) in enumerate(zip(theirs, found)):
        assert a.shape == b.shape and a.dtype == b.dtype, (what, k, a.shape, b.shape, a.dtype, b.dtype)
        whole = bool((a == a.round()).all())
        if whole:
            assert torch.equal(a, b), (what, k, int((a != b).sum()), a.numel())
        else:
            largest = max(1.0, a.abs().max().item())
            assert torch.allclose(a, b, rtol=1e-6, atol=1e-6 * largest, equal_nan=True), (what, k, (a - b).abs().max())
    for k, (a, b) in enumerate(zip(their_grads, grads)):
        # The gradient of one number is a sum, whose terms may cancel.
        bound = 1e-5 * max(a.abs().max().item(), 1.0 if a.ndim == 0 else 1e-3)
        assert (a - b).abs().max().item() <= bound, (what, "gradient", k, (a - b).abs().max(), bound)
    spikes = [r for r in theirs if (r == r.round()).all()]
    return sum(r.abs().sum().item() for r in spikes) / max(1, sum(r.numel() for r in spikes))
