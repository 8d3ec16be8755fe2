"""Arrays of other libraries as arrays of numpy."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]

__all__ = ["as_batch", "as_float", "as_json", "as_labels", "as_numpy", "as_samples"]

#: The device type of DLPack for memory of the host, and for pinned memory.
HOST = (1, 3)


def as_numpy(x: Any, what: str = "array") -> Array:
    """An array in host memory.

    Parameters
    ----------
    x : array_like
        An array of numpy, anything with DLPack (torch, JAX, CuPy), or nested lists of numbers.
    what : str
        The name of the argument, for messages.

    Returns
    -------
    numpy.ndarray
        Without a copy where the memory is that of the host.
    """
    import numpy as np

    if isinstance(x, np.ndarray):
        array: Array = x
    elif hasattr(x, "__dlpack__"):
        array = _from_dlpack(x)
    else:
        try:
            array = np.asarray(x)
        except Exception as error:
            raise TypeError(
                f"{what}: {type(x).__name__} was given\n  help: give an array of numpy, torch, JAX or CuPy"
            ) from error
    if array.dtype == object or array.dtype.kind in "OUSVc":
        raise TypeError(
            f"{what}: an array of {array.dtype} was given\n  help: give numbers; all rows need the same length"
        )
    return array


def _from_dlpack(x: Any) -> Array:
    import numpy as np

    if getattr(x, "requires_grad", False):
        x = x.detach()
    kind = x.__dlpack_device__()[0]
    if int(kind) not in HOST:
        # Copies from a device have another name in each library.
        for method in ("cpu", "get"):
            if hasattr(x, method):
                return as_numpy(getattr(x, method)())
        return np.asarray(x)
    try:
        found: Array = np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError):
        # bfloat16, bool, and arrays that cannot be written to, in older versions.
        found = np.asarray(x.float().numpy() if hasattr(x, "float") else x)
    return found


def as_float(x: Any, what: str = "array") -> Array:
    """A contiguous array of float32."""
    import numpy as np

    return np.require(as_numpy(x, what), dtype=np.float32, requirements=("C", "A"))


def as_samples(x: Any, what: str = "x") -> Array:
    """A contiguous array of uint8 if `x` is one, else of float32."""
    import numpy as np

    array = as_numpy(x, what)
    return np.require(array, dtype=np.uint8 if array.dtype == np.uint8 else np.float32, requirements=("C", "A"))


def as_batch(x: Array, sequences: bool, y: Any = None, what: str = "x") -> Array:
    """A batch, sequences `[T, N, …]`, with the samples in front: `[N, T, …]`."""
    if not sequences:
        return x
    shape = list(x.shape)
    if len(shape) < 2:
        raise ValueError(f"{what}: an array of the shape {shape} was given\n  help: give sequences [T, N, …]")
    labels = None if y is None else len(as_numpy(y, "labels"))
    if labels is not None and labels != shape[1] and labels == shape[0]:
        raise ValueError(
            f"{what}: sequences of the shape {shape} with {labels} labels were given\n"
            f"  help: give [T, N, …], time first: `{what}.swapaxes(0, 1)`"
        )
    return x.swapaxes(0, 1)


def as_json(value: Any) -> str:
    """JSON; an error names the argument that has no place in it."""
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        path, wrong = _misfit(value, "") or ("settings", value)
    path = path.rpartition(".")[2]
    if isinstance(wrong, float):
        raise ValueError(f"{path}: {wrong} was given\n  help: give a finite number")
    raise TypeError(f"{path}: {type(wrong).__name__} was given\n  help: give numbers, strings, lists and dictionaries")


def _misfit(value: Any, path: str) -> tuple[str, Any] | None:
    """The first value that JSON does not have, with its path."""
    if isinstance(value, Mapping):
        items = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        items = [(path, item) for item in value]
    else:
        plain = value is None or isinstance(value, (str, int)) or isinstance(value, float) and math.isfinite(value)
        return None if plain else (path, value)
    return next((found for key, item in items if (found := _misfit(item, key)) is not None), None)


def as_labels(y: Any, classes: int, samples: int) -> Array:
    """A contiguous array of int64: a class for each sample."""
    import numpy as np

    labels = as_numpy(y, "labels")
    if labels.dtype.kind == "f":
        if labels.ndim != 1 or not np.array_equal(labels, np.floor(labels)):
            raise ValueError(
                f"labels: an array {labels.shape} of {labels.dtype} was given\n"
                "  help: give a class for each sample, an array [N] of integers; other targets need `spikelet.Step`"
            )
    if labels.shape != (samples,):
        raise ValueError(
            f"labels: they have the shape {list(labels.shape)}, there are {samples} samples\n"
            "  help: give a class for each sample, an array [N] of integers from 0"
        )
    labels = np.require(labels, dtype=np.int64, requirements=("C", "A"))
    low, high = int(labels.min()), int(labels.max())
    if low < 0 or high >= classes:
        wrong = low if low < 0 else high
        raise ValueError(
            f"labels: the class {wrong} was given, the network has {classes} outputs\n"
            f"  help: number classes from 0 to {classes - 1}, or give the last layer an output for each class"
        )
    return labels
