"""Compiled training steps."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._arrays import as_numpy
from ._network import Network, PathLike, Plan

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

__all__ = ["EpochMetrics", "Input", "TrainStep", "longest", "update"]


@dataclass(frozen=True)
class Input:
    """An input of a step.

    Attributes
    ----------
    shape : tuple of int
        The sizes of one sample: `[N, …]` in the function; of a sequence `(T, …)`, and `[T, N, …]` in the function.
    dtype : str
        `"f32"` or `"i64"`.
    kind : str
        `"batch"`, `"sequence"`, or `"shared"`: the same values for all samples.
    """

    shape: Sequence[int] = ()
    dtype: Literal["f32", "i64"] = "f32"
    kind: Literal["batch", "sequence", "shared"] = "batch"


class EpochMetrics:
    """The means of loss and metrics over batches.

    Examples
    --------
    >>> found = spikelet.EpochMetrics()
    >>> found.add({"loss": 1.0, "accuracy": 0.5})
    >>> found.add({"loss": 3.0, "accuracy": 0.7})
    >>> found["loss"]
    2.0
    """

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._batches = 0

    def add(self, metrics: Mapping[str, float]) -> None:
        """Adds the metrics of a batch.

        Parameters
        ----------
        metrics : mapping
            The result of `TrainStep.run`.
        """
        self._batches += 1
        for name, value in metrics.items():
            self._sums[name] = self._sums.get(name, 0.0) + value

    def __getitem__(self, name: str) -> float:
        return self._sums[name] / self._batches

    def __iter__(self) -> Iterator[str]:
        return iter(self._sums)

    def items(self) -> Iterator[tuple[str, float]]:
        """Names and means.

        Returns
        -------
        iterator
            Pairs.
        """
        return ((name, self[name]) for name in self._sums)

    def __repr__(self) -> str:
        return ", ".join(f"{name} {value:.4f}" for name, value in self.items()) or "no batches"


def longest(inputs: Mapping[str, Input]) -> int:
    """The time steps of the longest sequence; 0 without one."""
    return max((one.shape[0] for one in inputs.values() if one.kind == "sequence"), default=0)


def update(called: Mapping[str, Network], tensors: Mapping[str, Array], time_steps: int) -> None:
    """Gives networks the weights of a step."""
    for path, net in called.items():
        if time_steps:
            net._model.prepare(time_steps)
        names = [*net.parameters, *net.buffers]
        net.load_state_dict({name: tensors[f"{path}{name}"] for name in names})


class TrainStep:
    """A compiled step: forward pass, backward pass and update.

    Inputs are given by name, as arrays: `[N, …]`, and `[T, N, …]` of sequences.
    """

    def __init__(self, native: _native.TrainStep, inputs: Mapping[str, Input], networks: Mapping[str, Network]) -> None:
        self._native = native
        self._inputs = dict(inputs)
        self._networks = dict(networks)

    def _arrays(self, given: Mapping[str, Any]) -> dict[str, Array]:
        import numpy as np

        arrays = {}
        for name, values in given.items():
            if name not in self._inputs:
                raise TypeError(f"TrainStep: there is no input `{name}`\n  help: its inputs: {', '.join(self._inputs)}")
            dtype = np.int64 if self._inputs[name].dtype == "i64" else np.float32
            array = as_numpy(values, name)
            if dtype is np.int64 and array.dtype.kind == "f" and not np.array_equal(array, np.floor(array)):
                raise ValueError(f"{name}: fractions were given\n  help: give integers")
            arrays[name] = np.require(array, dtype=dtype, requirements=("C", "A"))
            expected = self._inputs[name]
            self._check(name, arrays[name].shape, expected)
        return arrays

    def _check(self, name: str, shape: tuple[int, ...], expected: Input) -> None:
        sizes = list(expected.shape)
        # A sequence of a stream has one time step.
        first = (sizes[:1], [1]) if expected.kind == "sequence" else ((), ())
        if expected.kind == "batch":
            sizes = [-1, *sizes]
        elif expected.kind == "sequence":
            sizes = [sizes[0], -1, *sizes[1:]]
        fits = len(shape) == len(sizes) and all(
            own == size or size == -1 or (at == 0 and [own] in first) for at, (size, own) in enumerate(zip(sizes, shape))
        )
        if not fits:
            text = ", ".join("N" if size == -1 else str(size) for size in sizes)
            raise ValueError(f"{name}: an array of the shape {list(shape)} was given\n  help: give [{text}]")

    def run(self, **inputs: Any) -> dict[str, float]:
        """Trains on a batch.

        Parameters
        ----------
        **inputs : array_like
            The inputs by name.

        Returns
        -------
        dict
            `loss`, and the metrics.
        """
        found: dict[str, float] = json.loads(self._native.run(self._arrays(inputs)))
        return found

    def evaluate(self, **inputs: Any) -> tuple[dict[str, float], dict[str, Array]]:
        """Runs a batch without training.

        Parameters
        ----------
        **inputs : array_like
            The inputs by name.

        Returns
        -------
        (dict, dict)
            Loss and metrics; the outputs of the function, and the activations that can be read.
        """
        metrics, outputs = self._native.evaluate(self._arrays(inputs))
        return json.loads(metrics), outputs

    def predict(self, **inputs: Any) -> dict[str, Array]:
        """The outputs of a batch, from the inputs that they depend on.

        Parameters
        ----------
        **inputs : array_like
            The inputs by name; labels and targets are not needed.

        Returns
        -------
        dict of str to numpy.ndarray
            The outputs of the function, and the activations that can be read.
        """
        return self._native.predict(self._arrays(inputs))

    def stream(self, **inputs: Any) -> dict[str, Array]:
        """The outputs of a time step; states are carried to the next call.

        Parameters
        ----------
        **inputs : array_like
            The inputs by name; sequences have one time step.

        Returns
        -------
        dict of str to numpy.ndarray
            The outputs of the function.
        """
        return self._native.stream(self._arrays(inputs))

    def reset(self) -> None:
        """Begins new sequences: resets the states that are carried."""
        self._native.reset()

    @property
    def step(self) -> int:
        """The number of updates."""
        return self._native.step

    def set_learning_rate_factor(self, factor: float) -> None:
        """Multiplies the learning rates of all groups from the next update on.

        Parameters
        ----------
        factor : float
            The factor of a schedule.
        """
        self._native.set_learning_rate_factor(factor)

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters."""
        return self._native.names()[0]

    @property
    def trained(self) -> list[str]:
        """The names of the parameters that are not frozen."""
        return self._native.names()[1]

    @property
    def buffers(self) -> list[str]:
        """The names of tensors that are not trained, such as running statistics."""
        return self._native.names()[2]

    def state_dict(self, *, averaged: bool = False) -> dict[str, Array]:
        """The weights by name.

        Parameters
        ----------
        averaged : bool
            Whether they are the averages of `ema`.

        Returns
        -------
        dict of str to numpy.ndarray
            Copies.
        """
        return self._native.state_dict(averaged)

    def load_state_dict(self, tensors: Mapping[str, Any]) -> None:
        """Sets weights.

        Parameters
        ----------
        tensors : mapping of str to array_like
            Some or all of the tensors of `state_dict`.
        """
        from ._arrays import as_float

        self._native.load_state_dict({str(name): as_float(x, str(name)) for name, x in tensors.items()})

    def update_networks(self, *, averaged: bool = False) -> None:
        """Gives the networks that the function calls the weights of the step.

        Parameters
        ----------
        averaged : bool
            Whether they are the averages of `ema`.
        """
        update(self._networks, self.state_dict(averaged=averaged), longest(self._inputs))

    def gradient(self, name: str) -> Array:
        """The gradient of a parameter in the last update, of those in `read_gradients`.

        Parameters
        ----------
        name : str
            The parameter.

        Returns
        -------
        numpy.ndarray
            Of its shape.
        """
        return self._native.gradient(name)

    def output(self, name: str) -> Array:
        """An output of the function in the last update, with `outputs=True`.

        Parameters
        ----------
        name : str
            The output.

        Returns
        -------
        numpy.ndarray
            Its values.
        """
        return self._native.output(name)

    def save(self, path: PathLike) -> None:
        """Writes the complete state: weights, tensors of the optimizer, averages, the number of updates.

        Parameters
        ----------
        path : path
            A safetensors file, which is replaced.
        """
        self._native.save(os.fspath(path))

    def resume(self, path: PathLike) -> None:
        """Continues from a file of `save` of the same step, with the same bits.

        Parameters
        ----------
        path : path
            The file.
        """
        self._native.resume(os.fspath(path))

    def plan(self) -> Plan:
        """The kernels and the memory of the step.

        Returns
        -------
        Plan
            Prints as the list of kernels.
        """
        text, numbers = self._native.plan()
        return Plan(text, **json.loads(numbers))
