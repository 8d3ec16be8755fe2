"""Deep spiking neural networks: fused neurons for PyTorch, and a compiled engine for the CPU and NVIDIA GPUs.

`spikelet.torch` has neurons as operators and modules of PyTorch; it is the only part that imports torch.
"""

from ._native import __version__

__all__ = ["__version__"]
