"""The neurons of SpikingJelly 2.0 under their names, run by spikelet.

``neuron`` has spikelet's neurons. Where SpikingJelly is installed they derive from its classes, and ``surrogate``, ``functional``
and ``layer`` are SpikingJelly's own with what its version 1 had more; without it they are small modules with the same names.

Examples
--------
>>> import torch
>>> from spikelet.torch.compat.spikingjelly import functional, layer, neuron, surrogate
>>> net = torch.nn.Sequential(layer.Linear(4, 3), neuron.LIFNode(tau=2.0, surrogate_function=surrogate.ATan()))
>>> functional.set_step_mode(net, "m")
>>> net(torch.rand(8, 2, 4)).shape
torch.Size([8, 2, 3])
>>> functional.reset_net(net)
"""

from . import functional, layer, neuron, surrogate

__all__ = ["functional", "layer", "neuron", "surrogate"]
