"""Spiking neurons as operators and modules of PyTorch.

Sequences are `[T, N, ...]`; state is a value. A neuron is a module without hidden state:

>>> import torch
>>> import spikelet.torch as st
>>> lif = st.Lif(tau=2.0, surrogate=st.surrogate.Atan())
>>> x = torch.rand(4, 2, 8)
>>> spikes = lif(x)                      # from rest
>>> spikes, state = lif(x, None)         # and the state after the last step
>>> spikes, state = lif(x, state)        # continued
>>> tuple(spikes.shape), tuple(state.v.shape)
((4, 2, 8), (2, 8))

`spikelet.Lif` is the declaration of the neuron, with the same arguments; `surrogate` and `Trainable` are those of `spikelet`.
All time steps are one operator, with fused kernels forward and backward, on the CPU and on NVIDIA GPUs. `neuron` makes a neuron
from an equation in Python.

CUDA graphs. Kernels are compiled and loaded at the first call with a shape, which a capture does not allow: run the module once
before it, or call `warmup`. Under `torch.compile(mode="reduce-overhead")` the forward pass of a training step is recorded anew
as long as its backward pass has not run: call `backward()` after each forward pass, run an evaluation under
`torch.no_grad()`, or call `torch.compiler.cudagraph_mark_step_begin()` before each step.
"""

from ._libraries import check_version

# The other modules use what older versions of torch do not have.
check_version()

from typing import TYPE_CHECKING, Any

from .. import surrogate
from .._part import Trainable
from . import constraints, delays, expression, neurons
from ._layer import Layer, Neuron
from ._own import neuron
from ._recurrent import Recurrent
from ._warmup import warmup
from .compat import convert_
from .constraints import *
from .delays import *

if TYPE_CHECKING:
    from .neurons import *

__all__ = ["Layer", "Neuron", "Recurrent", "Trainable", "convert_", "expression", "neuron", "surrogate", "warmup"]
__all__ += constraints.__all__
__all__ += delays.__all__
__all__ += neurons.__all__


def __getattr__(name: str) -> Any:
    if name in neurons.__all__:
        return globals().setdefault(name, getattr(neurons, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *neurons.__all__})
