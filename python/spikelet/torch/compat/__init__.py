"""Drop-in neurons for networks that are written with SpikingJelly, snnTorch or Norse.

Each subpackage has the peer's names, signatures, defaults and state handling; spikes and gradients are the peer's. Change one
import of a script::

    from spikelet.torch.compat.spikingjelly import neuron, surrogate, functional, layer
    import spikelet.torch.compat.snntorch as snn
    import spikelet.torch.compat.norse as norse

:func:`convert_` exchanges the neurons of a network that exists, for example a loaded checkpoint.
"""

from ._convert import ConversionReport, convert_

__all__ = ["ConversionReport", "convert_"]
