"""Files of events."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import _native
from ._arrays import of_columns, to_columns

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

__all__ = ["Reader", "Recording", "Writer", "formats", "open", "pair", "read", "sensor_of", "write"]


@dataclass(frozen=True, eq=False, repr=False)
class Recording:
    """A recording in memory. It is used as its array of events: `numpy.asarray(recording)`, `recording["t"]`, `recording[:9]`.

    Attributes
    ----------
    events : numpy.ndarray
        A structured array with the fields `t`, `x`, `y` and `p`.
    sensor : (int, int) or None
        Width and height, if the file says it.
    format : str
        The name of the format.
    triggers : dict of str to numpy.ndarray
        External triggers: `t`, `id` and `value`.
    faults : list
        What was wrong in the file and could be handled: names and counts.
    """

    events: Array
    sensor: tuple[int, int] | None
    format: str
    triggers: dict[str, Array]
    faults: list[Any]

    @property
    def t(self) -> Array:
        """Times in microseconds."""
        times: Array = self.events["t"]
        return times

    @property
    def x(self) -> Array:
        """Columns."""
        columns: Array = self.events["x"]
        return columns

    @property
    def y(self) -> Array:
        """Rows."""
        rows: Array = self.events["y"]
        return rows

    @property
    def p(self) -> Array:
        """Polarities."""
        polarities: Array = self.events["p"]
        return polarities

    def __len__(self) -> int:
        return len(self.events)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self.events if dtype is None else self.events.astype(dtype, copy=False)
        return array.copy() if copy and array is self.events else array

    def __getitem__(self, index: Any) -> Any:
        return self.events[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.events)

    def __repr__(self) -> str:
        sensor = "" if self.sensor is None else f", {self.sensor[0]} × {self.sensor[1]}"
        return f"<Recording of {len(self):,} events, {self.format}{sensor}>"


class Reader:
    """A recording that is read in blocks: a file may be larger than memory.

    Iteration gives structured arrays of at least `block` events; the last has the rest.

    Attributes
    ----------
    block : int
        The least number of events of a block.
    """

    def __init__(self, native: _native.EventReader, block: int) -> None:
        self._native = native
        self.block = block

    def __iter__(self) -> Iterator[Array]:
        while (columns := self._native.block(self.block)) is not None:
            yield of_columns(columns)

    @property
    def format(self) -> str:
        """The name of the format."""
        name: str = json.loads(self._native.info())["format"]
        return name

    @property
    def sensor(self) -> tuple[int, int] | None:
        """Width and height; those of a header are known after the first block."""
        sensor = json.loads(self._native.info())["sensor"]
        return None if sensor is None else (sensor[0], sensor[1])


def open(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    sensor: Sequence[int] | None = None,
    orientation: str | None = None,
    block: int = 100_000,
) -> Reader:
    """Opens a file to read it in blocks.

    Parameters
    ----------
    path : path
        A file of events.
    format : str, optional
        One of `formats()`; by default the content and the name tell.
    sensor : (int, int), optional
        Width and height; by default those of the header. Events outside are errors.
    orientation : str, optional
        How addresses of AEDAT 1 and 2 become coordinates: `"fields"`, `"jaer"` or `"spikingjelly"`.
    block : int
        The least number of events of a block.

    Returns
    -------
    Reader
        Iterates over structured arrays.
    """
    native = _native.EventReader(os.fspath(path), format, pair(sensor), orientation)
    return Reader(native, block)


def pair(sensor: Sequence[int] | None) -> tuple[int, int] | None:
    if sensor is None:
        return None
    sizes = tuple(int(size) for size in sensor)
    if len(sizes) < 2 or min(sizes[:2]) < 1:
        raise ValueError(f"sensor: {sensor!r} was given\n  help: give width and height, such as (34, 34)")
    return sizes[0], sizes[1]


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    sensor: Sequence[int] | None = None,
    orientation: str | None = None,
) -> Recording:
    """Reads a file of events.

    Parameters
    ----------
    path : path
        A file of AEDAT 1 to 4, EVT 2 to 3, DAT, ATIS (N-MNIST), ES, MAT, npy, npz or CSV.
    format, sensor, orientation
        As in `open`.

    Returns
    -------
    Recording
        Its `events` are a structured array.

    Examples
    --------
    >>> path = tmp_path / "one.bin"
    >>> spikelet.events.write(path, spikelet.events.make(t=[40], x=[3], y=[7], p=[1]), "atis5", sensor=(34, 34))
    >>> spikelet.events.read(path).events.tolist()
    [(40, 3, 7, True)]
    """
    native = _native.EventReader(os.fspath(path), format, pair(sensor), orientation)
    events = of_columns(native.rest())
    info = json.loads(native.info())
    found = info["sensor"]
    return Recording(
        events=events,
        sensor=None if found is None else (found[0], found[1]),
        format=info["format"],
        triggers=native.triggers(),
        faults=info["faults"],
    )


class Writer:
    """A file of events that is written block by block. It appears when it is closed.

    Examples
    --------
    >>> events = spikelet.events.make(t=[0, 10], x=[1, 2], y=[0, 0], p=[1, 0])
    >>> with spikelet.events.Writer(tmp_path / "two.bin", "atis5", sensor=(34, 34)) as writer:
    ...     writer.write(events[:1])
    ...     writer.write(events[1:])
    """

    def __init__(
        self, path: str | os.PathLike[str], format: str, *, sensor: Sequence[int], compress: bool = True
    ) -> None:
        size = pair(sensor)
        if size is None:
            raise ValueError("sensor: None was given\n  help: give width and height, such as (34, 34)")
        self._native = _native.EventWriter(os.fspath(path), format, size, compress)

    def write(self, events: Any) -> None:
        """Appends events.

        Parameters
        ----------
        events : numpy.ndarray
            A structured array with the fields `t`, `x`, `y` and `p`.
        """
        self._native.write(to_columns(events))

    def close(self) -> None:
        """Ends the file, which appears under its path."""
        self._native.finish()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._native.discard()


def write(
    path: str | os.PathLike[str],
    events: Any,
    format: str,
    *,
    sensor: Sequence[int] | None = None,
    compress: bool = True,
) -> None:
    """Writes a file of events. A file that was there is replaced.

    Parameters
    ----------
    path : path
        The file.
    events : numpy.ndarray or Recording
        A structured array with the fields `t`, `x`, `y` and `p`.
    format : str
        One of `formats(writable=True)`.
    sensor : (int, int), optional
        Width and height; by default those of the recording, or the smallest that has all events.
    compress : bool
        Whether the file is compressed, in formats that can be.
    """
    size = sensor_of(events, sensor)
    if isinstance(events, Recording):
        events = events.events
    with Writer(path, format, sensor=size, compress=compress) as writer:
        writer.write(events)


def sensor_of(events: Any, sensor: Sequence[int] | None) -> tuple[int, int]:
    import numpy as np

    size = pair(sensor)
    if size is not None:
        return size
    if isinstance(events, Recording):
        if events.sensor is not None:
            return events.sensor
        events = events.events
    array = np.asarray(events)
    if array.size == 0 or array.dtype.names is None:
        return (1, 1)
    rows = int(array["y"].max()) + 1 if "y" in array.dtype.names else 1
    return int(array["x"].max()) + 1, rows


def formats(*, writable: bool = False) -> list[str]:
    """The names of the formats.

    Parameters
    ----------
    writable : bool
        Whether only formats are listed that can be written.

    Returns
    -------
    list of str
        Names.

    Examples
    --------
    >>> "aedat4" in spikelet.events.formats()
    True
    """
    return [name for name, can in json.loads(_native.event_formats()) if can or not writable]
