"""The neurons of SpikingJelly 2.0 under their names, run by spikelet.

``neuron`` has spikelet's neurons, which derive from SpikingJelly's classes; ``surrogate``, ``functional`` and ``layer`` are
SpikingJelly's own with what its version 1 had more. SpikingJelly 2 must be installed.

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

try:
    from spikingjelly.activation_based.base import MemoryModule as _Module
except ImportError as error:
    raise ImportError(
        "spikelet.torch.compat.spikingjelly derives its neurons from SpikingJelly's, which is not installed: "
        "`pip install spikingjelly>=2`, or use spikelet.torch's own modules"
    ) from error

if not hasattr(_Module, "functional_forward"):
    raise ImportError(
        "spikelet.torch.compat.spikingjelly derives its neurons from those of SpikingJelly 2, an older one is installed: "
        "`pip install --upgrade spikingjelly`"
    )

from . import functional, layer, neuron, surrogate

__all__ = ["functional", "layer", "neuron", "surrogate"]
