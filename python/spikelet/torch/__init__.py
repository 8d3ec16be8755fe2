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

All time steps are one operator, with fused kernels forward and backward, on the CPU and on NVIDIA GPUs. `functional` has the
same neurons as functions, `surrogate` the surrogate gradients.
"""

from . import expression, functional, neurons, surrogate
from ._layer import Layer, Learn, Neuron
from ._own import neuron
from ._recurrent import Recurrent
from ._warmup import warmup
from .compat import convert_
from .neurons import *

__all__ = ["Layer", "Learn", "Neuron", "Recurrent", "convert_", "expression", "functional", "neuron", "surrogate", "warmup"]
__all__ += neurons.__all__
