"""Layers with delays.

`Dcls1d` learns a delay for each synapse, `AxonalDelay` one for each channel; the delays of `DelayedLinear` are fixed. Those
of recurrent connections are learned by `Recurrent`. All time steps are one operator, forward and backward.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from ._layer import NO_STATE, FileLayer

__all__ = ["AxonalDelay", "Dcls1d", "DelayState", "DelayedLinear"]


class DelayState(NamedTuple):
    """State of a layer with delays."""

    #: The input of the last steps, the oldest first, `[N, delay, in]`. Empty for a layer without delays.
    delay_line: Tensor | None = None


class _Delays(FileLayer):
    """A layer whose only state is the line of delayed inputs."""

    State: Any = DelayState


class Dcls1d(_Delays):
    """A fully connected layer with a learned delay for each synapse, `[T, N, in]` to `[T, N, out]`.

    Delays are 0 to `kernel_size - 1` steps. The delay of a synapse is `kernel_size - 1 - (position + kernel_size // 2)`: the
    largest position is no delay. In training a synapse reads the steps around its delay, weighted by a kernel; in evaluation
    (`eval()`) positions are rounded, and each synapse reads one step.

    Attributes
    ----------
    weight, position : Parameter [out, in, kernel_count]
        `register_constraints(net, optimizer)` limits positions to the kernel after each step of an optimizer.
    bias : Parameter [out]
        With `bias=True`.
    delay_width : buffer
        The width of the kernels, for versions with a width: start wide and shrink it over training with `DelayWidth`.

    Parameters
    ----------
    in_features, out_features : int
        The number of inputs and outputs.
    kernel_size : int
        The number of steps that delays cover.
    kernel_count : int
        The number of weights and delays of each pair of neurons.
    version : {"gaussian", "max", "v1"}
        The kernel in training: a Gaussian, a triangle of half-width `width + 1`, or a triangle of half-width 1.
    width : float
        The width of the kernels at the start.
    bias : bool
        Whether there is a bias.

    Notes
    -----
    Hammouamri et al., Learning delays in spiking neural networks using dilated convolutions with learnable spacings, ICLR 2024;
    the package dcls, `Dcls3_1_1d`, with `kernel_size - 1` zeros before the sequence.

    Examples
    --------
    >>> import torch
    >>> import spikelet.torch as st
    >>> layer = st.Dcls1d(140, 64, kernel_size=25)
    >>> tuple(layer(torch.rand(50, 2, 140)).shape)
    (50, 2, 64)
    >>> y, state = layer(torch.rand(50, 2, 140), None)
    >>> tuple(state.delay_line.shape)
    (2, 24, 140)
    """

    weight: Tensor
    position: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        kernel_size: int,
        *,
        kernel_count: int = 1,
        version: Literal["gaussian", "max", "v1"] = "gaussian",
        width: float = 0.23,
        bias: bool = False,
    ) -> None:
        layer = {"dcls": out_features, "kernel_size": kernel_size, "kernel_count": kernel_count, "version": version}
        super().__init__({**layer, "width": width, "bias": bias}, in_features)
        self.in_features, self.out_features, self.kernel_size = in_features, out_features, kernel_size
        self.kernel_count, self.version = kernel_count, version

    @torch.no_grad()
    def clamp_parameters(self) -> None:
        """Limit the positions to the kernel."""
        half = self.kernel_size // 2
        self.position.clamp_(-half, self.kernel_size - 1 - half)

    @property
    def delay(self) -> Tensor:
        """The delays in time steps, `[out, in, kernel_count]`."""
        return self.kernel_size - 1 - self.kernel_size // 2 - self.position.detach()

    def extra_repr(self) -> str:
        """Return the sizes that are printed with the module."""
        sizes = f"{self.in_features}, {self.out_features}, kernel_size={self.kernel_size}"
        return f"{sizes}, kernel_count={self.kernel_count}, version={self.version!r}"


class DelayedLinear(_Delays):
    """A fully connected layer with a fixed delay for each synapse, `[T, N, in]` to `[T, N, out]`.

    Attributes
    ----------
    weight : Parameter [out, in]
    bias : Parameter [out]
        With `bias=True`.
    delay : buffer [out, in]
        The delays, drawn from 0 to `max_delay`; they are rounded to time steps. Set others with `layer.delay.copy_(...)`.

    Parameters
    ----------
    in_features, out_features : int
        The number of inputs and outputs.
    max_delay : int
        The longest delay in time steps.
    bias : bool
        Whether there is a bias.

    Examples
    --------
    >>> import torch
    >>> import spikelet.torch as st
    >>> layer = st.DelayedLinear(3, 2, max_delay=5)
    >>> layer.weight.data.fill_(1.0), layer.delay.fill_(4.0)    # doctest: +ELLIPSIS
    (...)
    >>> layer(torch.ones(6, 1, 3))[:, 0, 0]
    tensor([0., 0., 0., 0., 3., 3.], grad_fn=<SelectBackward0>)
    """

    weight: Tensor
    delay: Tensor

    def __init__(self, in_features: int, out_features: int, max_delay: int, *, bias: bool = False) -> None:
        super().__init__({"delayed-linear": out_features, "max_delay": max_delay, "bias": bias}, in_features)
        self.in_features, self.out_features, self.max_delay = in_features, out_features, max_delay

    def extra_repr(self) -> str:
        """Return the sizes that are printed with the module."""
        return f"{self.in_features}, {self.out_features}, max_delay={self.max_delay}"


class AxonalDelay(_Delays):
    """A learned delay for each channel, the same for all its synapses: `[T, N, C, ...]` to the same shape.

    Delays between two steps are interpolated; they are clamped to 0 and `max_delay`, and have no gradient outside.

    Attributes
    ----------
    delay : Parameter [C], or a buffer with `trainable=False`
        The delays in time steps, drawn from 0 to `max_delay`.

    Parameters
    ----------
    channels : int
        The number of channels.
    max_delay : int
        The longest delay in time steps.
    sigma : float, optional
        The standard deviation of a Gaussian over all steps around a delay; None interpolates the two steps beside it.
    trainable : bool
        Whether delays are trained.

    Notes
    -----
    The state is `[N, ..., max_delay, C]`. snnTorch's `SynapticDelay`.

    Examples
    --------
    >>> import torch
    >>> import spikelet.torch as st
    >>> layer = st.AxonalDelay(2, max_delay=3)
    >>> _ = layer.delay.data.copy_(torch.tensor([0.0, 1.5]))
    >>> layer(torch.ones(4, 1, 2))[:, 0].tolist()
    [[1.0, 0.0], [1.0, 0.5], [1.0, 1.0], [1.0, 1.0]]
    """

    delay: Tensor

    def __init__(self, channels: int, max_delay: int, *, sigma: float | None = None, trainable: bool = True) -> None:
        layer = {"axonal-delay": max_delay, "trainable": trainable, **({} if sigma is None else {"sigma": sigma})}
        super().__init__(layer, channels)
        self.channels, self.max_delay, self.sigma, self.trainable = channels, max_delay, sigma, trainable

    @torch.no_grad()
    def clamp_parameters(self) -> None:
        """Limit the delays to 0 to `max_delay`."""
        self.delay.clamp_(0, self.max_delay)

    def forward(self, x: Tensor, state: Any = NO_STATE, time_steps: int = 0) -> Any:
        """Run a sequence.

        Parameters
        ----------
        x : Tensor [T, N, C, ...]
            The input.
        state : DelayState, optional
            The state before the first step. None starts from zeros.
        time_steps : int
            Repeats an input of one step, `[1, N, C, ...]`, without a copy.

        Returns
        -------
        y : Tensor [T, N, C, ...]
            The output.
        state : DelayState
            The state after the last step, if `state` was given.
        """
        if x.dim() <= 3:
            return super().forward(x, state, time_steps)
        last = x.movedim(2, -1)
        if state is not NO_STATE and state is not None and state[0] is not None:
            line = state[0]
            expected = (*last.shape[1:-1], self.max_delay, self.channels)
            if line.shape != expected:
                raise ValueError(f"delay_line has shape {list(line.shape)}, expected {list(expected)}")
            state = DelayState(line.reshape(-1, self.max_delay, self.channels))
        made = super().forward(last.reshape(x.shape[0], -1, x.shape[2]), state, time_steps)
        y = (made if state is NO_STATE else made[0]).reshape(-1, *last.shape[1:]).movedim(-1, 2)
        if state is NO_STATE:
            return y
        line = made[1].delay_line
        return y, DelayState(None if line is None else line.reshape(*last.shape[1:-1], *line.shape[1:]))

    def extra_repr(self) -> str:
        """Return the sizes that are printed with the module."""
        return f"{self.channels}, max_delay={self.max_delay}, sigma={self.sigma}, trainable={self.trainable}"
