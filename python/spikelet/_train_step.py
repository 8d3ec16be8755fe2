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

__all__ = ["EpochMetrics", "Input", "TrainStep", "as_input", "longest", "padded", "update"]


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
    lengths : bool
        Whether sequences may be shorter: their lengths are another input, whose name ends with `_length`.
    """

    shape: Sequence[int] = ()
    dtype: Literal["f32", "i64"] = "f32"
    kind: Literal["batch", "sequence", "shared"] = "batch"
    lengths: bool = False


def _elements(array: Array, name: str, expected: Input) -> Array:
    """An array whose elements are those of an input."""
    import numpy as np

    if expected.dtype == "i64" and array.dtype.kind == "f" and not np.array_equal(array, np.floor(array)):
        raise ValueError(f"{name}: fractions were given\n  help: give integers")
    return array


def as_input(values: Any, name: str, expected: Input, *, stream: bool = False) -> Array:
    """An array for an input: `[N, …]`, `[T, N, …]` of a sequence, of one time step in a stream."""
    import numpy as np

    dtype = np.int64 if expected.dtype == "i64" else np.float32
    array = _elements(as_numpy(values, name), name, expected)
    sizes: list[Any] = list(expected.shape)
    if expected.kind == "batch":
        sizes = ["N", *sizes]
    elif expected.kind == "sequence":
        sizes = [1 if stream else sizes[0], "N", *sizes[1:]]
    shape = list(array.shape)
    if len(shape) != len(sizes) or any(size not in ("N", own) for size, own in zip(sizes, shape)):
        text = ", ".join(map(str, sizes))
        swapped = [shape[1], shape[0], *shape[2:]] if len(shape) > 1 else []
        time_last = expected.kind == "sequence" and swapped[:1] == sizes[:1] and swapped[2:] == sizes[2:]
        hint = f", time first: `{name}.swapaxes(0, 1)`" if time_last else ""
        raise ValueError(f"{name}: an array of the shape {shape} was given\n  help: give [{text}]{hint}")
    return np.require(array, dtype=dtype, requirements=("C", "A"))


def padded(given: Mapping[str, Any], inputs: Mapping[str, Input], *, stream: bool = False) -> dict[str, Any]:
    """The values of inputs, with lists of sequences of different lengths as one array `[T, N, …]` and their lengths."""
    import numpy as np

    values = dict(given)
    for name, one in inputs.items():
        if not one.lengths or name not in values or f"{name}_length" in values:
            continue
        sequences = values[name]
        if not isinstance(sequences, (list, tuple)):
            count = np.shape(sequences)[1:2] or (0,)
            values[f"{name}_length"] = np.full(count, 1 if stream else one.shape[0], dtype=np.int64)
            continue
        steps, *sizes = one.shape
        arrays = [_elements(as_numpy(one_of, name), name, one) for one_of in sequences]
        for k, array in enumerate(arrays):
            if array.ndim != len(one.shape) or list(array.shape[1:]) != sizes or len(array) > steps:
                text = ", ".join(map(str, sizes))
                raise ValueError(
                    f"{name}: sequence {k} has the shape {list(array.shape)}\n"
                    f"  help: give [T, {text}] with at most {steps} time steps"
                )
        batch = np.zeros((steps, len(arrays), *sizes), dtype=np.int64 if one.dtype == "i64" else np.float32)
        for k, array in enumerate(arrays):
            batch[: len(array), k] = array
        values[name] = batch
        values[f"{name}_length"] = np.array([len(array) for array in arrays], dtype=np.int64)
    return values


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
        self._samples = 0

    def add(self, metrics: Mapping[str, float], samples: int = 1) -> None:
        """Adds the metrics of a batch.

        Parameters
        ----------
        metrics : mapping
            The result of `TrainStep.run`.
        samples : int
            The number of samples of the batch, by which it counts, for batches of several sizes.
        """
        self._samples += samples
        for name, value in metrics.items():
            self._sums[name] = self._sums.get(name, 0.0) + samples * value

    def __getitem__(self, name: str) -> float:
        return self._sums[name] / self._samples

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

    Inputs are given by name, as arrays: `[N, …]`, and `[T, N, …]` of sequences; sequences of different lengths as a list of arrays
    `[T, …]`. N may be another number than the batch size.
    """

    def __init__(
        self,
        native: _native.TrainStep,
        inputs: Mapping[str, Input],
        networks: Mapping[str, Network],
        batch_size: int,
        carried: int | None = None,
    ) -> None:
        self._native = native
        self._inputs = dict(inputs)
        self._networks = dict(networks)
        self._batch_size = batch_size
        #: The number of samples whose states are carried from batch to batch.
        self._carried = carried

    def __reduce__(self) -> Any:
        raise TypeError(
            "TrainStep: it has compiled programs, which cannot be copied\n"
            "  help: `save_state` keeps its state, which `resume` of another compiled step reads; `state_dict` has the weights"
        )

    def _arrays(self, given: Mapping[str, Any], *, stream: bool = False) -> tuple[dict[str, Array], int]:
        """The arrays of the inputs, and the number of samples."""
        arrays: dict[str, Array] = {}
        counts: dict[str, int] = {}
        for name, values in padded(given, self._inputs, stream=stream).items():
            if name not in self._inputs:
                raise TypeError(f"TrainStep: there is no input `{name}`\n  help: its inputs: {', '.join(self._inputs)}")
            expected = self._inputs[name]
            arrays[name] = as_input(values, name, expected, stream=stream)
            if expected.kind != "shared":
                counts[name] = arrays[name].shape[expected.kind == "sequence"]
        if len(set(counts.values())) > 1:
            text = ", ".join(f"{name} has {count}" for name, count in counts.items())
            raise ValueError(f"TrainStep: the inputs have different numbers of samples: {text}\n  help: give the same N")
        samples = next(iter(counts.values()), self._batch_size)
        if samples == 0:
            raise ValueError("TrainStep: there are no samples\n  help: give at least one")
        if self._carried is not None and samples != self._carried:
            raise ValueError(
                f"TrainStep: {samples} samples were given, the states of {self._carried} are carried from batch to batch\n"
                f"  help: give {self._carried} samples in each batch"
            )
        return arrays, samples

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

        Raises
        ------
        FloatingPointError
            If the loss or a gradient is not finite. No parameter is updated; running statistics are, such as those of
            batch norm.
        """
        return dict(self._native.run(*self._arrays(inputs)))

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
        metrics, outputs = self._native.evaluate(*self._arrays(inputs))
        return dict(metrics), outputs

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
        return self._native.predict(*self._arrays(inputs))

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
        return self._native.stream(*self._arrays(inputs, stream=True))

    def reset(self) -> None:
        """Begins new sequences: resets the states that are carried."""
        self._native.reset()

    @property
    def step(self) -> int:
        """The number of updates."""
        return self._native.step

    def set_lr_factor(self, factor: float) -> None:
        """Multiplies the learning rates of all groups from the next update on.

        Parameters
        ----------
        factor : float
            The factor of a schedule.
        """
        self._native.set_lr_factor(factor)

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

    def save_state(self, path: PathLike) -> None:
        """Writes the complete state: weights, tensors of the optimizer, averages, the number of updates.

        Parameters
        ----------
        path : path
            A safetensors file, which is replaced.
        """
        self._native.save_state(os.fspath(path))

    def resume(self, path: PathLike) -> None:
        """Continues from a file of `save_state` of the same step, with the same bits.

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
