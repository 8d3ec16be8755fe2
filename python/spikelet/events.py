"""Recordings of event cameras and cochleas: files, frames, transforms.

Events are structured arrays of numpy with the fields `t` (microseconds), `x`, `y` and `p` (polarity), as tonic has them.

Examples
--------
>>> events = spikelet.events.make(t=[0, 10, 20], x=[1, 2, 3], y=[0, 0, 1], p=[1, 0, 1])
>>> spikelet.events.frames(events, steps=3, sensor=(4, 2)).shape
(3, 2, 2, 4)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Columns = tuple[Array, Array, Array, Array]

__all__ = [
    "Reader",
    "Recording",
    "Writer",
    "formats",
    "frames",
    "make",
    "open",
    "read",
    "transform",
    "write",
]


def _dtype() -> Any:
    import numpy as np

    return np.dtype([("t", np.int64), ("x", np.uint16), ("y", np.uint16), ("p", np.bool_)])


def make(*, t: Any, x: Any, y: Any = None, p: Any = None) -> Array:
    """Events from columns.

    Parameters
    ----------
    t : array_like
        Times in microseconds.
    x, y : array_like
        Columns and rows; of a cochlea, `x` is the channel, and `y` is 0.
    p : array_like, optional
        Polarities, 0 or 1; by default 1.

    Returns
    -------
    numpy.ndarray
        A structured array with the fields `t`, `x`, `y` and `p`.

    Examples
    --------
    >>> spikelet.events.make(t=[5], x=[3])["x"]
    array([3], dtype=uint16)
    """
    import numpy as np

    times = np.asarray(t)
    events: Any = np.empty(times.shape, dtype=_dtype())
    for name, values, default in (("t", times, 0), ("x", x, 0), ("y", y, 0), ("p", p, 1)):
        column = default if values is None else np.asarray(values)
        if np.shape(column) not in ((), times.shape):
            raise ValueError(
                f"events: the column `{name}` has the shape {list(np.shape(column))}, `t` has {list(times.shape)}\n"
                "  help: give one value for each event"
            )
        limits = {"x": 65535, "y": 65535, "p": 1}.get(name)
        if limits is not None and np.size(column) and not (np.min(column) >= 0 and np.max(column) <= limits):
            raise ValueError(f"events: the column `{name}` has values outside of 0 to {limits}")
        events[name] = column
    made: Array = events
    return made


def _of_columns(columns: Columns) -> Array:
    import numpy as np

    events: Any = np.empty(columns[0].shape, dtype=_dtype())
    for name, column in zip(("t", "x", "y", "p"), columns):
        events[name] = column
    made: Array = events
    return made


def _to_columns(events: Any) -> Columns:
    import numpy as np

    array = np.asarray(events)
    names = array.dtype.names
    if names is None or not {"t", "x", "p"} <= set(names):
        raise TypeError(
            f"events: an array of {array.dtype} was given\n"
            "  help: give a structured array with the fields t, x, y and p; `spikelet.events.make` makes one of columns"
        )
    array = array.reshape(-1)
    y = array["y"] if "y" in names else np.zeros(array.shape, np.uint16)
    for name, column in (("x", array["x"]), ("y", y)):
        if array.size and (column.min() < 0 or column.max() > 65535):
            raise ValueError(f"events: the column `{name}` has values outside of 0 to 65535")
    p = array["p"]
    if array.size and p.dtype != np.bool_ and (p.min() < -1 or p.max() > 1):
        raise ValueError("events: the column `p` has values other than 0 and 1")
    return (
        np.require(array["t"], dtype=np.int64, requirements=("C", "A")),
        np.require(array["x"], dtype=np.uint16, requirements=("C", "A")),
        np.require(y, dtype=np.uint16, requirements=("C", "A")),
        np.require(p > 0, dtype=np.uint8, requirements=("C", "A")),
    )


@dataclass(frozen=True)
class Recording:
    """A recording in memory.

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
            yield _of_columns(columns)

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
    native = _native.EventReader(os.fspath(path), format, _pair(sensor), orientation)
    return Reader(native, block)


def _pair(sensor: Sequence[int] | None) -> tuple[int, int] | None:
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
    native = _native.EventReader(os.fspath(path), format, _pair(sensor), orientation)
    events = _of_columns(native.rest())
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
        pair = _pair(sensor)
        assert pair is not None
        self._native = _native.EventWriter(os.fspath(path), format, pair, compress)

    def write(self, events: Any) -> None:
        """Appends events.

        Parameters
        ----------
        events : numpy.ndarray
            A structured array with the fields `t`, `x`, `y` and `p`.
        """
        self._native.write(_to_columns(events))

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
    size = _sensor_of(events, sensor)
    if isinstance(events, Recording):
        events = events.events
    with Writer(path, format, sensor=size, compress=compress) as writer:
        writer.write(events)


def _sensor_of(events: Any, sensor: Sequence[int] | None) -> tuple[int, int]:
    import numpy as np

    pair = _pair(sensor)
    if pair is not None:
        return pair
    if isinstance(events, Recording):
        if events.sensor is not None:
            return events.sensor
        events = events.events
    array = np.asarray(events)
    if array.size == 0 or array.dtype.names is None:
        return (1, 1)
    rows = int(array["y"].max()) + 1 if "y" in array.dtype.names else 1
    return int(array["x"].max()) + 1, rows


def frames(
    events: Any,
    rule: str | None = None,
    *,
    steps: int | None = None,
    duration: int | None = None,
    by: str = "time",
    sensor: Sequence[int] | None = None,
    size: Sequence[int] | None = None,
    interpolation: str = "nearest",
) -> Array:
    """Frames of events.

    Parameters
    ----------
    events : numpy.ndarray or Recording
        A structured array with the fields `t`, `x`, `y` and `p`.
    rule : str, optional
        How events become frames: `"number=16"` and `"time=16"` as in SpikingJelly, `"time-bins=10"` and
        `"time-windows window=50000"` as in tonic, `"voxel-grid=5"`, `"time-surface"`, …; in place of `steps` or `duration`.
    steps : int, optional
        The number of frames.
    duration : int, optional
        The time of a frame in microseconds.
    by : str
        `"time"`: the frames have the same duration; `"number"`: they have the same number of events.
    sensor : (int, int), optional
        Width and height; by default those of the recording, or the smallest that has all events.
    size : (int, int), optional
        Height and width to which frames are resized.
    interpolation : str
        `"nearest"` or `"bilinear"`.

    Returns
    -------
    numpy.ndarray
        Counts as float32, `[T, 2, H, W]`: channel 0 has the OFF events, channel 1 the ON events.

    Examples
    --------
    >>> events = spikelet.events.make(t=range(0, 100, 10), x=[1] * 10, y=[0] * 10, p=[1] * 10)
    >>> spikelet.events.frames(events, steps=2, sensor=(3, 2)).sum(axis=(1, 2, 3))
    array([5., 5.], dtype=float32)
    """
    given = [rule is not None, steps is not None, duration is not None]
    if sum(given) != 1:
        raise ValueError("frames: give one of `rule`, `steps` and `duration`\n  help: such as `steps=10`")
    if rule is None:
        if by not in ("time", "number"):
            raise ValueError(f"by: {by!r} was given\n  help: use \"time\" or \"number\"")
        rule = f"duration={int(duration)}" if duration is not None else f"{by}={int(steps or 0)}"
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError(f"interpolation: {interpolation!r} was given\n  help: use \"nearest\" or \"bilinear\"")
    width_height = _sensor_of(events, sensor)
    if isinstance(events, Recording):
        events = events.events
    pair = None if size is None else (int(size[0]), int(size[1]))
    return _native.event_frames(_to_columns(events), rule, width_height, pair, interpolation == "bilinear")


def transform(
    events: Any, *transforms: str, sensor: Sequence[int] | None = None, seed: int = 0, index: int = 0
) -> Array:
    """Events after transforms, as tonic has them.

    Parameters
    ----------
    events : numpy.ndarray or Recording
        A structured array with the fields `t`, `x`, `y` and `p`.
    *transforms : str
        Transforms in their order, such as `"denoise=10000"`, `"flip-x=0.5"`, `"crop-time min=1000 max=9000"`.
    sensor : (int, int), optional
        Width and height, as in `frames`.
    seed, index : int
        The seed, and the number of the sample: random transforms depend on both.

    Returns
    -------
    numpy.ndarray
        A structured array.

    Examples
    --------
    >>> events = spikelet.events.make(t=[0, 9], x=[1, 3], y=[2, 4], p=[1, 0])
    >>> spikelet.events.transform(events, "flip-x=1", "crop-time min=5", sensor=(34, 34)).tolist()
    [(9, 30, 4, False)]
    """
    size = _sensor_of(events, sensor)
    if isinstance(events, Recording):
        events = events.events
    columns, _ = _native.transform_events(_to_columns(events), list(transforms), size, seed, index)
    return _of_columns(columns)


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
