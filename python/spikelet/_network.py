"""Networks with their weights."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union, overload

from . import _native
from ._arrays import as_batch, as_float, as_labels, as_numpy, as_samples

if TYPE_CHECKING:
    import numpy.typing as npt

    from .data import Dataset

    Array = npt.NDArray[Any]

__all__ = ["Network", "PathLike", "Plan", "Recording"]

PathLike = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Plan:
    """A compiled program before it is loaded: its kernels and its memory.

    Attributes
    ----------
    text : str
        The kernels, one a line, with their work and memory.
    arena_bytes : int
        The memory of intermediate values.
    buffer_bytes : int
        The memory of parameters, states and inputs.
    kernels : list of dict
        `name`, `layer`, `backward`, `flops` and `bytes` of each kernel.
    """

    text: str
    arena_bytes: int
    buffer_bytes: int
    kernels: list[dict[str, Any]]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        total = self.arena_bytes + self.buffer_bytes
        return f"<Plan of {len(self.kernels)} kernels, {total / 2**20:.1f} MiB>"


@dataclass(frozen=True, eq=False)
class Recording(Mapping[str, "Array"]):
    """Values of layers at every time step.

    It is a mapping, too: `recording["fc.2.spikes"]`, `recording.items()`.

    Attributes
    ----------
    scores : numpy.ndarray
        The scores, `[N, classes]`.
    spikes, potentials, inputs : dict
        The values of each layer by its path, arrays `[T, N, …]`; empty for values that were not asked for.
    """

    scores: Array
    spikes: dict[str, Array]
    potentials: dict[str, Array]
    inputs: dict[str, Array]

    def _all(self) -> dict[str, Array]:
        parts = (("spikes", self.spikes), ("potentials", self.potentials), ("inputs", self.inputs))
        return {f"{path}.{value}": array for value, part in parts for path, array in part.items()}

    def __getitem__(self, name: str) -> Array:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"<Recording of {len(self.scores)} samples: {', '.join(self) or 'no values'}>"


#: The values of layers, and the names under which layers record them.
RECORDED = {"spikes": "spike_seq", "potentials": "v_seq", "inputs": "x_seq"}


class Network:
    """A network with its weights.

    Networks are made by `spikelet.Sequential`, `spikelet.model`, `spikelet.load` and `Network.from_toml`.

    Inputs of a time step have the sizes `input`; a batch of them is `[N, …]`, a sequence in a network `[T, N, …]`.

    Examples
    --------
    >>> net = spikelet.model("mnist-fc", hidden=64)
    >>> net.input, net.classes
    ((1, 28, 28), 10)
    >>> net.state_dict()["fc.1.weight"].shape
    (64, 784)
    """

    _made: _native.Network | None
    _weights: _native.Model | None
    _settings: dict[str, Any] | None

    def __init__(self) -> None:
        raise TypeError(
            "Network: it has no constructor\n"
            "  help: use `spikelet.Sequential(…)`, `spikelet.model(name)`, `spikelet.load(path)` or `Network.from_toml(path)`"
        )

    @classmethod
    def _of(cls, made: _native.Network, settings: dict[str, Any] | None = None) -> Network:
        net = object.__new__(Network)
        net._start("auto", 0, 0)
        net._made = made
        net._settings = settings
        return net

    def _start(self, device: str, threads: int, seed: int) -> None:
        self._made = None
        self._weights = None
        self._settings = None
        self._device, self._threads, self._seed = device, threads, seed

    @classmethod
    def from_toml(cls, path: PathLike) -> Network:
        """Reads the network of a file: a list of layers, or a name with settings.

        Parameters
        ----------
        path : path
            A TOML file with the table `network`, such as that of an experiment.

        Returns
        -------
        Network
            With initial weights.
        """
        return cls._of(_native.Network.read(os.fspath(path)))

    # Copies: the definition and the weights, compiled anew.

    def __getstate__(self) -> dict[str, Any]:
        weights = self._weights
        state = {**self.__dict__, "_made": None if self._made is None else self._made.to_json(), "_weights": None}
        if weights is not None and not weights.is_initial:
            state["_weights"] = weights.time_steps, self.state_dict()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        made, weights = state["_made"], state["_weights"]
        self.__dict__.update(state, _made=None if made is None else _native.Network.from_json(made), _weights=None)
        if weights is not None:
            self._model.prepare(weights[0])
            self.load_state_dict(weights[1])

    # The definition.

    @property
    def _network(self) -> _native.Network:
        if self._made is None:
            raise ValueError(
                f"network `{self.name}`: the sizes of its input are not known yet\n"
                "  help: give them, `Sequential(…, input=(1, 28, 28))`, or call `fit` or `predict` first"
            )
        return self._made

    @property
    def name(self) -> str:
        """The name."""
        return self._network.name

    @property
    def input(self) -> tuple[int, ...]:
        """The sizes of an input at a time step: `(channels, height, width)`, or `(features,)`."""
        return tuple(self._network.input)

    @property
    def classes(self) -> int:
        """The number of outputs at a time step."""
        return self._network.classes

    @property
    def settings(self) -> dict[str, Any] | None:
        """The settings of the last training, or of the checkpoint; None before."""
        return self._settings

    def spec(self) -> dict[str, Any]:
        """The network as a file has it.

        Returns
        -------
        dict
            The keys of the table `network`.
        """
        spec: dict[str, Any] = json.loads(self._network.to_json())
        return spec

    def to_toml(self) -> str:
        """An experiment of this network with all defaults.

        Returns
        -------
        str
            TOML, which `spikelet train` and `spikelet.Experiment` read.
        """
        return self._network.to_toml()

    def layers(self) -> Network:
        """The layers of a network that has a name, as a network of its own.

        Returns
        -------
        Network
            With initial weights.
        """
        return Network._of(self._network.as_layers())

    def summary(self, time_steps: int = 1, batch_size: int = 1) -> str:
        """The layers as a table, with the shapes of outputs and parameters.

        Parameters
        ----------
        time_steps, batch_size : int
            The first axes of the sequence, T and N.

        Returns
        -------
        str
            A text of several lines.
        """
        return self._network.summary(time_steps, batch_size)[0]

    def __str__(self) -> str:
        return self.summary() if self._made is not None else repr(self)

    def __repr__(self) -> str:
        sizes = "×".join(map(str, self.input))
        return f"<Network {self.name}: {sizes} to {self.classes}>"

    def _repr_html_(self) -> str:
        import html

        rows = json.loads(self._network.summary(1, 1)[1])
        cell = "<td style='text-align:left'>{}</td>".format
        lines = ["<tr>" + "".join(f"<th style='text-align:left'>{h}</th>" for h in
                 ("layer", "kind", "output", "parameters", "shapes")) + "</tr>"]
        total = 0
        for row in rows:
            total += row["count"]
            shapes = ", ".join(f"{name.rsplit('.', 1)[-1]} {shape}" for name, shape in row["parameters"])
            cells = (row["path"], row["kind"], row["output"][2:], f"{row['count']:,}", shapes)
            lines.append("<tr>" + "".join(cell(html.escape(str(c))) for c in cells) + "</tr>")
        lines.append(f"<tr><td></td><td></td><th>total</th><td style='text-align:left'>{total:,}</td><td></td></tr>")
        caption = f"<caption>{html.escape(self.name)}: {list(self.input)}</caption>"
        return f"<table>{caption}{''.join(lines)}</table>"

    # The weights.

    @property
    def _model(self) -> _native.Model:
        if self._weights is None:
            self._weights = _native.Model(self._network, self._device, self._threads, self._seed)
        return self._weights

    @property
    def device(self) -> str:
        """The name of the device of the weights."""
        return self._model.device

    def to(self, device: str, threads: int = 0) -> Network:
        """Moves the weights to a device.

        Parameters
        ----------
        device : str
            `"cpu"`, `"cuda"`, `"cuda:1"`, or `"auto"`: a GPU if there is one.
        threads : int
            Threads of the CPU; 0 takes all cores.

        Returns
        -------
        Network
            The network itself.
        """
        self._device, self._threads = device, threads
        if self._weights is not None:
            self._weights.to(device, threads)
        return self

    def initialize(self, seed: int = 0) -> Network:
        """Gives the network new initial weights.

        Parameters
        ----------
        seed : int
            The seed; a weight depends on it and on the weight's name only.

        Returns
        -------
        Network
            The network itself.
        """
        self._seed = seed
        self._weights = None
        return self

    @property
    def parameters(self) -> list[str]:
        """The names of the trained tensors."""
        return self._model.parameters

    @property
    def buffers(self) -> list[str]:
        """The names of tensors that are not trained, such as running statistics."""
        return self._model.buffers

    def state_dict(self) -> dict[str, Array]:
        """The weights by name.

        Returns
        -------
        dict of str to numpy.ndarray
            Copies.
        """
        return self._model.state_dict()

    def load_state_dict(self, tensors: Mapping[str, Any], *, strict: bool = True) -> Network:
        """Sets weights.

        Parameters
        ----------
        tensors : mapping of str to array_like
            Arrays of the names and shapes of `state_dict`.
        strict : bool
            Whether all names must be those of the network. Otherwise others are left out, and weights without an array
            stay; `load` keeps the last layer where the number of classes differs.

        Returns
        -------
        Network
            The network itself.

        Examples
        --------
        >>> net = spikelet.Sequential(spikelet.Linear(3, 2, bias=False), input=(3,))
        >>> _ = net.load_state_dict({"0.weight": [[1, 2, 3], [4, 5, 6]]})
        >>> net([[[1, 0, 0]]])
        array([[[1., 4.]]], dtype=float32)
        """
        given = {str(name): as_float(x, str(name)) for name, x in tensors.items()}
        if not strict:
            own = self.state_dict()
            given = {**own, **{name: x for name, x in given.items() if name in own}}
        self._model.load_state_dict(given)
        return self

    def save(self, path: PathLike) -> None:
        """Writes the network with its weights and the settings of its training.

        `spikelet.load` and the command `spikelet eval` read it; other programs read the tensors.

        Parameters
        ----------
        path : path
            A safetensors file, which is replaced; or a folder, which exists or ends with `/`: `model.safetensors` and
            `config.json` are written there, as models are shared.
        """
        name = os.fspath(path)
        folder = os.path.isdir(name) or name.endswith(("/", os.sep))
        self._model.save(name, json.dumps(self._settings_for(None)), folder)

    def load(
        self, source: PathLike | Mapping[str, Any], *, strict: bool = True, map: str | Mapping[str, str] | None = None
    ) -> str:
        """Sets weights from a file, or from arrays.

        Parameters
        ----------
        source : path or mapping of str to array_like
            A file of `save`, a checkpoint of a run or of PyTorch, safetensors or `.npz`; the folder of a run or of a model;
            `"hf://owner/name"`, a model of the Hugging Face Hub; or a state dict.
        strict : bool
            Whether all tensors must be those of the network. Otherwise other tensors are left out, and if the number of classes
            differs, the last layer stays, for fine-tuning; the tensors of the other layers must be there.
        map : str or mapping, optional
            A framework of `spikelet.weights.FRAMEWORKS`, whose names the source has; or beginnings of names in the source with
            those in the network: `{"backbone.": "trunk."}`. By default the names of the network; of a file without `strict`, those
            of the framework that fits best.

        Returns
        -------
        str
            The differences, such as other constants of neurons; empty if all fits.

        Examples
        --------
        >>> net = spikelet.Sequential(spikelet.Linear(2, 1, bias=False), input=(2,))
        >>> net.load({"fc.weight": [[1.0, 2.0]]}, map={"fc.": "0."})
        ''
        """
        from .weights import _plain, read

        given: Any = _plain(source) if isinstance(source, Mapping) else os.fspath(source)
        if isinstance(map, Mapping):
            tensors = given if isinstance(source, Mapping) else read(given)
            given = {_renamed(name, map): array for name, array in tensors.items()}
        if map is None and strict and isinstance(given, str):
            self._model.load(given)
            return ""
        framework = map if isinstance(map, str) else None
        if framework is None and not isinstance(given, str):
            framework = "spikelet"
        return _native.load_weights(self._model, given, framework, strict)

    # Running.

    def _bind(self, sizes: tuple[int, ...]) -> None:
        """Tells a network whose input is not known yet the sizes of a sample."""

    def _settings_for(
        self, sequence_steps: int | None, encoder: str | None = None, loss: str | None = None, **training: Any
    ) -> dict[str, Any]:
        """The settings of the last training, or else the defaults, with changes of the tables `encoder`, `loss` and
        `training`."""
        if self._settings is None:
            settings: dict[str, Any] = json.loads(_native.settings(self._network, sequence_steps, "{}"))
        else:
            settings = {table: dict(keys) for table, keys in self._settings.items()}
            if sequence_steps is not None:
                settings["training"]["time_steps"] = sequence_steps
                settings["encoder"] = {"name": "direct"}
        if encoder is not None:
            settings["encoder"] = json.loads(_native.words_item(encoder))
        if loss is not None:
            if loss.replace("_", "-") == "mse-one-hot":
                settings["loss"].pop("label_smoothing", None)
            settings["loss"]["name"] = loss
        settings["training"].update({key: value for key, value in training.items() if value is not None})
        return settings

    def _samples(
        self,
        x: Any,
        y: Any = None,
        sequences: bool | None = None,
        what: str = "x",
        time_steps: int | None = None,
        trained: bool = False,
    ) -> _native.Samples:
        """Samples of the engine: those of a data set of `spikelet.data`, or of arrays. With `trained`, the length of the
        sequences of the training tells in doubt which axis is time."""
        native = getattr(x, "_native_samples", None)
        if native is not None:
            if y is not None:
                raise ValueError("labels: they are part of the data set\n  help: leave the labels out")
            samples: _native.Samples = native()
            self._bind(tuple(samples.input))
            return samples
        array = as_numpy(x, what)
        if array.ndim < 2 or array.shape[0] == 0:
            raise ValueError(
                f"{what}: an array of the shape {list(array.shape)} was given\n"
                "  help: give samples [N, features] or [N, C, H, W]; [T, N, …] for sequences"
            )
        sequence = self._are_sequences(array.shape) if sequences is None else sequences
        if sequence:
            self._check_steps(array.shape, time_steps, what, trained)
        step = array.shape[1 + sequence :]
        self._bind(step if len(step) != 2 else (1, *step))
        array = as_batch(array, sequence, y, what)
        labels = None if y is None else as_labels(y, self.classes, array.shape[0])
        return _native.Samples.of_arrays(as_samples(array, what), labels, sequence, "arrays")

    def _check_steps(self, shape: tuple[int, ...], given: int | None, what: str, trained: bool) -> None:
        """Refuses sequences with the samples in front."""
        steps, samples = (*shape, 0)[:2]
        if given is not None and given != steps:
            raise ValueError(
                f"{what}: sequences of the shape {list(shape)} were given with time_steps={given}\n  help: give [{given}, N, …]"
            )
        own = self._settings if trained else None
        is_direct = own is not None and own["encoder"]["name"] == "direct"
        if given is None and own is not None and is_direct and steps != own["training"]["time_steps"] == samples:
            raise ValueError(
                f"{what}: sequences of the shape {list(shape)} were given, the network was trained with {samples} time steps\n"
                f"  help: give [{samples}, N, …], time first; if the sequences have {steps} time steps, time_steps={steps}"
            )

    def _are_sequences(self, shape: tuple[int, ...]) -> bool:
        """Whether samples of this shape are sequences: from the sizes that the network takes."""
        if self._made is None:
            return False
        own = self.input
        same = [shape[1:] == own, shape[2:] == own]
        if not any(same):
            elements = math.prod(own)
            same = [math.prod(shape[1:]) == elements, len(shape) > 2 and math.prod(shape[2:]) == elements]
        if not any(same):
            raise ValueError(
                f"x: samples of the shape {list(shape[1:])} were given, network `{self.name}` takes {list(own)} "
                "at a time step\n  help: give [N, …] with these sizes, or [T, N, …] for sequences"
            )
        return not same[0]

    @overload
    def __call__(self, x_seq: _native.Var, name: str = ...) -> _native.Var: ...

    @overload
    def __call__(self, x_seq: npt.ArrayLike, name: str = ...) -> Array: ...

    def __call__(self, x_seq: Any, name: str = "") -> Any:
        """Runs the network on a sequence, from rest.

        Parameters
        ----------
        x_seq : array_like or spikelet.graph.Var
            A sequence `[T, N, …]`, without an encoder. In the function of a `spikelet.Step` it is traced.
        name : str
            In a step, the path of the parameters; needed where a step has several networks.

        Returns
        -------
        numpy.ndarray
            The output at every time step, `[T, N, classes]`.

        Examples
        --------
        >>> net = spikelet.Sequential(spikelet.Lif(tau=2.0), input=(1,))
        >>> net([[[0.6]], [[0.9]], [[2.0]]])[:, 0, 0]
        array([0., 0., 1.], dtype=float32)
        """
        if isinstance(x_seq, _native.Var):
            return self._trace(x_seq, name)
        x = as_float(x_seq, "x_seq")
        if x.ndim < 3:
            raise ValueError(
                f"x_seq: an array of the shape {list(x.shape)} was given\n  help: give a sequence [T, N, …]"
            )
        self._bind(x.shape[2:])
        output: Array = self._model.run(x)
        return output

    def _trace(self, x: _native.Var, name: str) -> _native.Var:
        from ._step import _CALLED

        self._bind(tuple(x.shape[2:]))
        output = _native.call_network(self._network, name, x)
        if _CALLED:
            _CALLED[-1][f"{name}." if name else ""] = self
        return output

    def predict(
        self,
        x: Any,
        *,
        time_steps: int | None = None,
        encoder: str | None = None,
        batch_size: int = 256,
        sequences: bool | None = None,
    ) -> Array:
        """The scores of samples: the mean of the output over time.

        Parameters
        ----------
        x : array_like or Dataset
            Samples `[N, …]`, which the encoder turns into sequences, or sequences `[T, N, …]`.
        time_steps : int, optional
            The length of the sequences; by default that of the training for the sequences of an encoder.
        encoder : str, optional
            The encoder of samples, such as `"direct"`; by default that of the training.
        batch_size : int
            The number of samples that run together.
        sequences : bool, optional
            Whether `x` are sequences; by default the shape tells.

        Returns
        -------
        numpy.ndarray
            `[N, classes]`.

        Examples
        --------
        >>> net = spikelet.Sequential(spikelet.Linear(4, 3), spikelet.Lif(), input=(4,))
        >>> net.predict(np.zeros((5, 4)), time_steps=8).shape
        (5, 3)
        """
        samples = self._samples(x, None, sequences, time_steps=time_steps, trained=True)
        return self._predict(samples, time_steps, encoder, batch_size, [])[0]

    def _predict(
        self,
        samples: _native.Samples,
        time_steps: int | None,
        encoder: str | None,
        batch_size: int,
        values: list[str],
    ) -> tuple[Array, dict[str, Array]]:
        settings = self._settings_for(samples.time_steps, time_steps=time_steps, encoder=encoder)
        if samples.time_steps is not None:
            settings["training"]["time_steps"] = samples.time_steps
        if batch_size < 1:
            raise ValueError(f"batch_size: {batch_size} was given\n  help: use at least 1")
        return self._model.predict(samples, json.dumps(settings), batch_size, values)

    def record(
        self,
        x: Any,
        layers: str = "*",
        values: Sequence[str] = ("spikes",),
        *,
        time_steps: int | None = None,
        encoder: str | None = None,
        batch_size: int = 256,
        sequences: bool | None = None,
    ) -> Recording:
        """Runs samples and returns values of layers at every time step.

        Parameters
        ----------
        x : array_like or Dataset
            As in `predict`.
        layers : str
            A pattern of paths of neurons, such as `"fc.*"`.
        values : sequence of str
            `"spikes"`, `"potentials"` (after the reset) and `"inputs"` of neurons.
        time_steps, encoder, batch_size, sequences
            As in `predict`.

        Returns
        -------
        Recording
            Arrays `[T, N, …]` by path.

        Examples
        --------
        >>> net = spikelet.Sequential(spikelet.Linear(4, 3), spikelet.Lif(), input=(4,))
        >>> recording = net.record(np.zeros((5, 4)), values=["spikes", "potentials"], time_steps=8)
        >>> recording.potentials["1"].shape
        (8, 5, 3)
        """
        if isinstance(values, str):
            values = [values]
        unknown = [value for value in values if value not in RECORDED]
        if unknown or not values:
            raise ValueError(
                f"values: {unknown or list(values)} was given\n  help: use {', '.join(RECORDED)}"
            )
        samples = self._samples(x, None, sequences, time_steps=time_steps, trained=True)
        patterns = [f"{layers}.{RECORDED[value]}" for value in values]
        scores, found = self._predict(samples, time_steps, encoder, batch_size, patterns)
        parts: dict[str, dict[str, Array]] = {value: {} for value in RECORDED}
        for path, array in found.items():
            for value, suffix in RECORDED.items():
                if path.endswith("." + suffix) or path == suffix:
                    parts[value][path[: -len(suffix) - 1]] = array
        return Recording(scores, **parts)

    def evaluate(
        self,
        x: Any,
        y: Any = None,
        *,
        time_steps: int | None = None,
        encoder: str | None = None,
        loss: str | None = None,
        sequences: bool | None = None,
    ) -> dict[str, float]:
        """Loss and accuracy of samples with labels.

        Parameters
        ----------
        x : array_like or Dataset
            As in `predict`.
        y : array_like, optional
            The class of each sample, `[N]`; data sets have their labels.
        time_steps, encoder, sequences
            As in `predict`.
        loss : str, optional
            `"mse-one-hot"`, `"cross-entropy"`, `"focal"` or `"tet"`; by default that of the training.

        Returns
        -------
        dict
            `loss`, `accuracy` (from 0 to 1) and `samples`.
        """
        if y is None and not hasattr(x, "_native_samples"):
            raise TypeError("evaluate: there are no labels\n  help: call `net.evaluate(x, y)`")
        samples = self._samples(x, y, sequences, time_steps=time_steps, trained=True)
        settings = self._settings_for(samples.time_steps, time_steps=time_steps, encoder=encoder, loss=loss)
        if samples.time_steps is not None:
            settings["training"]["time_steps"] = samples.time_steps
        found, count = self._model.evaluate(samples, json.dumps(settings))
        return {**dict(found), "samples": count}

    def plan(
        self,
        batch_size: int = 128,
        time_steps: int | None = None,
        *,
        training: bool = True,
        sequences: bool = False,
        precision: str | None = None,
    ) -> Plan:
        """The program of a training step or of an evaluation. Nothing is allocated.

        Parameters
        ----------
        batch_size : int
            The number of samples, N.
        time_steps : int, optional
            The time steps, T; by default those of the training.
        training : bool
            Whether it is a training step, with backward pass and update; else an evaluation.
        sequences : bool
            Whether samples are sequences; else an encoder makes these.
        precision : str, optional
            `"f32"`, `"tf32"`, `"bf16"` or `"f16"`.

        Returns
        -------
        Plan
            Prints as the list of kernels.
        """
        settings = self._settings_for(
            time_steps if sequences else None, time_steps=time_steps, batch_size=batch_size, precision=precision
        )
        steps = settings["training"]["time_steps"] if sequences else None
        sizes = list(self.input)
        if not sequences or len(sizes) not in (1, 3):
            sizes = [1] * (3 - len(sizes)) + sizes if len(sizes) <= 3 else [sizes[0] * sizes[1], *sizes[2:]]
        text, numbers = self._model.plan((sizes, steps), json.dumps(settings), training)
        return Plan(text, **json.loads(numbers))


def _renamed(name: str, prefixes: Mapping[str, str]) -> str:
    """A name with another beginning."""
    for before, now in prefixes.items():
        if name.startswith(before):
            return now + name[len(before) :]
    return name
