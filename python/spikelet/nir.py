"""Graphs of the Neuromorphic Intermediate Representation (NIR): files, simulation, comparison.

Examples
--------
>>> net = spikelet.Sequential(spikelet.Linear(4, 3), spikelet.Lif(), input=(4,))
>>> notes = spikelet.nir.write(net, tmp_path / "net.nir")
>>> graph = spikelet.nir.read(tmp_path / "net.nir")
>>> [node["type"] for node in graph.nodes.values()]
['Affine', 'LIF', 'Input', 'Output']
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _native
from ._arrays import as_float
from ._network import Network, PathLike

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

__all__ = ["Diff", "Graph", "Simulation", "diff", "read", "write"]

#: The choices that NIR does not define.
CHOICES = ("dt", "discretization", "reset", "reset_delay", "fires", "feedback", "v_start", "convention", "dtype", "device")


@dataclass(frozen=True, eq=False)
class Simulation(Mapping[str, "Array"]):
    """Sequences of a graph that ran: a mapping of names and arrays.

    Attributes
    ----------
    sequences : dict of str to numpy.ndarray
        `NODE/out` of each output, `[T, N, …]`; with `record="all"` of all nodes, and potentials `NODE/v` and `NODE/h`.
    semantics : str
        The choices with which it ran.
    warnings : list of str
        What is doubtful in the graph.
    """

    sequences: dict[str, Array]
    semantics: str
    warnings: list[str]

    def __getitem__(self, name: str) -> Array:
        return self.sequences[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.sequences)

    def __len__(self) -> int:
        return len(self.sequences)

    def __repr__(self) -> str:
        return f"<Simulation: {', '.join(self)}>"


class Graph:
    """A graph of typed nodes. Graphs are made by `read`, and by `Graph.of` from a network.

    Examples
    --------
    >>> graph = spikelet.nir.Graph.of(spikelet.Sequential(spikelet.Lif(), input=(2,)))
    >>> graph.simulate({"input": np.ones((3, 1, 2))})["output/out"].shape
    (3, 1, 2)
    """

    def __init__(self, native: _native.Graph, notes: list[str] | None = None) -> None:
        if not isinstance(native, _native.Graph):
            raise TypeError("Graph: use `spikelet.nir.read(path)` or `Graph.of(net)`")
        self._native = native
        self.notes = notes or []

    @classmethod
    def of(cls, net: Network, *, dt: float = 1e-3, approximate: bool = False) -> Graph:
        """The graph of a network with its weights.

        Parameters
        ----------
        net : Network
            The network.
        dt : float
            The length of a step in seconds.
        approximate : bool
            Whether neurons that NIR cannot express become neurons that are close to them.

        Returns
        -------
        Graph
            Its `notes` say what was changed.
        """
        native, notes = _native.Graph.of_model(net._model, dt, approximate)
        return cls(native, notes)

    @property
    def nodes(self) -> dict[str, dict[str, Any]]:
        """The nodes by name: `type`, and `shape` of inputs and outputs."""
        nodes = json.loads(self._native.describe())["nodes"]
        return {node.pop("name"): node for node in nodes}

    @property
    def edges(self) -> list[tuple[str, str]]:
        """The edges: pairs of names."""
        return [(start, end) for start, end in json.loads(self._native.describe())["edges"]]

    def write(self, path: PathLike) -> None:
        """Writes a file, which h5py and the package nir read.

        Parameters
        ----------
        path : path
            A `.nir` file, which is replaced.
        """
        self._native.write(os.fspath(path))

    def simulate(self, inputs: Mapping[str, Any] | Any, *, record: str = "output", **choices: Any) -> Simulation:
        """Runs the graph.

        Parameters
        ----------
        inputs : mapping or array_like
            Sequences `[T, N, …]` by the names of inputs; an array is that of the only input.
        record : str
            `"output"`, or `"all"` nodes.
        **choices
            `dt`, `discretization`, `reset`, `reset_delay`, `fires`, `feedback`, `v_start`, `convention`, `dtype`
            (`"f32"` or `"f64"`), `device`.

        Returns
        -------
        Simulation
            The sequences.
        """
        sequences, semantics, warnings = self._native.simulate(
            _inputs(self, inputs), json.dumps({**_choices(choices), "record": record})
        )
        return Simulation(sequences, semantics, warnings)

    def __repr__(self) -> str:
        return f"<Graph of {len(self.nodes)} nodes>"


def _choices(given: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [name for name in given if name not in CHOICES]
    if unknown:
        raise TypeError(f"nir: there is no choice `{unknown[0]}`\n  help: choices: {', '.join(CHOICES)}")
    return {name: value for name, value in given.items() if value is not None}


def _inputs(graph: Graph | None, inputs: Mapping[str, Any] | Any) -> dict[str, Array]:
    if isinstance(inputs, Mapping):
        return {str(name): as_float(x, str(name)) for name, x in inputs.items()}
    if graph is None:
        return {"input": as_float(inputs, "inputs")}
    names = [name for name, node in graph.nodes.items() if node["type"] == "Input"]
    if len(names) != 1:
        raise ValueError(f"inputs: the graph has the inputs {', '.join(names)}\n  help: give a dictionary")
    return {names[0]: as_float(inputs, "inputs")}


def read(path: PathLike) -> Graph:
    """Reads a file.

    Parameters
    ----------
    path : path
        A `.nir` file of any version.

    Returns
    -------
    Graph
        The graph.
    """
    return Graph(_native.Graph.read(os.fspath(path)))


def write(net: Network | Graph, path: PathLike, *, dt: float = 1e-3, approximate: bool = False) -> list[str]:
    """Writes a network with its weights as a graph.

    Parameters
    ----------
    net : Network or Graph
        The network.
    path : path
        A `.nir` file, which is replaced.
    dt : float
        The length of a step in seconds.
    approximate : bool
        Whether neurons that NIR cannot express become neurons that are close to them.

    Returns
    -------
    list of str
        What was changed.
    """
    graph = net if isinstance(net, Graph) else Graph.of(net, dt=dt, approximate=approximate)
    graph.write(path)
    return graph.notes


@dataclass(frozen=True)
class Diff:
    """The result of a comparison.

    Attributes
    ----------
    equal : bool
        Whether nothing differs.
    first : dict or None
        The first element that differs: layers, time step, sample, neuron, both values.
    layers : list of dict
        The compared layers: elements, those that differ, the first step, the largest difference.
    cause : dict or None
        The change that explains the difference: `causes` and `change`.
    tried : list of dict
        All changes that were tried.
    only_a, only_b : list of str
        Layers that the other does not have.
    """

    equal: bool
    first: dict[str, Any] | None
    layers: list[dict[str, Any]]
    only_a: list[str]
    only_b: list[str]
    cause: dict[str, Any] | None
    tried: list[dict[str, Any]]

    def __bool__(self) -> bool:
        return not self.equal

    def __repr__(self) -> str:
        if self.first is None:
            return f"<Diff: equal, {sum(layer['elements'] for layer in self.layers)} elements>"
        first = self.first
        text = f"first difference: layer {first['layer_a']}, step {first['step']}, neuron {first['neuron']}: " \
               f"{first['a']:g} and {first['b']:g}"
        return f"<Diff: {text}{'' if self.cause is None else '; cause: ' + self.cause['change']}>"


def diff(
    first: Any,
    second: Any,
    inputs: Any = None,
    *,
    choices: Mapping[str, Any] | None = None,
    second_choices: Mapping[str, Any] | None = None,
    tolerance: float = 1e-5,
    names: Mapping[str, str] | None = None,
    find_cause: bool = True,
) -> Diff:
    """The first time step, layer and neuron in which two networks differ, and the cause.

    Parameters
    ----------
    first, second : Graph, Network, path or mapping
        Graphs and networks, which run; files of graphs or recorded sequences; or sequences by name, such as `"lif/out"`.
    inputs : mapping or array_like, optional
        Sequences `[T, N, …]` by the names of inputs; not needed for two recordings.
    choices, second_choices : mapping, optional
        The choices of time steps of each, as in `Graph.simulate`; those of the second are by default the same.
    tolerance : float
        Values differ if |a − b| > tolerance · max(1, |a|).
    names : mapping of str to str, optional
        Names of layers that correspond, in the first and in the second.
    find_cause : bool
        Whether changes are tried.

    Returns
    -------
    Diff
        False if they are equal.

    Examples
    --------
    >>> graph = spikelet.nir.Graph.of(spikelet.Sequential(spikelet.If(), input=(1,)))
    >>> x = np.array([0.5, 0.5, 0.25]).reshape(3, 1, 1)
    >>> found = spikelet.nir.diff(graph, graph, x, choices={"fires": "gt"}, second_choices={"fires": "ge"})
    >>> found.first["step"], found.cause["causes"]
    (1, ['fires'])
    """
    sides = [_side(first), _side(second)]
    given = dict(choices or {})
    options = tuple(
        json.dumps({**_choices(own), "record": "all"}) for own in (given, given if second_choices is None else dict(second_choices))
    )
    graph = next((side for side in (first, second) if isinstance(side, Graph)), None)
    if graph is None:
        graph = next((Graph(side) for side in sides if isinstance(side, _native.Graph)), None)
    arrays = {} if inputs is None else _inputs(graph, inputs)
    text = _native.nir_diff(
        sides[0], sides[1], arrays, (options[0], options[1]), tolerance, list((names or {}).items()), find_cause
    )
    return Diff(**json.loads(text))


def _side(given: Any) -> Any:
    if isinstance(given, Graph):
        return given._native
    if isinstance(given, Network):
        return Graph.of(given)._native
    if isinstance(given, Mapping):
        return {str(name): as_float(x, str(name)) for name, x in given.items()}
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    raise TypeError(
        f"diff: {type(given).__name__} was given\n  help: give a graph, a network, a file, or sequences by name"
    )
