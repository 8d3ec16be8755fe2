"""Functions over all modules of a network."""

from __future__ import annotations

from typing import Any

from torch import nn

__all__ = ["detach_net", "reset_net", "set_step_mode"]


def reset_net(net: nn.Module) -> None:
    """Sets the states of all neurons back."""
    for module in net.modules():
        reset: Any = getattr(module, "reset", None)
        if callable(reset):
            reset()


def detach_net(net: nn.Module) -> None:
    """Detaches the states of all neurons from the graph."""
    for module in net.modules():
        detach: Any = getattr(module, "detach", None)
        if callable(detach):
            detach()


def set_step_mode(net: nn.Module, step_mode: str) -> None:
    """Sets the step mode of all modules outside of containers that fix it."""
    from .layer import SeqToANNContainer

    if hasattr(net, "step_mode"):
        setattr(net, "step_mode", step_mode)
    if not isinstance(net, SeqToANNContainer):
        for child in net.children():
            set_step_mode(child, step_mode)
