"""Data sets of recordings."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _native
from ._arrays import of_columns
from ._files import pair

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

__all__ = ["Recordings", "recordings"]


class Recordings:
    """The recordings of a data set: a map from indices to pairs of events and a class.

    `torch.utils.data.DataLoader` takes it, also with workers, which open the files themselves.

    Attributes
    ----------
    transform : callable or None
        Applied to the events of each recording, such as `lambda events: frames(events, steps=10, sensor=…)`.
    """

    transform: Callable[[Array], Any] | None

    def __init__(self, name: str, path: str, sensor: tuple[int, int] | None, split: str | None) -> None:
        self._opened: tuple[int, _native.EventRecordings] | None = None
        self._where = (name, path, sensor)
        self.transform = None
        native = self._native
        splits, labels = native.samples()
        known = sorted(set(splits))
        if split is not None and split not in known:
            raise ValueError(f"split: {split!r} was given\n  help: {native.info()[0]} has {', '.join(known)}")
        self._indices = [k for k, one in enumerate(splits) if split in (None, one)]
        self._labels = labels

    @property
    def _native(self) -> _native.EventRecordings:
        # Opened files have a position, which a forked process must not share.
        if self._opened is None or self._opened[0] != os.getpid():
            self._opened = (os.getpid(), _native.EventRecordings(*self._where))
        return self._opened[1]

    @property
    def name(self) -> str:
        """The name."""
        return self._native.info()[0]

    @property
    def classes(self) -> list[str]:
        """The names of the classes."""
        return self._native.info()[1]

    @property
    def sensor(self) -> tuple[int, int] | None:
        """Width and height, if the data set has one sensor."""
        return self._native.info()[2]

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        at = index.__index__()
        if not -len(self) <= at < len(self):
            raise IndexError(f"recordings: the index is {index}, there are {len(self)}")
        place = self._indices[at]
        events: Any = of_columns(self._native.read(place))
        if self.transform is not None:
            events = self.transform(events)
        return events, self._labels[place]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def __repr__(self) -> str:
        return f"<Recordings of {self.name}, {len(self)} samples>"


def recordings(
    name: str, path: str | os.PathLike[str], *, split: str | None = None, sensor: Sequence[int] | None = None
) -> Recordings:
    """The recordings of a data set as events; `spikelet.data.load` has them as frames.

    Parameters
    ----------
    name : str
        `"n-mnist"`, `"dvs128-gesture"`, `"shd"`, …; `"folder"` for a folder with a folder of files for each class; `"list"` for
        a file that lists files and classes.
    path : path
        The folder of the data set, or the list.
    split : str, optional
        `"train"`, `"valid"` or `"test"`; by default all recordings.
    sensor : (int, int), optional
        Width and height, for files of one's own that do not say it.

    Returns
    -------
    Recordings
        Pairs of a structured array and a class.

    Examples
    --------
    >>> for name in ("cat", "dog"):
    ...     (tmp_path / name).mkdir()
    ...     spikelet.events.write(tmp_path / name / "1.bin", spikelet.events.make(t=[40], x=[3], y=[7], p=[1]), "atis5", sensor=(34, 34))
    >>> found = spikelet.events.recordings("folder", tmp_path)
    >>> found.classes, found[1][1], found[1][0].tolist()
    (['cat', 'dog'], 1, [(40, 3, 7, True)])
    """
    return Recordings(str(name), os.fspath(path), pair(sensor), split)
