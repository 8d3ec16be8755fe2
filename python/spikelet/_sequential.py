"""Layers in sequence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from . import _native
from ._network import Network
from ._part import LayerLike, Neuron, layer_spec

__all__ = ["Sequential"]


class Sequential(Network):
    """Layers that run one after the other.

    Parameters
    ----------
    *layers : Layer, Neuron, str, mapping or Sequential
        Layers and neurons; names and tables as in files are layers, too.
    input : sequence of int, optional
        The sizes of an input at a time step, such as `(1, 28, 28)`. By default those of the first samples.
    neuron : Neuron, str or mapping, optional
        The neuron of layers without their own; by default `Lif()`.
    name : str
        The name, for titles and folders.
    device : str
        The device of the weights: `"cpu"`, `"cuda"`, `"cuda:1"` or `"auto"`.
    seed : int
        The seed of the initial weights.

    Examples
    --------
    >>> net = spikelet.Sequential(
    ...     spikelet.Flatten(), spikelet.Linear(784, 10), spikelet.Lif(tau=4.0), input=(1, 28, 28))
    >>> print(net)
    layer  kind     output           parameters
    input           [1, 1, 1, 28, 28]
    ...
    """

    def __init__(
        self,
        *layers: LayerLike | Sequential,
        input: Sequence[int] | None = None,
        neuron: Neuron | str | Mapping[str, Any] | None = None,
        name: str = "sequential",
        device: str = "auto",
        threads: int = 0,
        seed: int = 0,
    ) -> None:
        self._start(device, threads, seed)
        if len(layers) == 1 and isinstance(layers[0], (list, tuple)):
            layers = tuple(layers[0])
        if not layers:
            raise ValueError("Sequential: there are no layers\n  help: give at least one, such as `spikelet.Linear(784, 10)`")
        self._layers = list(layers)
        specs = [layer_spec(layer) for layer in self._layers]
        self._spec: dict[str, Any] = {"name": name, "layers": specs}
        if neuron is not None:
            self._spec["neuron"] = neuron.spec() if isinstance(neuron, Neuron) else layer_spec(neuron)
        self._given = None if input is None else tuple(int(size) for size in input)
        if self._given is not None:
            self._make(self._given)

    def _make(self, sizes: tuple[int, ...]) -> None:
        self._made = _native.Network.from_layers(json.dumps({**self._spec, "input": list(sizes)}))

    def _bind(self, sizes: tuple[int, ...]) -> None:
        if self._made is None:
            self._make(sizes)

    @property
    def name(self) -> str:
        name: str = self._spec["name"]
        return name

    def spec(self) -> dict[str, Any]:
        if self._made is not None:
            return super().spec()
        return dict(self._spec)

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, index: int) -> LayerLike | Sequential:
        return self._layers[index]

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(layer).replace("\n", "\n    ") for layer in self._layers)
        end = "" if self._given is None else f",\n    input={self._given}"
        return f"Sequential(\n    {parts}{end},\n)"
