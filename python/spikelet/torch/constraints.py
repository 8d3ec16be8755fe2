"""What layers with delays need beside an optimizer: limits of parameters, and widths that shrink."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .. import _native
from ._layer import Layer

__all__ = ["DelayWidth", "register_constraints"]


def _constrained(net: nn.Module) -> list[Any]:
    layers = [module for module in net.modules() if isinstance(module, Layer) and hasattr(module, "clamp_parameters")]
    # Recurrent connections have delays if they are asked for.
    return [layer for layer in layers if getattr(layer, "max_delay", 0) is not None]


def register_constraints(net: nn.Module, optimizer: torch.optim.Optimizer) -> Any:
    """Let each step of an optimizer limit the parameters of a network, such as the delays of its layers.

    Parameters
    ----------
    net : Module
        The network, or a layer.
    optimizer : Optimizer
        Its optimizer.

    Returns
    -------
    handle : RemovableHandle
        `handle.remove()` ends it.

    Examples
    --------
    >>> import torch
    >>> import spikelet.torch as st
    >>> net = torch.nn.Sequential(st.Dcls1d(4, 3, kernel_size=7), st.Lif())
    >>> optimizer = torch.optim.SGD(net.parameters(), lr=100.0)
    >>> _ = st.register_constraints(net, optimizer)
    >>> net(torch.rand(9, 2, 4)).sum().backward()
    >>> optimizer.step()
    >>> bool(net[0].position.abs().max() <= 3)
    True
    """
    layers = _constrained(net)
    if not layers:
        raise ValueError(
            f"register_constraints: {type(net).__name__} has no layer with limited parameters; the layers with learned delays have"
        )
    trained = {id(param) for group in optimizer.param_groups for param in group["params"]}
    if not any(id(param) in trained for layer in layers for param in layer.parameters()):
        raise ValueError("register_constraints: the optimizer has no parameter of these layers; give that of the network")

    def clamp(*_: Any) -> None:
        for layer in layers:
            layer.clamp_parameters()

    return optimizer.register_step_post_hook(clamp)


class DelayWidth:
    """The width of the kernels of all layers with learned delays of a network, which shrinks over training.

    The width is geometric from `start` to `end` over the first `epochs` epochs, linear if one of them is 0, and constant from
    there. Call `step()` after each epoch, as of a scheduler of PyTorch.

    Parameters
    ----------
    net : Module
        The network, or a layer.
    start, end : float
        The widths at the first epoch, and at epoch `epochs`.
    epochs : int
        The number of epochs over which the width changes.

    Examples
    --------
    >>> import torch
    >>> import spikelet.torch as st
    >>> net = torch.nn.Sequential(st.Dcls1d(4, 3, kernel_size=25), st.Lif())
    >>> width = st.DelayWidth(net, 12.0, 0.23, epochs=37)
    >>> float(net[0].delay_width), width.step() < 12.0
    (12.0, True)
    """

    def __init__(self, net: nn.Module, start: float, end: float, epochs: int) -> None:
        self._net = net
        if not self._buffers():
            raise ValueError(f"DelayWidth: {type(net).__name__} has no layer with a width; give a network with learned delays")
        if not (start >= 0 and end >= 0 and epochs >= 1):
            raise ValueError(f"DelayWidth: start is {start}, end {end} and epochs {epochs}; give widths of at least 0 and epochs")
        self._schedule = (start, end, epochs)
        self.epoch = 0
        self._set()

    def _buffers(self) -> list[torch.Tensor]:
        # They are other tensors after the network is moved to a device.
        return [value for name, value in self._net.named_buffers() if name.split(".")[-1].endswith("delay_width")]

    def _set(self) -> float:
        width = _native.delay_width(*self._schedule, self.epoch)
        for buffer in self._buffers():
            buffer.fill_(width)
        return width

    def step(self) -> float:
        """Begin the next epoch.

        Returns
        -------
        width : float
            The new width.
        """
        self.epoch += 1
        return self._set()

    def state_dict(self) -> dict[str, int]:
        """Return the epoch."""
        return {"epoch": self.epoch}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Set the epoch, and the width of it."""
        self.epoch = state["epoch"]
        self._set()
