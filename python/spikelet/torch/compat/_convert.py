"""Exchanges the neurons of a network of a peer for spikelet's."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any, Optional

from torch import nn

# The module of a peer's neurons, and that of the drop-ins.
_PEERS = {
    "spikingjelly": "spikelet.torch.compat.spikingjelly.neuron",
    "snntorch": "spikelet.torch.compat.snntorch",
    "norse": "spikelet.torch.compat.norse",
}


@dataclass
class ConversionReport:
    """What :func:`convert_` did, by the modules' names."""

    replaced: list[tuple[str, str]] = field(default_factory=list)
    """Name of the module and its class."""
    left: list[tuple[str, str, str]] = field(default_factory=list)
    """Name of the module, its class, and why it was left."""
    differs: dict[str, str] = field(default_factory=dict)
    """Of replaced modules that compute something else now: name of the module, and what."""

    def __str__(self) -> str:
        lines = [f"{len(self.replaced)} neuron modules run by spikelet"]
        for name, kind in self.replaced:
            note = f", {self.differs[name]}" if name in self.differs else ""
            lines.append(f"  {name or '(the network)'}: {kind}{note}")
        if self.left:
            lines.append(f"{len(self.left)} neuron modules left")
            lines += [f"  {name or '(the network)'}: {kind}, {why}" for name, kind, why in self.left]
        return "\n".join(lines)


def _peer_of(kind: type) -> Optional[str]:
    """The peer whose neuron a class is."""
    package = kind.__module__.partition(".")[0]
    if package == "spikingjelly":
        is_neuron = ".activation_based.neuron" in kind.__module__
        return package if is_neuron else None
    bases = {base.__name__ for base in kind.__mro__}
    if package == "snntorch":
        return package if "SpikingNeuron" in bases else None
    if package == "norse":
        return package if bases & {"SNN", "SNNCell", "SNNRecurrent", "SNNRecurrentCell"} else None
    return None


def _neuron_under(kind: type) -> Optional[type]:
    """The neuron of a peer that a class of another package derives from."""
    if kind.__module__.partition(".")[0] in ("spikelet", *_PEERS):
        return None
    return next((base for base in kind.__mro__[1:] if _peer_of(base) is not None), None)


def _drop_in(kind: type, peer: str) -> Optional[type]:
    found: Any = getattr(importlib.import_module(_PEERS[peer]), kind.__name__, None)
    is_one = isinstance(found, type) and found is not kind and issubclass(found, kind)
    return found if is_one else None


def convert_(net: nn.Module, verbose: bool = True) -> ConversionReport:
    """Exchanges the neurons of a network of SpikingJelly, snnTorch or Norse for spikelet's, in place.

    Modules stay the same objects: their class changes to the drop-in that derives from it. Parameters, buffers, states, hooks and
    the names of state dicts stay as they are.

    Parameters
    ----------
    net : torch.nn.Module
        The network. It may be a neuron itself.
    verbose : bool
        Whether the report is printed.

    Returns
    -------
    ConversionReport
        The modules that spikelet runs now, and the neurons that were left, with the reasons.

    Raises
    ------
    TypeError
        When `net` is not a module.

    Examples
    --------
    >>> import spikelet.torch, torch
    >>> from spikingjelly.activation_based import layer, neuron
    >>> net = torch.nn.Sequential(layer.Linear(8, 4), neuron.LIFNode(), neuron.LIFNode())
    >>> print(spikelet.torch.convert_(net, verbose=False))
    2 neuron modules run by spikelet
      1: LIFNode
      2: LIFNode
    """
    if not isinstance(net, nn.Module):
        kind = net.__name__ if isinstance(net, type) else type(net).__name__
        raise TypeError(f"net is {kind}; give the network, an instance of torch.nn.Module")
    report = ConversionReport()
    for name, module in net.named_modules():
        kind = type(module)
        peer = _peer_of(kind)
        if peer is None:
            base = _neuron_under(kind)
            if base is not None:
                report.left.append((name, kind.__name__, f"it may have other equations than {base.__name__}"))
            continue
        found = _drop_in(kind, peer)
        if found is None:
            report.left.append((name, kind.__name__, "spikelet.torch has no drop-in for it"))
            continue
        module.__class__ = found
        why = getattr(module, "implementation", "spikelet")
        if why == "spikelet":
            report.replaced.append((name, kind.__name__))
            if hasattr(found, "differs"):
                report.differs[name] = found.differs
        else:
            module.__class__ = kind
            report.left.append((name, kind.__name__, why.partition(": ")[2]))
    if verbose:
        print(report)
    return report
