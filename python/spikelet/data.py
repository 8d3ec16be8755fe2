"""Data sets as sequences of samples.

A `Dataset` has a length and samples by index, so that `torch.utils.data.DataLoader` takes it. It can be pickled, and
copied into other processes by fork or spawn: it holds how the data are read, and reads them where they are used.

Examples
--------
>>> digits = spikelet.data.load("synthetic", train=100, test=20)
>>> image, label = digits.train[0]
>>> image.shape, image.dtype, len(digits.test)
((1, 28, 28), dtype('uint8'), 20)
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._arrays import as_batch, as_labels, as_numpy, as_samples
from ._registry import registry

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

__all__ = ["ArrayDataset", "Dataset", "Split", "load", "names"]


class Dataset:
    """Samples by index, each a pair of an input and a class.

    Inputs are images `[C, H, W]` of uint8 or float32, or sequences `[T, …]` of float32. Data sets are made by `load` and
    `ArrayDataset`.

    Attributes
    ----------
    transform : callable or None
        Applied to the input of each sample.
    """

    transform: Callable[[Array], Any] | None

    def __init__(self, recipe: Mapping[str, Any], part: str) -> None:
        self._recipe = dict(recipe)
        self._part = part
        self._chosen: list[int] | None = None
        self._opened: _native.Samples | None = None
        self.transform = None

    def _native_samples(self) -> _native.Samples:
        """The samples of the engine, opened once. A forked process has those of its parent."""
        if self._opened is None:
            samples = self._open()
            if self._chosen is not None:
                samples = samples.subset(self._chosen)
            self._opened = samples
        return self._opened

    def _open(self) -> _native.Samples:
        samples = _read(self._recipe).part(self._part)
        if samples is None:
            raise ValueError(f"data set: {self._recipe['name']} has no {self._part} samples")
        return samples

    def __len__(self) -> int:
        return len(self._native_samples())

    def __getitem__(self, index: int) -> tuple[Any, int]:
        samples = self._native_samples()
        at = index.__index__()
        if at < 0:
            at += len(samples)
        if not 0 <= at < len(samples):
            raise IndexError(f"{samples.name}: the index is {index}, there are {len(samples)} samples")
        found = samples.sample(at)
        names = [name for name in found if name not in ("labels", "x_length")]
        x: Any = found[names[0]]
        if self.transform is not None:
            x = self.transform(x)
        labels = found["labels"]
        return x, (int(labels) if labels.ndim == 0 else labels)

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        return (self[index] for index in range(len(self)))

    @property
    def name(self) -> str:
        """The name."""
        return self._native_samples().name

    @property
    def classes(self) -> list[str]:
        """The names of the classes; empty if the data set has none."""
        return self._native_samples().classes

    @property
    def fields(self) -> list[dict[str, Any]]:
        """The tensors of a sample: name, element type and shape."""
        fields: list[dict[str, Any]] = json.loads(self._native_samples().fields)
        return fields

    def subset(self, indices: Sequence[int]) -> Dataset:
        """The samples of some indices.

        Parameters
        ----------
        indices : sequence of int
            Indices of samples, in the order of the new data set.

        Returns
        -------
        Dataset
            Without a copy of samples.
        """
        chosen = [int(index) for index in indices]
        if self._chosen is not None:
            chosen = [self._chosen[index] for index in chosen]
        made = object.__new__(type(self))
        made.__dict__.update(self.__getstate__())
        made._chosen = chosen
        len(made)  # wrong indices are an error here
        return made

    def arrays(self) -> tuple[Array, Array]:
        """All samples.

        Returns
        -------
        (numpy.ndarray, numpy.ndarray)
            Inputs `[N, …]`, of sequences `[T, N, …]`, and labels `[N]`: as `fit` and `predict` take them.
        """
        import numpy as np

        pairs = [self[index] for index in range(len(self))]
        axis = int(self._native_samples().is_sequence)  # time is in front
        return np.stack([x for x, _ in pairs], axis), np.asarray([y for _, y in pairs])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def __repr__(self) -> str:
        return f"<Dataset {self.name}, {len(self)} samples>"


class ArrayDataset(Dataset):
    """Samples in arrays.

    Parameters
    ----------
    x : array_like
        Images `[N, C, H, W]` or `[N, H, W]`, features `[N, F]`, or sequences `[T, N, …]`.
    y : array_like
        The class of each sample, `[N]`.
    sequences : bool
        Whether `x` are sequences.
    name : str
        The name.

    Examples
    --------
    >>> data = spikelet.data.ArrayDataset(np.zeros((10, 4, 3)), [0, 1, 0, 1], sequences=True)
    >>> data[3][0].shape, data[3][1]
    ((10, 3), 1)
    """

    def __init__(self, x: Any, y: Any, *, sequences: bool = False, name: str = "arrays") -> None:
        array = as_samples(as_batch(as_numpy(x, "x"), sequences, y), "x")
        labels = as_labels(y, 2**31, len(array))
        super().__init__({"name": name}, "train")
        self._arrays = (array, labels, sequences)

    def _open(self) -> _native.Samples:
        x, y, sequences = self._arrays
        return _native.Samples.of_arrays(x, y, sequences, str(self._recipe["name"]))


class Split:
    """The parts of a data set.

    Attributes
    ----------
    train, test : Dataset
        Training and test samples.
    validation : Dataset or None
        Samples that select the best epoch, if the data set has them.
    """

    def __init__(self, recipe: Mapping[str, Any]) -> None:
        self._recipe = dict(recipe)
        read = _read(self._recipe)
        parts = {part: Dataset(self._recipe, part) for part in ("train", "validation", "test")}
        self.train, self.test = parts["train"], parts["test"]
        self.validation = parts["validation"] if read.part("validation") is not None else None

    def _native_split(self) -> _native.Split:
        return _read(self._recipe)

    def __iter__(self) -> Iterator[Dataset]:
        yield self.train
        yield self.test

    def __repr__(self) -> str:
        return f"<Split {self.train.name}, {len(self.train)} + {len(self.test)} samples>"


#: The data sets of this process that were read, by their recipes.
_opened: dict[str, _native.Split] = {}


def _read(recipe: Mapping[str, Any]) -> _native.Split:
    key = json.dumps(recipe, sort_keys=True)
    if key not in _opened:
        options = dict(recipe)
        name, folder, download = options.pop("name"), options.pop("folder"), options.pop("download")
        _opened[key] = _native.load_data(name, folder, download, json.dumps(options))
    return _opened[key]


def load(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    train: int | None = None,
    test: int | None = None,
    split: str | None = None,
    frames: str | None = None,
    frame_size: Sequence[int] | None = None,
    events: Sequence[str] = (),
    sensor: Sequence[int] | None = None,
    time_steps: int | None = None,
    shape: Sequence[int] | None = None,
    classes: int | None = None,
    seed: int = 0,
    pack: bool = False,
) -> Split:
    """Reads a data set by its name.

    Parameters
    ----------
    name : str
        One of `names()`: `"mnist"`, `"cifar10"`, `"n-mnist"`, `"dvs128-gesture"`, `"shd"`, `"folder"`, ….
    folder : path, optional
        The folder of data sets; by default `$SPIKELET_DATA`, or else `data`.
    download : bool
        Whether missing files are downloaded, where the data set can be.
    train, test : int, optional
        The numbers of samples of generated data sets and of folders of images: the first ones.
    split : str, optional
        The split of a data set of sequences that has several.
    frames : str, optional
        How recordings of events become frames, such as `"number=16"` or `"duration=50000"`.
    frame_size, sensor : (int, int), optional
        Height and width of the frames; width and height of the sensor.
    events : sequence of str
        Changes of the events before the frames, such as `["denoise=10000"]`.
    time_steps : int, optional
        The frames of a recording where the rule does not have a number.
    shape : (int, int, int), optional
        Channels, height and width of images that are read from a folder when they are needed.
    classes : int, optional
        Classes of generated images.
    seed : int
        The seed of generated data sets.
    pack : bool
        Whether recordings of events are packed into one file in the folder, such as `data/n-mnist.events`, which is
        read from then on, faster than the files. A pack that is there is always read.

    Returns
    -------
    Split
        Training and test samples.

    Raises
    ------
    FileNotFoundError, ValueError
        If files are missing or damaged, or the name is unknown.

    Examples
    --------
    >>> digits = spikelet.data.load("synthetic", train=60, test=10)
    >>> digits
    <Split synthetic digits, 60 + 10 samples>
    """
    place = folder if folder is not None else os.environ.get("SPIKELET_DATA", "data")
    recipe: dict[str, Any] = {
        "name": str(name),
        "folder": str(Path(place)),
        "download": bool(download),
        "seed": int(seed),
        "pack": bool(pack),
    }
    for key, value in (("train", train), ("test", test), ("split", split), ("time_steps", time_steps),
                       ("classes", classes)):  # fmt: skip
        if value is not None:
            recipe[key] = value
    if shape is not None:
        recipe["shape"] = [int(size) for size in shape]
    settings: dict[str, Any] = {}
    if frames is not None:
        settings["frames"] = frames
    if frame_size is not None:
        settings["frame_size"] = [int(size) for size in frame_size]
    if sensor is not None:
        settings["sensor"] = [int(size) for size in sensor]
    if events:
        settings["events"] = list(events)
    if settings:
        recipe["frames"] = settings
    return Split(recipe)


def names() -> dict[str, str]:
    """The data sets.

    Returns
    -------
    dict
        A description by name.

    Examples
    --------
    >>> "mnist" in spikelet.data.names()
    True
    """
    return {entry["name"]: entry["summary"] for entry in registry()["data"]}
