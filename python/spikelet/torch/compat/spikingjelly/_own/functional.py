"""Functions over all modules of a network."""

from __future__ import annotations

from torch import nn


def reset_net(net: nn.Module) -> None:
    """Sets the states of all neurons back."""
    for module in net.modules():
        if callable(getattr(module, "reset", None)):
            module.reset()


def detach_net(net: nn.Module) -> None:
    """Detaches the states of all neurons from the graph."""
    for module in net.modules():
        if callable(getattr(module, "detach", None)):
            module.detach()


def set_step_mode(net: nn.Module, step_mode: str) -> None:
    """Sets the step mode of all modules outside of containers that fix it."""
    from .layer import SeqToANNContainer

    if hasattr(net, "step_mode"):
        net.step_mode = step_mode
    if not isinstance(net, SeqToANNContainer):
        for child in net.children():
            set_step_mode(child, step_mode)
